// Stacks for goroutines: where they come from and where free ones wait.
//
// Stacks of the default size are cut from arenas, each with a guard below it:
//
//   low - guard            low                                        top   header
//   | faults on access     | the stack grows down from top            |     | stack + colour gap |
//
// The distance between stacks is no power of two and their tops are coloured by cache lines: else
// all tops would compete for the same few cache sets. Stacks of other sizes are mapped one by one.
// Where the process may have no further guard, a stack has the room for a guard below it, which
// does not fault: a goroutine that never ran would be worse. A process without any guard has no
// stacks. Free stacks are kept last in, first out, because the last one is warm. Stacks that were
// not needed for a while are cold: their memory is given back, and only a bit in their arena
// records them.
//
// A system call installs the guards of many places of an arena, before most of them are stacks.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "parts/permanent_memory.hpp"
#include "parts/registry.hpp"
#include "platform/os.hpp"
#include "platform/sanitizer.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::parts {

// A stack's own record, at its top end: touching a fresh stack costs one page, not two.
struct arena;

struct stack {
  stack* next;            // [lock or owner] in a free list
  char* low;              // [const] the lowest usable byte; below it is the guard
  char* top;              // [const] where the first frame goes, aligned to 16
  std::size_t map_bytes;  // [const] 0 if cut from an arena, else the size of its own mapping
  arena* home;            // [const] the arena; null if it has its own mapping
  platform::guard guard;  // [const]
  platform::fiber_state fiber;

  std::size_t usable_bytes() const noexcept { return static_cast<std::size_t>(top - low); }
  bool holds(std::uintptr_t address) const noexcept {
    return address - reinterpret_cast<std::uintptr_t>(low) < usable_bytes();
  }
};

// A mapping that stacks of the default size are cut from.
struct arena {
  char* start = nullptr;    // [const]
  std::uint64_t cold = 0;   // [lock: the pool's] a bit for each place that is free, without memory
  std::uint64_t used = 0;   // [lock: the pool's] a bit for each place that has been a stack
  std::uint64_t bare = 0;   // [lock: the pool's] ... and has no guard
  std::uint64_t asked = 0;  // [lock: the pool's] a bit for each whose guard was asked for early
  std::uint64_t early = 0;  // [lock: the pool's] ... and is there
  arena* next_cold = nullptr;  // [lock: the pool's] valid while `cold` is not 0
  arena* next_made = nullptr;  // [const] once it is on the list of all arenas
};

class stack_pool {
 public:
  static constexpr std::size_t min_bytes = 16 * 1024;
  static constexpr std::size_t max_bytes = std::size_t{64} << 30;
  static constexpr std::size_t guard_bytes = 64 * 1024;
  // For a stack of at least this size: the kernel keeps as much below main()'s.
  static constexpr std::size_t large_guard_bytes = 1024 * 1024;

  // Before the first take: the usable size of default stacks, a multiple of the page size.
  void start(std::size_t default_bytes) noexcept { default_bytes_ = default_bytes; }
  std::size_t default_bytes() const noexcept { return default_bytes_; }

  // A stack of the default size; null if there is no memory.
  stack* take() noexcept;
  // A stack with room for `bytes`, of its own mapping; null as take().
  stack* take_sized(std::size_t bytes) noexcept;
  // Returns a stack that no thread runs on any more.
  void give(stack* s) noexcept;

  // Up to `count` free stacks in a list, newest first, for a cache; perhaps none.
  stack* take_batch(std::size_t count) noexcept;
  // A list of stacks of the default size.
  void give_list(stack* first) noexcept;

  // Gives back the memory of up to `most` free stacks that were not needed since the last call.
  // True if no free stack is left.
  bool trim(std::size_t most) noexcept;
  // Gives back the memory of `count` free stacks, or of all if there are fewer.
  void give_back(std::size_t count) noexcept;

  // Is a stack free and in no cache? The answer may be outdated at once.
  bool has_free() const noexcept;

  // Bytes of address space and number of stacks made and not unmapped.
  std::uint64_t reserved_bytes() const noexcept;
  std::uint64_t made() const noexcept;

  // All arenas ever made, which stay. Any thread.
  const registry<arena, &arena::next_made>& arenas() const noexcept { return made_arenas_; }
  std::size_t arena_bytes() const noexcept { return arena_stacks * spacing(); }

  // Whether the address is in the guard of this stack.
  static bool is_in_guard(const stack& s, const void* address) noexcept {
    const auto* a = static_cast<const char*>(address);
    return a >= s.low - guard_of(s) && a < s.low;
  }

 private:
  static constexpr std::size_t arena_stacks = 64;
  static constexpr std::size_t colours = 16;
  static constexpr std::size_t line = 64;

  static constexpr std::size_t guard_for(std::size_t bytes) noexcept {
    return bytes < large_guard_bytes ? guard_bytes : large_guard_bytes;
  }
  static constexpr std::size_t guard_of(const stack& s) noexcept {
    // Only a mapping with a large guard is at least twice as large as that guard.
    return s.map_bytes < 2 * large_guard_bytes ? guard_bytes : large_guard_bytes;
  }

  // A place in an arena for one stack.
  struct place {
    arena* home = nullptr;  // null: no place
    std::size_t index = 0;
    bool is_used = false;
    bool is_ready = false;  // its guard has been seen to
    platform::guard guard = platform::guard::none;
    std::uint64_t early = 0;  // places of the arena that get their guards along with it
  };

  std::size_t spacing() const noexcept;
  bool new_arena() noexcept;
  place take_place() noexcept;
  std::uint64_t ask_early(arena* home) const noexcept;
  void give_place(const place& p) noexcept;
  stack* make_stack(place p) noexcept;
  stack* pop_free() noexcept;
  void chill(stack* s) noexcept;
  bool protect(char* start, std::size_t bytes, platform::guard& kind) noexcept;
  bool protect_with_early(const place& p) noexcept;
  static stack* set_up(char* start, std::size_t below, std::size_t bytes, const place& p) noexcept;

  std::size_t default_bytes_ = 0;  // [const] after start
  mutable detail::lock lock_{detail::lock_rank::stacks};
  stack* free_ = nullptr;        // [lock: lock_]
  std::size_t free_count_ = 0;   // [lock: lock_]
  std::size_t least_free_ = 0;   // [lock: lock_] since the last trim
  arena* with_cold_ = nullptr;   // [lock: lock_] arenas that have places without memory
  std::size_t cold_stacks_ = 0;  // [lock: lock_] such places that have been stacks before
  permanent_memory arenas_;      // holds the arenas' records
  registry<arena, &arena::next_made> made_arenas_;  // added to under lock_
  // The process has had a guard. Relaxed: it is set once. A thread that misses it has got no guard
  // either, and its goroutine waits for a stack, as without memory.
  detail::atomic<bool> has_guards_;
  std::uint64_t made_ = 0;      // [lock: lock_]
  std::uint64_t reserved_ = 0;  // [lock: lock_]
};

}  // namespace sley::parts
