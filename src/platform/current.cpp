#include "platform/current.hpp"

thread_local sley::rt::machine* sley_current_machine = nullptr;

namespace sley::platform {

void set_current_machine(rt::machine* m) noexcept { sley_current_machine = m; }

}  // namespace sley::platform
