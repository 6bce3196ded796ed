// Compiled, never run: as many values as there are registers live over a switch. Where the compiler
// may use a register that the switch does not claim to change, some of them stay there.
#include "platform/context.hpp"

using sley::platform::context;

namespace {

template <int N, class Value>
[[gnu::always_inline]] inline void keep(context& from, const context& to, const Value* in,
                                        Value* out) {
  Value kept[N];
#pragma GCC unroll 32
  for (int i = 0; i < N; ++i) kept[i] = in[i];
#ifdef __AVX512F__
  if constexpr (N == 8) {
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) asm volatile("" : "+k"(kept[i]));
  }
#endif
  sley::platform::switch_context(from, to);
#pragma GCC unroll 32
  for (int i = 0; i < N; ++i) out[i] = kept[i];
}

using vector = double __attribute__((vector_size(16)));

}  // namespace

[[gnu::noinline]] void keep_vectors(context& from, const context& to, const vector* in,
                                    vector* out) {
  keep<32>(from, to, in, out);
}
[[gnu::noinline]] void keep_words(context& from, const context& to, const long* in, long* out) {
  keep<30>(from, to, in, out);
}
[[gnu::noinline]] void keep_masks(context& from, const context& to, const unsigned short* in,
                                  unsigned short* out) {
  keep<8>(from, to, in, out);
}

#ifdef __ARM_FEATURE_SVE
namespace {

// No array holds values of a size that the CPU chooses.
template <int N, class... Predicates>
[[gnu::always_inline]] inline void keep_more(context& from, const context& to, const void* in,
                                             void* out, Predicates... kept) {
  if constexpr (N == 0) {
    sley::platform::switch_context(from, to);
    (..., [out](auto p) { asm volatile("str\t%0, [%1]" : : "Upa"(p), "r"(out) : "memory"); }(kept));
  } else {
    __SVBool_t p;
    asm volatile("ldr\t%0, [%1]" : "=Upa"(p) : "r"(in));
    keep_more<N - 1>(from, to, in, out, kept..., p);
  }
}

}  // namespace

[[gnu::noinline]] void keep_predicates(context& from, const context& to, const void* in,
                                       void* out) {
  keep_more<16>(from, to, in, out);
}
#endif
