// Compiled, never run: as many values as there are registers live over a switch. Where the compiler
// may use a register that the switch does not claim to change, some of them stay there.
#include "platform/context.hpp"

using sley::platform::context;

// The kinds of registers, as a letter of inline assembly. A floating-point register of riscv64 has
// one number.
#if defined(__x86_64__)
#define SLEY_VECTOR "v"
#elif defined(__aarch64__)
#define SLEY_VECTOR "w"
#else
#define SLEY_VECTOR "f"
#endif
#ifdef __riscv
using vector = double;
#else
using vector = double __attribute__((vector_size(16)));
#endif
#ifdef __AVX512F__
#define SLEY_MASK "k"
#else
#define SLEY_MASK "r"
#endif

namespace {

// hold() has the value in a register of its kind: what is only copied may be copied in another way.
template <int N, class Value, class Hold>
[[gnu::always_inline]] inline void keep(context& from, const context& to, const Value* in,
                                        Value* out, Hold hold) {
  Value kept[N];
#pragma GCC unroll 32
  for (int i = 0; i < N; ++i) kept[i] = in[i];
#pragma GCC unroll 32
  for (int i = 0; i < N; ++i) hold(kept[i]);
  sley::platform::switch_context(from, to);
#pragma GCC unroll 32
  for (int i = 0; i < N; ++i) out[i] = kept[i];
}

}  // namespace

[[gnu::noinline]] void keep_vectors(context& from, const context& to, const vector* in,
                                    vector* out) {
  keep<32>(from, to, in, out, [](vector& v) { asm volatile("" : "+" SLEY_VECTOR(v)); });
}
[[gnu::noinline]] void keep_words(context& from, const context& to, const long* in, long* out) {
  keep<30>(from, to, in, out, [](long& word) { asm volatile("" : "+r"(word)); });
}
[[gnu::noinline]] void keep_masks(context& from, const context& to, const unsigned short* in,
                                  unsigned short* out) {
  keep<8>(from, to, in, out, [](unsigned short& mask) { asm volatile("" : "+" SLEY_MASK(mask)); });
}

#if defined(__ARM_FEATURE_SVE) || defined(__riscv_vector)
#ifdef __ARM_FEATURE_SVE
#define SLEY_LOAD(value, in) asm volatile("ldr\t%0, [%1]" : "=Upa"(value) : "r"(in))
#define SLEY_STORE(value, out) asm volatile("str\t%0, [%1]" : : "Upa"(value), "r"(out) : "memory")
using of_any_size = __SVBool_t;
constexpr int registers_of_any_size = 16;
#else
#define SLEY_LOAD(value, in) asm volatile("vl1r.v\t%0, (%1)" : "=vr"(value) : "r"(in))
#define SLEY_STORE(value, out) asm volatile("vs1r.v\t%0, (%1)" : : "vr"(value), "r"(out) : "memory")
using of_any_size = __rvv_int8m1_t;
constexpr int registers_of_any_size = 32;
#endif

namespace {

// No array holds values of a size that the CPU chooses.
template <int N, class... Values>
[[gnu::always_inline]] inline void keep_more(context& from, const context& to, const void* in,
                                             void* out, Values... kept) {
  if constexpr (N == 0) {
    sley::platform::switch_context(from, to);
    (..., [out](auto value) { SLEY_STORE(value, out); }(kept));
  } else {
    of_any_size value;
    SLEY_LOAD(value, in);
    keep_more<N - 1>(from, to, in, out, kept..., value);
  }
}

}  // namespace

[[gnu::noinline]] void keep_registers_of_any_size(context& from, const context& to, const void* in,
                                                  void* out) {
  keep_more<registers_of_any_size>(from, to, in, out);
}
#endif
