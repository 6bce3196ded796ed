// From glibc's sysdeps/unix/sysv/linux/spawni.c.
//
// Until it becomes the program, the child runs in this process's memory, on a stack of its own,
// with the thread-local storage of the thread that started it, which the kernel stops meanwhile. So
// here the child makes only system calls without libc: these set no errno, take no lock and are not
// known to sanitizers.
#include "platform/start_child.hpp"

#include "platform/os.hpp"
#include "platform/sanitizer.hpp"
#include "platform/system_call.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace sley::platform {

namespace {

constexpr std::size_t stack_bytes = 32 * 1024;
constexpr int first_other_fd = 3;  // behind the standard streams
constexpr int last_signal = 64;
constexpr long signal_set_bytes = 8;
constexpr int status_of_failure = 127;

// As the kernel has it.
struct signal_action {
  std::uintptr_t handler;
  unsigned long flags;
  std::uintptr_t restorer;
  std::uint64_t mask;
};

struct launch_pad {
  const child_plan& plan;
  int handle = -1;  // written by the kernel before the child runs
  int error = 0;    // written by the child
};

// A handler of this process that ran in the child would run in this process's memory.
SLEY_UNINSTRUMENTED void drop_handlers() noexcept {
  const auto is_handler = [](std::uintptr_t handler) {
    return handler != reinterpret_cast<std::uintptr_t>(SIG_DFL) &&
           handler != reinterpret_cast<std::uintptr_t>(SIG_IGN);
  };
  for (int signal = 1; signal <= last_signal; ++signal) {
    signal_action action;
    if (bare_call(SYS_rt_sigaction, signal, nullptr, &action, signal_set_bytes) != 0) continue;
    if (!is_handler(action.handler)) continue;
    action.handler = reinterpret_cast<std::uintptr_t>(SIG_DFL);
    action.flags = 0;
    bare_call(SYS_rt_sigaction, signal, &action, nullptr, signal_set_bytes);
  }
}

// An error below 0.
SLEY_UNINSTRUMENTED long open_null(int stream) noexcept {
  const long fd = bare_call(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
  if (fd < 0 || fd == stream) return fd;
  const long result = bare_call(SYS_dup3, fd, stream, 0);
  bare_call(SYS_close, fd);
  return result;
}

// A copy that is in no place that the child fills. An error below 0.
SLEY_UNINSTRUMENTED long copy_away(const child_plan& plan, int fd) noexcept {
  return bare_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, first_other_fd + plan.handed_count);
}

SLEY_UNINSTRUMENTED long set_stream(int i, const child_stream& stream, long copy) noexcept {
  using enum child_stream::kind;
  if (stream.what == descriptor) return bare_call(SYS_dup3, copy, i, 0);
  if (stream.what == null) return open_null(i);
  return stream.what == output && i != 1 ? bare_call(SYS_dup3, 1, i, 0) : 0;
}

// Descriptors are copied out of the way first: each is put into its place in turn, and must not be
// in the way of the next one.
SLEY_UNINSTRUMENTED long set_descriptors(const child_plan& plan) noexcept {
  long copies[3] = {};
  for (int i = 0; i < 3; ++i) {
    if (plan.streams[i].what != child_stream::kind::descriptor) continue;
    copies[i] = copy_away(plan, plan.streams[i].fd);
    if (copies[i] < 0) return copies[i];
  }
  for (int i = 0; i < plan.handed_count; ++i) {
    const long copy = copy_away(plan, plan.handed_down[i]);
    if (copy < 0) return copy;
    plan.handed_down[i] = static_cast<int>(copy);
  }
  for (int i = 0; i < 3; ++i) {
    const long result = set_stream(i, plan.streams[i], copies[i]);
    if (result < 0) return result;
  }
  for (int i = 0; i < plan.handed_count; ++i) {
    const long result = bare_call(SYS_dup3, plan.handed_down[i], first_other_fd + i, 0);
    if (result < 0) return result;
  }
  return 0;
}

// The child's own number is not known before it lives.
SLEY_UNINSTRUMENTED void tell_number(char* to) noexcept {
  char digits[most_number_bytes];
  int count = 0;
  for (long left = bare_call(SYS_getpid); left > 0; left /= 10) {
    digits[count++] = static_cast<char>('0' + left % 10);
  }
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
}

// The next directory may have it.
SLEY_UNINSTRUMENTED bool is_elsewhere(long error) noexcept {
  switch (-error) {
    case EACCES:
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ESTALE:
    case ETIMEDOUT: return true;
    default: return false;
  }
}

// Returns the error of the last path, but EACCES if there was any, as execvp(3).
SLEY_UNINSTRUMENTED long execute(const child_plan& plan) noexcept {
  long error = -ENOENT;
  bool is_forbidden = false;
  for (const char* const* program = plan.programs; *program != nullptr; ++program) {
    error = bare_call(SYS_execve, *program, plan.arguments, plan.environment);
    is_forbidden = is_forbidden || error == -EACCES;
    if (!is_elsewhere(error)) return error;
  }
  return is_forbidden ? -EACCES : error;
}

SLEY_UNINSTRUMENTED long become(const child_plan& plan) noexcept {
  drop_handlers();
  long result = plan.leads_session ? bare_call(SYS_setsid) : 0;
  if (result >= 0 && plan.leads_group) result = bare_call(SYS_setpgid, 0, 0);
  if (result >= 0) result = set_descriptors(plan);
  if (result >= 0 && plan.directory != nullptr) result = bare_call(SYS_chdir, plan.directory);
  if (result < 0) return result;
  if (plan.child_number != nullptr) tell_number(plan.child_number);
  const std::uint64_t none = 0;
  bare_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, signal_set_bytes);
  return execute(plan);
}

[[noreturn]] SLEY_UNINSTRUMENTED void child_main(void* arg) noexcept {
  auto& pad = *static_cast<launch_pad*>(arg);
  // A kernel before 5.2 knows no pidfd of a new process.
  const long error = pad.handle < 0 ? -ENOSYS : become(pad.plan);
  pad.error = static_cast<int>(-error);
  for (;;) bare_call(SYS_exit_group, status_of_failure);
}

// The thread goes on when the child has become a program or has ended. Returns the child's number,
// or an error below 0.
SLEY_UNINSTRUMENTED long clone_child(std::byte* stack_end, launch_pad& pad) noexcept {
  constexpr long flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
  return raw_clone(stack_end, flags, &pad.handle, &child_main, &pad);
}

// Waits for a child that has failed. It uses the handle, because the number may be another
// process's if SIGCHLD is ignored.
void bury(int handle) noexcept {
  siginfo_t info;
  while (waitid(pidfd_id, static_cast<id_t>(handle), &info, WEXITED) != 0 &&
         last_errno() == EINTR) {
  }
  ::close(handle);
}

}  // namespace

int start_child(const child_plan& plan, child_process& child) noexcept {
  void* stack = map_memory(stack_bytes, true);
  if (stack == nullptr) return ENOMEM;
  launch_pad pad{plan};
  // No handler may run in the child, not even libc's own for setuid(2).
  const std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  bare_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, signal_set_bytes);
  const long pid = clone_child(static_cast<std::byte*>(stack) + stack_bytes, pad);
  bare_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, signal_set_bytes);
  unmap_memory(stack, stack_bytes);
  if (pid < 0) return static_cast<int>(-pid);
  if (pad.error != 0) {
    if (pad.handle >= 0) bury(pad.handle);
    return pad.error;
  }
  child = {static_cast<int>(pid), pad.handle};
  return 0;
}

}  // namespace sley::platform
