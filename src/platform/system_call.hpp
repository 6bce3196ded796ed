// System calls without libc's functions around them, for the paths that must be short; all else is
// as in libc's function of that name, errno included. That saves two costs. Libc's functions look
// whether their thread must be cancelled. And where the kernel guards against speculation, a call
// leaves nothing in the CPU's predictor of returns: each function that returns after it then costs
// 7 ns (AMD Zen 5), so there should be few of them.
//
// The sanitizers' builds call libc, whose functions they replace to see all reads and writes.
#pragma once

#include <sley/detail/blocking.hpp>

#include "platform/sanitizer.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace sley::platform {

// In functions of their own: a goroutine may be on another thread than when it last used errno, and
// compilers remember its address.
[[gnu::noinline]] inline void set_errno(int value) noexcept { errno = value; }
[[gnu::noinline]] inline int last_errno() noexcept { return errno; }

// The kernel's own convention: an error is a small number below 0. All memory may have changed.
inline long raw_system_call(long number, long a, long b, long c, long d, long e, long f) noexcept;

// clone(2) with a child that calls entry(arg) on the stack that ends at `stack_end`, aligned to 16,
// and has no caller there. `entry` must not return. With CLONE_PIDFD the kernel writes the handle
// before. Returns the child's number to the thread that calls, or an error below 0.
inline long raw_clone(std::byte* stack_end, long flags, int* handle, void (*entry)(void*) noexcept,
                      void* arg) noexcept;

// The kernel's own convention, with arguments of any type, for code that may not touch errno.
template <class... Args>
[[gnu::always_inline]] inline long bare_call(long number, Args... args) noexcept {
  static_assert(sizeof...(Args) <= 6);
  const long words[6] = {detail::syscall_word(args)...};
  return raw_system_call(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

// As syscall(2).
template <class... Args>
[[gnu::always_inline]] inline long system_call(long number, Args... args) noexcept {
  const long result = bare_call(number, args...);
  constexpr long most_errors = 4095;
  if (__builtin_expect(result < 0 && result >= -most_errors, 0)) {
    set_errno(static_cast<int>(-result));
    return -1;
  }
  return result;
}

// In a namespace of their own: their arguments would find libc's functions as well.
namespace kernel {

[[gnu::always_inline]] inline long read(int fd, void* to, std::size_t bytes) noexcept {
  if constexpr (sanitizer_sees_calls) return ::read(fd, to, bytes);
  return system_call(SYS_read, fd, to, bytes);
}
[[gnu::always_inline]] inline long readv(int fd, const iovec* to, int count) noexcept {
  if constexpr (sanitizer_sees_calls) return ::readv(fd, to, count);
  return system_call(SYS_readv, fd, to, count);
}
[[gnu::always_inline]] inline long write(int fd, const void* from, std::size_t bytes) noexcept {
  if constexpr (sanitizer_sees_calls) return ::write(fd, from, bytes);
  return system_call(SYS_write, fd, from, bytes);
}
[[gnu::always_inline]] inline long writev(int fd, const iovec* from, int count) noexcept {
  if constexpr (sanitizer_sees_calls) return ::writev(fd, from, count);
  return system_call(SYS_writev, fd, from, count);
}
[[gnu::always_inline]] inline long pread(int fd, void* to, std::size_t bytes,
                                         off_t offset) noexcept {
  if constexpr (sanitizer_sees_calls) return ::pread(fd, to, bytes, offset);
  return system_call(SYS_pread64, fd, to, bytes, offset);
}
[[gnu::always_inline]] inline long pwrite(int fd, const void* from, std::size_t bytes,
                                          off_t offset) noexcept {
  if constexpr (sanitizer_sees_calls) return ::pwrite(fd, from, bytes, offset);
  return system_call(SYS_pwrite64, fd, from, bytes, offset);
}
[[gnu::always_inline]] inline long recvmsg(int fd, msghdr* message, int flags) noexcept {
  if constexpr (sanitizer_sees_calls) return ::recvmsg(fd, message, flags);
  return system_call(SYS_recvmsg, fd, message, flags);
}
[[gnu::always_inline]] inline long sendmsg(int fd, const msghdr* message, int flags) noexcept {
  if constexpr (sanitizer_sees_calls) return ::sendmsg(fd, message, flags);
  return system_call(SYS_sendmsg, fd, message, flags);
}
[[gnu::always_inline]] inline long recvfrom(int fd, void* to, std::size_t bytes, int flags,
                                            sockaddr* from, socklen_t* from_bytes) noexcept {
  if constexpr (sanitizer_sees_calls) return ::recvfrom(fd, to, bytes, flags, from, from_bytes);
  return system_call(SYS_recvfrom, fd, to, bytes, flags, from, from_bytes);
}
[[gnu::always_inline]] inline long sendto(int fd, const void* from, std::size_t bytes, int flags,
                                          const sockaddr* to, socklen_t to_bytes) noexcept {
  if constexpr (sanitizer_sees_calls) return ::sendto(fd, from, bytes, flags, to, to_bytes);
  return system_call(SYS_sendto, fd, from, bytes, flags, to, to_bytes);
}
[[gnu::always_inline]] inline int epoll_wait(int fd, epoll_event* events, int most,
                                             int timeout_ms) noexcept {
  if constexpr (sanitizer_sees_calls) return ::epoll_pwait(fd, events, most, timeout_ms, nullptr);
  // Not every CPU has SYS_epoll_wait. Without a mask, its size does not matter.
  return static_cast<int>(system_call(SYS_epoll_pwait, fd, events, most, timeout_ms, nullptr, 0));
}

}  // namespace kernel

}  // namespace sley::platform

#include "cpu/system_call.hpp"
