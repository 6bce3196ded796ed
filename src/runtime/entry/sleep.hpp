// Sleeping goroutines and threads.
#pragma once

#include <cstdint>

namespace sley::rt {

void sleep_until(std::int64_t when_ns);  // [user] parks; throws std::bad_alloc

}  // namespace sley::rt
