// Totals of events by the stack that they have, for profiles: a table of fixed size, which forgets
// no stack. From the buckets of Go's runtime/mprof.go.
#pragma once

#include <sley/detail/lock.hpp>

#include "base/random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::parts {

// The events with one stack. Without initial values, so that a table touches only memory that it
// uses.
struct stack_total {
  static constexpr std::size_t most_frames = 64;

  std::span<const std::uintptr_t> stack() const noexcept { return {frames, frame_count}; }

  double count;          // of events
  std::uint64_t amount;  // of all of them together
  std::uint64_t part;    // of that amount, which the user counts apart
  std::int64_t kind;     // the user's; events of different kinds have different totals
  std::uint64_t hash;
  std::uint32_t next;  // in the chain of stacks whose hashes fall together; 0: none
  std::uint32_t frame_count;
  std::uintptr_t frames[most_frames];  // return addresses, innermost first
};

struct stack_event {
  std::span<const std::uintptr_t> stack;
  double count = 1;
  std::uint64_t amount = 0;
  std::uint64_t part = 0;
  std::int64_t kind = 0;
};

// Any thread, where it may take a lock of the runtime. No malloc.
template <std::uint32_t Capacity>
class stack_totals {
 public:
  static constexpr std::uint32_t capacity = Capacity;
  // What had a stack that there was no place for, under the number 0; it has neither frames nor a
  // kind.
  static constexpr std::uint32_t lost = 0;

  stack_totals() noexcept { totals_[lost] = {}; }

  // Returns the number of the event's total. The innermost frames of a deeper stack are kept.
  std::uint32_t add(const stack_event& event) noexcept {
    stack_event kept = event;
    kept.stack = kept.stack.first(std::min(kept.stack.size(), stack_total::most_frames));
    const std::uint64_t hash = hash_of(kept);
    const detail::lock_guard guard(lock_);
    const std::uint32_t number = place_of(kept, hash);
    totals_[number].count += kept.count;
    totals_[number].amount += kept.amount;
    totals_[number].part += kept.part;
    return number;
  }
  // More of an event that has been added before.
  void add_amount(std::uint32_t number, std::uint64_t amount) noexcept {
    const detail::lock_guard guard(lock_);
    totals_[number].amount += amount;
  }

  // The numbers below it have totals, and keep their stacks.
  std::uint32_t size() noexcept {
    const detail::lock_guard guard(lock_);
    return size_;
  }
  stack_total read(std::uint32_t number) noexcept {
    const detail::lock_guard guard(lock_);
    return totals_[number];
  }

 private:
  static std::uint64_t hash_of(const stack_event& event) noexcept {
    std::uint64_t hash = base::mix(event.stack.size() ^ static_cast<std::uint64_t>(event.kind));
    for (const std::uintptr_t frame : event.stack) hash = base::mix(hash ^ frame);
    return hash;
  }

  static bool is_of(const stack_event& event, const stack_total& total) noexcept {
    return total.kind == event.kind && std::ranges::equal(total.stack(), event.stack);
  }

  // Requires the lock. A new stack gets a place; `lost` if there is none left.
  std::uint32_t place_of(const stack_event& event, std::uint64_t hash) noexcept {
    std::uint32_t& first = chains_[hash % Capacity];
    for (std::uint32_t i = first; i != 0; i = totals_[i].next) {
      if (totals_[i].hash == hash && is_of(event, totals_[i])) return i;
    }
    if (size_ == Capacity) return lost;
    stack_total& made = totals_[size_];
    made.count = 0;
    made.amount = 0;
    made.part = 0;
    made.kind = event.kind;
    made.hash = hash;
    made.next = first;
    made.frame_count = static_cast<std::uint32_t>(event.stack.size());
    std::ranges::copy(event.stack, made.frames);
    first = size_++;
    return first;
  }

  detail::lock lock_{detail::lock_rank::profiles};
  std::uint32_t size_ = 1;            // [lock: lock_]
  std::uint32_t chains_[Capacity]{};  // [lock: lock_] 0: empty
  stack_total totals_[Capacity];      // [lock: lock_]
};

}  // namespace sley::parts
