#include "runtime/state/wall_profile.hpp"

#include "runtime/state/wait_reason.hpp"

namespace sley::rt {

constinit contention_profile wall_profile;

std::string_view text_of_wall_kind(std::int64_t kind) noexcept {
  switch (kind) {
    case wall_in_call: return "syscall";
    case wall_running: return "running";
    case wall_runnable:
    case wall_not_begun: return "runnable";
    default: return kind < 0 ? std::string_view() : text_of(static_cast<wait>(kind));
  }
}

}  // namespace sley::rt
