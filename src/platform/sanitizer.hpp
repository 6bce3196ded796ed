// Tells the sanitizers and Valgrind when a thread changes stacks or sleeps. Everything here is
// empty, and a fiber_state holds nothing, in a build without them.
//
// The calls belong into the very frame that switches: a wrapper that returns between telling and
// switching would leave the thread sanitizer's shadow stack one frame off.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SLEY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLEY_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define SLEY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLEY_TSAN 1
#endif
#endif

#ifdef SLEY_ASAN
#include <sanitizer/asan_interface.h>
#include <pthread.h>
#include <sanitizer/lsan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SLEY_SIMULATION
#include "platform/simulated/simulation.hpp"
#endif
#ifdef SLEY_TSAN
#include <sanitizer/tsan_interface.h>
#if __has_include(<sanitizer/linux_syscall_hooks.h>)  // with clang's runtime, not with GCC's
#include <sanitizer/linux_syscall_hooks.h>
#endif
// No header of the runtime declares them.
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

#ifdef SLEY_VALGRIND
#include <valgrind/valgrind.h>
#endif

// For the function at the bottom of a goroutine's stack, which is entered for every goroutine that
// begins there and never left: the thread sanitizer, which counts both, must not know of it.
#ifdef SLEY_TSAN
#ifdef __clang__
#define SLEY_BOTTOM_FRAME __attribute__((disable_sanitizer_instrumentation))
#else
#define SLEY_BOTTOM_FRAME __attribute__((no_sanitize("thread")))
#endif
#else
#define SLEY_BOTTOM_FRAME
#endif

// For code that no sanitizer may know of: that of a child which shares this process's memory and
// never returns.
#ifdef __clang__
#define SLEY_UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#else
#define SLEY_UNINSTRUMENTED __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

namespace sley::platform {

#ifdef SLEY_TSAN
inline constexpr bool is_thread_sanitizer = true;
#else
inline constexpr bool is_thread_sanitizer = false;
#endif

// May a signal come while the handler of another one runs? The thread sanitizer runs handlers with
// all signals blocked, and keeps in one place which were not.
inline constexpr bool sanitizer_nests_signals = !is_thread_sanitizer;
// Does each signal reach its handler in the thread that it was sent to? The thread sanitizer keeps
// a signal with the stack that the thread was on, until it watches something on that stack again.
// That may be on another thread, or never.
inline constexpr bool sanitizer_delivers_signals = !is_thread_sanitizer;
// Do its reports call a stack by the name that it is given?
inline constexpr bool sanitizer_names_stacks = is_thread_sanitizer;
// Does instrumented code run in a copy of the process, on a stack of its own? The thread sanitizer
// waits for its threads there, and the address sanitizer does not know the stack.
#if defined(SLEY_ASAN) || defined(SLEY_TSAN)
inline constexpr bool sanitizer_lives_in_copies = false;
#else
inline constexpr bool sanitizer_lives_in_copies = true;
#endif

// Does a sanitizer replace libc's functions, to check the memory they get, or to learn of the order
// that a write and a read of the same file make?
#if defined(SLEY_ASAN) || defined(SLEY_TSAN)
inline constexpr bool sanitizer_sees_calls = true;
#else
inline constexpr bool sanitizer_sees_calls = false;
#endif

// Does it look for leaks at the end of the process, and for pointers in what register_root names?
#ifdef SLEY_ASAN
inline constexpr bool sanitizer_finds_leaks = true;
#else
inline constexpr bool sanitizer_finds_leaks = false;
#endif

// Around a sleep in futex(2): the thread sanitizer keeps signals from a thread until that does
// something it watches, unless it knows that the thread waits. GCC's can't be told: there a signal
// waits until the sleep is over.
[[gnu::always_inline]] inline void begin_sleep() noexcept {
#ifdef __sanitizer_syscall_pre_futex
  __sanitizer_syscall_pre_futex(0, 0, 0, 0, 0, 0);
#endif
}
[[gnu::always_inline]] inline void end_sleep() noexcept {
#ifdef __sanitizer_syscall_post_futex
  __sanitizer_syscall_post_futex(0, 0, 0, 0, 0, 0, 0);
#endif
}

// One for each stack that is switched to or from, a thread's own included. Code of the user's may
// have gone to a stack and a fiber of its own before it switches away, as Boost.Context does. So
// the state holds the sanitizer's knowledge at that moment, and the sanitizer is told it again when
// the stack is switched to.
struct fiber_state {
#ifdef SLEY_ASAN
  void* fake_stack = nullptr;
  const void* stack_low = nullptr;
  std::size_t stack_bytes = 0;
  fiber_state* left = nullptr;  // which one was left for this one; null if for good
#endif
#ifdef SLEY_TSAN
  void* fiber = nullptr;    // its own, or that of the goroutine that it is bound to
  void* current = nullptr;  // where it goes on
  void* ended = nullptr;    // of the goroutine that was left for this stack for good
#endif
  // Also without SLEY_VALGRIND, which the library alone is compiled with: tests that see this type
  // must see the same one.
  unsigned valgrind_id = 0;
};

#ifdef SLEY_TSAN
inline bool is_scheduler_unseen = false;  // [const] from boot on, see platform/unseen.hpp
// Not seen itself, because a strand may be told of no order before it asks.
[[gnu::noinline]] SLEY_UNINSTRUMENTED inline bool hides_scheduler() noexcept {
  return is_scheduler_unseen;
}
#endif

// What the thread sanitizer takes for a thread: each goroutine has one of its own, from its start
// to its end, whatever stack it runs on.
struct strand {
#ifdef SLEY_TSAN
  void* fiber = nullptr;
#endif
};

// A goroutine is started by the caller. Reports show the caller's stack of this moment as the place
// where the goroutine was created.
[[gnu::always_inline]] inline void create_strand([[maybe_unused]] strand& s) noexcept {
#ifdef SLEY_TSAN
  s.fiber = __tsan_create_fiber(0);
#endif
}

// The stack that the caller is on has this name from now on, which is copied.
[[gnu::always_inline]] inline void name_running_stack([[maybe_unused]] const char* name) noexcept {
#ifdef SLEY_TSAN
  __tsan_set_fiber_name(__tsan_get_current_fiber(), name);
#endif
}

// The address sanitizer calls the hook after each report, on the thread that the report is of. A
// hook of the program's may take its place later.
inline void call_after_reports([[maybe_unused]] void (*hook)(const char* report)) noexcept {
#ifdef SLEY_ASAN
  __asan_set_error_report_callback(hook);
#endif
}

// Memory of ours that may hold the only pointer to something of the user's: the leak checker looks
// there. Every byte of it must be readable.
[[gnu::always_inline]] inline void register_root([[maybe_unused]] void* start,
                                                 [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef SLEY_ASAN
  __lsan_register_root_region(start, bytes);
#endif
}
[[gnu::always_inline]] inline void forget_root([[maybe_unused]] void* start,
                                               [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef SLEY_ASAN
  __lsan_unregister_root_region(start, bytes);
#endif
}

// The calling thread's own stack, on the thread itself.
[[gnu::always_inline]] inline void adopt_thread_stack([[maybe_unused]] fiber_state& s) noexcept {
#if defined(SLEY_ASAN) && defined(SLEY_SIMULATION)
  const simulated::extent stack = simulated::stack_of_this_thread();
  s.stack_low = stack.low;
  s.stack_bytes = stack.bytes;
#elif defined(SLEY_ASAN)
  pthread_attr_t attributes;
  void* low = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &s.stack_bytes);
    pthread_attr_destroy(&attributes);
  }
  s.stack_low = low;
#endif
#ifdef SLEY_TSAN
  s.fiber = __tsan_get_current_fiber();
  s.current = s.fiber;
#endif
}

// For a stack that no thread runs on yet. Before one does, the stack is bound to a strand, by
// begin_again().
[[gnu::always_inline]] inline void create_stack([[maybe_unused]] fiber_state& s,
                                                [[maybe_unused]] void* low,
                                                [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef SLEY_ASAN
  s.fake_stack = nullptr;
  s.stack_low = low;
  s.stack_bytes = bytes;
#endif
#ifdef SLEY_VALGRIND
  s.valgrind_id = VALGRIND_STACK_REGISTER(low, static_cast<char*>(low) + bytes);
#endif
}

// For a stack whose memory goes back to the system. No thread runs on it.
[[gnu::always_inline]] inline void destroy_stack([[maybe_unused]] fiber_state& s) noexcept {
#ifdef SLEY_VALGRIND
  VALGRIND_STACK_DEREGISTER(s.valgrind_id);
#endif
}

// The same two for a stack with a strand of its own. A stack that has one already keeps it: its
// last user has ended before the next one begins.
[[gnu::always_inline]] inline void create_fiber(fiber_state& s, void* low,
                                                std::size_t bytes) noexcept {
  create_stack(s, low, bytes);
#ifdef SLEY_TSAN
  if (s.fiber == nullptr) s.fiber = __tsan_create_fiber(0);
  s.current = s.fiber;
#endif
}
[[gnu::always_inline]] inline void destroy_fiber(fiber_state& s) noexcept {
#ifdef SLEY_TSAN
  __tsan_destroy_fiber(s.fiber);
  s.fiber = nullptr;
  s.current = nullptr;
#endif
  destroy_stack(s);
}

// The kernel hands an object to a signal handler: all that was done before give_to_signal() is seen
// after taken_by_signal(). The thread sanitizer does not know that of timers.
[[gnu::always_inline]] inline void give_to_signal([[maybe_unused]] void* object) noexcept {
#ifdef SLEY_TSAN
  __tsan_release(object);
#endif
}
[[gnu::always_inline]] inline void taken_by_signal([[maybe_unused]] void* object) noexcept {
#ifdef SLEY_TSAN
  __tsan_acquire(object);
#endif
}

// The thread sanitizer ignores what the caller's strand reads and writes between the two, and still
// sees the order that its locks and atomic operations make.
[[gnu::always_inline]] inline void begin_ignored() noexcept {
#ifdef SLEY_TSAN
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}
[[gnu::always_inline]] inline void end_ignored() noexcept {
#ifdef SLEY_TSAN
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

// Right before the switch. `from` is null when its stack will not be used again as it is.
[[gnu::always_inline]] inline void before_switch([[maybe_unused]] fiber_state* from,
                                                 [[maybe_unused]] fiber_state& to) noexcept {
#ifdef SLEY_ASAN
  to.left = from;
  __sanitizer_start_switch_fiber(from != nullptr ? &from->fake_stack : nullptr, to.stack_low,
                                 to.stack_bytes);
#endif
#ifdef SLEY_TSAN
  if (from != nullptr) from->current = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.current, 0);
#endif
}

// The same where a goroutine has ended, and its strand with it.
[[gnu::always_inline]] inline void before_last_switch(fiber_state& to) noexcept {
#ifdef SLEY_TSAN
  to.ended = __tsan_get_current_fiber();
  if (hides_scheduler()) {
    __tsan_switch_to_fiber(to.current, __tsan_switch_to_fiber_no_sync);
    return;
  }
#endif
  before_switch(nullptr, to);
}

// First thing after a switch, on the stack that was switched to. Until then nothing may switch back
// to the one that was left.
[[gnu::always_inline]] inline void after_switch([[maybe_unused]] fiber_state& self) noexcept {
#ifdef SLEY_TSAN
  if (self.ended != nullptr) __tsan_destroy_fiber(self.ended);
  self.ended = nullptr;
#endif
#ifdef SLEY_ASAN
  const void* low = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(self.fake_stack, &low, &bytes);
  self.fake_stack = nullptr;
  if (self.left != nullptr) {
    self.left->stack_low = low;
    self.left->stack_bytes = bytes;
  }
#endif
}

// The same two where a simulation changes threads, which may be on any stack. The switch itself
// makes no write of one thread visible to the other.
[[gnu::always_inline]] inline void before_thread_switch([[maybe_unused]] fiber_state& from,
                                                        [[maybe_unused]] fiber_state& to) noexcept {
#ifdef SLEY_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_low, to.stack_bytes);
#endif
#ifdef SLEY_TSAN
  from.current = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.current, __tsan_switch_to_fiber_no_sync);
#endif
}
[[gnu::always_inline]] inline void after_thread_switch(
    [[maybe_unused]] fiber_state& self, [[maybe_unused]] fiber_state& left) noexcept {
#ifdef SLEY_ASAN
  __sanitizer_finish_switch_fiber(self.fake_stack, &left.stack_low, &left.stack_bytes);
  self.fake_stack = nullptr;
#endif
}

// Before frames are left without returning from them.
[[gnu::always_inline]] inline void before_unwind() noexcept {
#ifdef SLEY_ASAN
  __asan_handle_no_return();
#endif
}

// Memory that the last frames of a stack have poisoned is clean again.
[[gnu::always_inline]] inline void reset_stack_memory([[maybe_unused]] void* low,
                                                      [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef SLEY_ASAN
  __asan_unpoison_memory_region(low, bytes);
#endif
}

// A stack that is used from its top, whatever its last user had switched to, now by this strand.
[[gnu::always_inline]] inline void begin_again([[maybe_unused]] fiber_state& s,
                                               [[maybe_unused]] const strand& user,
                                               [[maybe_unused]] void* low,
                                               [[maybe_unused]] std::size_t bytes) noexcept {
  reset_stack_memory(low, bytes);
#ifdef SLEY_ASAN
  s.stack_low = low;
  s.stack_bytes = bytes;
#endif
#ifdef SLEY_TSAN
  s.fiber = user.fiber;
  s.current = user.fiber;
#endif
}

// The strand that runs on the stack has ended, and another begins there without a switch.
[[gnu::always_inline]] inline void change_strands([[maybe_unused]] fiber_state& s,
                                                  [[maybe_unused]] const strand& next) noexcept {
#ifdef SLEY_TSAN
  void* ended = __tsan_get_current_fiber();
  s.fiber = next.fiber;
  s.current = next.fiber;
  __tsan_switch_to_fiber(next.fiber, hides_scheduler() ? __tsan_switch_to_fiber_no_sync : 0);
  __tsan_destroy_fiber(ended);
#endif
}

}  // namespace sley::platform
