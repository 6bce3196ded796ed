#include "platform/copied_process.hpp"

#include "platform/os.hpp"
#include "platform/start_child.hpp"
#include "platform/system_call.hpp"
#include "platform/timespec.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>

namespace sley::platform {

namespace {

struct errand_of_copy {
  void (*f)(void*) noexcept;
  void* arg;
};

// Without libc's own end: it would run what the program has registered for its end.
void copy_main(void* arg) noexcept {
  const auto* errand = static_cast<const errand_of_copy*>(arg);
  errand->f(errand->arg);
  system_call(SYS_exit_group, 0);
}

bool ends_within(int handle, std::int64_t ns) noexcept {
  const std::int64_t until_ns = monotonic_ns() + ns;
  for (;;) {  // ends: signals alone make another round
    pollfd end{.fd = handle, .events = POLLIN, .revents = 0};
    const std::int64_t left_ns = until_ns - monotonic_ns();
    const timespec left = to_timespec(left_ns < 0 ? 0 : left_ns);
    const int count = ::ppoll(&end, 1, &left, nullptr);
    if (count >= 0 || last_errno() != EINTR) return count == 1;
  }
}

// How the copy ended.
bool has_succeeded(int handle) noexcept {
  siginfo_t how{};
  while (::waitid(pidfd_id, static_cast<id_t>(handle), &how, WEXITED | __WALL) != 0) {
    if (last_errno() != EINTR) return false;
  }
  return how.si_code == CLD_EXITED && how.si_status == 0;
}

}  // namespace

bool run_in_copy(void (*f)(void*) noexcept, void* arg, std::int64_t most_ns) noexcept {
  constexpr std::size_t stack_bytes = 1 << 20;
  auto* stack = static_cast<std::byte*>(map_memory(stack_bytes, false));
  if (stack == nullptr) return false;
  errand_of_copy errand{f, arg};
  int handle = -1;
  // No signal tells this process of the end.
  const long result = raw_clone(stack + stack_bytes, CLONE_PIDFD, &handle, &copy_main, &errand);
  bool is_done = false;
  if (result > 0) {
    if (!ends_within(handle, most_ns))
      system_call(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0);
    is_done = has_succeeded(handle);
    system_call(SYS_close, handle);
  }
  unmap_memory(stack, stack_bytes);
  return is_done;
}

}  // namespace sley::platform
