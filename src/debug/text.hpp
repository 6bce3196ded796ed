#pragma once

namespace sley::debug {

// goroutine_profile() with the names of functions. Parks.
void print_profile(int fd);

}  // namespace sley::debug
