// All goroutines with their stacks, in a program that goes on.
#pragma once

#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/inspect/stack_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::rt {

class snapshot {
 public:
  struct entry {
    goroutine_view goroutine;
    std::size_t frame_count = 0;
    std::span<const std::uintptr_t> frames() const noexcept {
      return {reinterpret_cast<const std::uintptr_t*>(this + 1), frame_count};
    }
  };

  // Parks. Each goroutine that lives from the call to its end is there once, as it was at some
  // moment between them, and goroutines that wait when they are looked at do not stop the others.
  // For the rest the world is stopped: some microseconds for each. Goroutines that compute go on,
  // and tell their stack by a signal. Goroutines that sleep in a system call are not disturbed, and
  // have no stack here. std::bad_alloc without address space for it. [user code]
  snapshot();
  ~snapshot();
  snapshot(const snapshot&) = delete;
  snapshot& operator=(const snapshot&) = delete;

  // In no order. Null after the last one.
  const entry* first() const noexcept { return at(0); }
  const entry* after(const entry* e) const noexcept {
    const auto* end = reinterpret_cast<const std::byte*>(e->frames().data() + e->frame_count);
    return at(static_cast<std::size_t>(end - memory_));
  }

 private:
  struct request;

  static constexpr std::size_t largest_entry =
      sizeof(entry) + stack_trace::most_frames * sizeof(std::uintptr_t);

  void make_room(std::size_t goroutines);
  const entry* at(std::size_t place) const noexcept {
    return place == used_ ? nullptr : reinterpret_cast<const entry*>(memory_ + place);
  }
  // Takes over a reference to the goroutine's labels.
  void add(const goroutine_view& g, std::span<const std::uintptr_t> frames) noexcept;
  void discard() noexcept;
  bool has_room() const noexcept;

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t room_ = 0;  // for entries; behind it are notes of the request
  std::size_t used_ = 0;
};

}  // namespace sley::rt
