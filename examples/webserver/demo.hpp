// Load for the server, from the same process.
#pragma once

#include <string>

namespace webserver {

// Many clients ask for /hello as fast as they can; prints what came of it.
void run_demo(const std::string& address, int seconds);

}  // namespace webserver
