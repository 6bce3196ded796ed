// Goroutines with the same state and the same stack, of which a dump shows the first ones one by
// one and the others together: a program with ten thousand goroutines in one place is readable.
#pragma once

#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/inspect/stack_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::rt {

class stack_groups {
 public:
  // For at most this many goroutines. Without memory for them every goroutine is shown.
  explicit stack_groups(std::size_t goroutines) noexcept;
  ~stack_groups();
  stack_groups(const stack_groups&) = delete;
  stack_groups& operator=(const stack_groups&) = delete;

  // True: the caller shows the goroutine. False: it is kept, and shown by print().
  [[nodiscard]] bool shows(const goroutine_view& g,
                           std::span<const std::uintptr_t> frames) noexcept;
  // Prints the kept goroutines. Needs 64 KB of stack.
  void print(goroutine_printer& out) noexcept;

 private:
  static constexpr std::size_t shown_of_each = 100;
  static constexpr std::size_t most_groups = 1024;

  struct group {
    bool is_of(const goroutine_view& g, std::span<const std::uintptr_t> of) const noexcept;
    std::span<const std::uintptr_t> stack() const noexcept { return {frames, frame_count}; }

    std::size_t shown = 0;
    std::size_t kept = 0;
    goroutine_view first;  // of the kept ones; without objects if theirs differ
    std::size_t frame_count = 0;
    std::uintptr_t frames[stack_trace::most_frames];
  };
  struct kept_goroutine {
    std::size_t group;
    std::uint64_t id;
  };

  // Null: there are too many groups.
  group* find(const goroutine_view& g, std::span<const std::uintptr_t> frames) noexcept;

  std::size_t bytes_;
  std::byte* memory_;
  group* groups_ = nullptr;         // a hash table; a place that has shown nothing is free
  kept_goroutine* kept_ = nullptr;  // behind it
  std::size_t kept_count_ = 0;
  std::size_t most_kept_;
};

}  // namespace sley::rt
