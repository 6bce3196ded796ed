// Context switch: stop executing here, go on there.
//
// A switch saves stack pointer, frame pointer, resume address, and the floating-point control words
// (MXCSR, x87 control word), which belong to the goroutine. The compiler saves everything else,
// because the assembly claims to change all of it. The CPU's return-address predictor decides the
// cost, so the switch is inlined into the function that parks and leaves by a jump to a local
// label: each call on the way in is then matched by one return on the way out.
//
// A switch must read both control words, because user code changes each of them with one
// instruction that nothing else shows. It loads them only where they differ.
#pragma once

#include <unwind.h>

#include <cstddef>
#include <cstdint>

namespace sley::platform {

// Rounding, exception masks and the like. The low bits of MXCSR are flags of what happened: no call
// keeps them (System V ABI), so neither does a switch.
struct floating_point_control {
  std::uint32_t mxcsr = 0;
  std::uint16_t x87_control = 0;
};

struct context {
  void* stack_pointer = nullptr;
  void* frame_pointer = nullptr;
  void* resume_at = nullptr;
  floating_point_control control;
};

static_assert(offsetof(context, stack_pointer) == 0 && offsetof(context, frame_pointer) == 8 &&
                  offsetof(context, resume_at) == 16,
              "switch_context and context_x86_64.S know these offsets");

// A new goroutine starts with these: round to nearest, all exceptions masked.
inline constexpr floating_point_control default_control{0x1f80, 0x037f};

// Brings the page into the TLB and the line into the caches. No sanitizer looks at it.
[[gnu::always_inline]] inline void load_byte(const void* place) noexcept {
  asm volatile("movb (%0), %%al" : : "r"(place) : "al");
}

// Reads the thread's control words into `now`.
[[gnu::always_inline]] inline void save_control(
    [[maybe_unused]] floating_point_control& now) noexcept {
#ifndef SLEY_NO_FP_CONTROL
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(now.mxcsr), "=m"(now.x87_control));
#endif
}

// Gives the thread the control words `wanted`; `now` are its present words. Comparing costs
// less than loading, and the words hardly ever differ. On the rare way the x87 flags are cleared,
// because a flag of another goroutine would trap at the next instruction where `wanted` unmasks it.
[[gnu::always_inline]] inline void load_control(
    [[maybe_unused]] const floating_point_control& now,
    [[maybe_unused]] const floating_point_control& wanted) noexcept {
#ifndef SLEY_NO_FP_CONTROL
  constexpr std::uint32_t mxcsr_flags = 0x3f;
  // As volatile: side by side they would be compared with one load, which no CPU forwards from the
  // two stores of save_control().
  const volatile std::uint32_t& mxcsr = now.mxcsr;
  const volatile std::uint16_t& x87_control = now.x87_control;
  if (__builtin_expect(((mxcsr ^ wanted.mxcsr) & ~mxcsr_flags) != 0, 0) ||
      __builtin_expect(x87_control != wanted.x87_control, 0)) {
    asm volatile("ldmxcsr %0\n\tfnclex\n\tfldcw %1" : : "m"(wanted.mxcsr), "m"(wanted.x87_control));
  }
#endif
}

// Gives the thread the default control words, for a goroutine that starts on an ended one's stack.
[[gnu::always_inline]] inline void reset_floating_point() noexcept {
  floating_point_control now;
  save_control(now);
  load_control(now, default_control);
}

// Registers that the compiler knows only with certain options: the upper half and the masks of
// AVX-512, the upper half of APX. A compiler that may use them knows their names.
#ifdef __AVX512F__
#define SLEY_AVX512_REGISTERS                                                                   \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",   \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", \
      "k6", "k7"
#else
#define SLEY_AVX512_REGISTERS
#endif
#if defined(__APX_F__) || defined(__EGPR__)
#define SLEY_APX_REGISTERS                                                                     \
  , "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", \
      "r29", "r30", "r31"
#else
#define SLEY_APX_REGISTERS
#endif

// Saves here into `from` and goes on at `to`, with the control words that the thread has. Returns
// when a thread switches back to `from`, perhaps another thread: values read from thread-local
// storage before are void after. Inlined on purpose, so call it from a function that is not.
[[gnu::always_inline]] inline void switch_stacks(context& from, const context& to) noexcept {
  context* out = &from;
  const context* in = &to;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rsp, 0(%[out])\n\t"
      "movq %%rbp, 8(%[out])\n\t"
      "movq %%rax, 16(%[out])\n\t"
      "movq 0(%[in]), %%rsp\n\t"
      "movq 8(%[in]), %%rbp\n\t"
      "jmpq *16(%[in])\n"
      "1:\n\t"
      "endbr64\n\t"
      : [out] "+D"(out), [in] "+S"(in)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "memory",
        "cc" SLEY_AVX512_REGISTERS SLEY_APX_REGISTERS);
}

// As switch_stacks(), and the control words belong to the contexts.
[[gnu::always_inline]] inline void switch_context(context& from, const context& to) noexcept {
  save_control(from.control);
  load_control(from.control, to.control);
  switch_stacks(from, to);
}

#undef SLEY_AVX512_REGISTERS
#undef SLEY_APX_REGISTERS

// Is it the return address in the frame below every frame of a goroutine's stack?
bool is_of_bottom_frame(std::uintptr_t return_address) noexcept;

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
