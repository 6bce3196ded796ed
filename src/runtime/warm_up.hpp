// The memory of goroutines that run soon, asked for while there are several to ask for: where many
// thousands wait, what one comes back to is in no cache, and its stack's page in no TLB.
#pragma once

#include "platform/context.hpp"
#include "runtime/goroutine.hpp"

#include <cstddef>
#include <span>

namespace sley::rt {

// Where fewer wait in the same place, all that they need is in the caches, and asking for it would
// take longer than a switch.
inline constexpr std::size_t many_waiting = 4096;

// A goroutine's record.
inline void warm_up_record(const goroutine* g) noexcept {
  const auto* start = reinterpret_cast<const char*>(g);
  for (std::size_t at = 0; at < sizeof(goroutine); at += 64) __builtin_prefetch(start + at);
}

// Has it left its stack, which its context names?
inline bool has_left_stack(const goroutine* g) noexcept {
  return g->stack != nullptr && g->needs.load_relaxed() == 0;  // in hand, nobody changes them
}

// What they come back to on their stacks: some frames, and what is called from there. The caller
// has them in hand, and has asked for their records.
//
// One line of each is loaded first. CPUs were seen to leave out a prefetch whose page they do not
// know (an Intel Xeon of 2023), and walk to several pages side by side where nothing comes between.
inline void warm_up_stacks(std::span<goroutine* const> all) noexcept {
  constexpr std::ptrdiff_t below = 256;
  constexpr std::ptrdiff_t above = 512;
  for (const goroutine* g : all) {
    if (has_left_stack(g)) platform::load_byte(g->context.stack_pointer);
  }
  for (const goroutine* g : all) {
    if (!has_left_stack(g)) continue;
    const auto* top = static_cast<const char*>(g->context.stack_pointer);
    for (std::ptrdiff_t at = -below; at < above; at += 64) __builtin_prefetch(top + at);
  }
}

// The first of a list.
inline void warm_up(const goroutine_list& list) noexcept {
  constexpr std::size_t most = 128;
  goroutine* all[most];
  std::size_t count = 0;
  for (goroutine* g = list.front(); g != nullptr && count < most; g = g->next) {
    warm_up_record(g);
    all[count++] = g;
  }
  warm_up_stacks({all, count});
}

}  // namespace sley::rt
