#include "platform/poller_wait.hpp"

#include "base/check.hpp"
#include "platform/os.hpp"
#include "platform/sanitizer.hpp"
#include "platform/timespec.hpp"

#include <algorithm>
#include <cerrno>

namespace sley::platform {

void wait_for_any(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept {
  timespec delay;
  const timespec* timeout = nullptr;
  if (deadline_ns != INT64_MAX) {
    delay = to_timespec(std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0));
    timeout = &delay;
  }
  begin_sleep();
  const int count = ppoll(descriptors.data(), descriptors.size(), timeout, nullptr);
  end_sleep();
  if (count < 0 && (errno == ENOSYS || errno == EPERM)) {
    base::fatal("sley: ppoll(2) is refused: a sandbox must allow it");
  }
}

}  // namespace sley::platform
