// Context switch: stop executing here, go on there.
//
// A switch saves stack pointer, frame pointer, resume address, and the control words of floating
// point, which belong to the goroutine. The compiler saves everything else, because the assembly
// claims to change all of it. The CPU's return-address predictor decides the cost, so the switch is
// inlined into the function that parks and leaves by a jump to a local label: each call on the way
// in is then matched by one return on the way out.
//
// The CPU's part is in cpu/floating_point.hpp and cpu/switch.hpp, and the bottom frame in the CPU's
// context.S.
#pragma once

// The control words (`floating_point_control`: rounding, exception masks and the like), and
// `default_control`, which a new goroutine starts with.
#include "cpu/floating_point.hpp"

#include <unwind.h>

#include <cstddef>
#include <cstdint>

// At the return address in the frame below every frame of a goroutine's stack.
extern "C" [[gnu::visibility("hidden")]] const std::byte sley_goroutine_started;

namespace sley::platform {

struct context {
  void* stack_pointer = nullptr;
  void* frame_pointer = nullptr;
  void* resume_at = nullptr;
  floating_point_control control;
};

static_assert(offsetof(context, stack_pointer) == 0 && offsetof(context, frame_pointer) == 8 &&
                  offsetof(context, resume_at) == 16,
              "cpu/switch.hpp knows these offsets");

// Reads the thread's control words into `now`. For save_control().
inline void read_control(floating_point_control& now) noexcept;
// Gives the thread the control words `wanted`, if they differ from its present ones, `now`. No
// exception of another context traps in this one. For load_control().
inline void change_control(const floating_point_control& now,
                           const floating_point_control& wanted) noexcept;

// Reads the thread's control words into `now`.
[[gnu::always_inline]] inline void save_control(
    [[maybe_unused]] floating_point_control& now) noexcept {
#ifndef SLEY_NO_FP_CONTROL
  read_control(now);
#endif
}

// Gives the thread the control words `wanted`; `now` are its present words.
[[gnu::always_inline]] inline void load_control(
    [[maybe_unused]] const floating_point_control& now,
    [[maybe_unused]] const floating_point_control& wanted) noexcept {
#ifndef SLEY_NO_FP_CONTROL
  change_control(now, wanted);
#endif
}

// Gives the thread the default control words, for a goroutine that starts on an ended one's stack.
[[gnu::always_inline]] inline void reset_floating_point() noexcept {
  floating_point_control now;
  save_control(now);
  load_control(now, default_control);
}

// Saves here into `from` and goes on at `to`, with the control words that the thread has. Returns
// when a thread switches back to `from`, perhaps another thread: values read from thread-local
// storage before are void after. Inlined on purpose, so call it from a function that is not.
inline void switch_stacks(context& from, const context& to) noexcept;

// As switch_stacks(), and the control words belong to the contexts.
[[gnu::always_inline]] inline void switch_context(context& from, const context& to) noexcept {
  save_control(from.control);
  load_control(from.control, to.control);
  switch_stacks(from, to);
}

// A context that, when switched to, calls `entry()` on the stack that ends at `top` (aligned to
// 16). `entry` must not return. The frame below it ends every unwind.
context make_context(void* top, void (*entry)()) noexcept;

// Called for a C++ exception that no frame of a goroutine's stack wants, while that stack is still
// as it was at the throw; std::terminate() follows when it returns.
using uncaught_hook = void (*)(_Unwind_Exception* exception) noexcept;
// Called likewise for an exception that leaves call_main(). If it returns, the exception comes out
// of call_main().
// Both are set once, at boot.
void set_uncaught_hooks(uncaught_hook uncaught, uncaught_hook leaving) noexcept;

// Calls f(arg), under the eyes of the leaving hook.
void call_main(void (*f)(void* arg), void* arg);

}  // namespace sley::platform

// Besides the function it has `red_zone_bytes`: the ABI allows functions to use this much below the
// stack pointer.
#include "cpu/switch.hpp"
