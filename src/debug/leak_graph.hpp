// What a search for leaked goroutines knows: see leak_search.cpp. All of it is in memory that is
// given before, because nothing can be allocated while the process stands still.
#pragma once

#include "platform/process_memory.hpp"
#include "runtime/state/goroutine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::detail {
struct chan_core;
}

namespace sley::debug {

using platform::memory_range;

// An array with room for a number of elements that is fixed.
template <class T>
class fixed_list {
 public:
  fixed_list() noexcept = default;
  fixed_list(void* place, std::size_t room) noexcept
      : first_(static_cast<T*>(place)), room_(room) {}

  // False: there is no room.
  bool add(const T& value) noexcept {
    if (size_ == room_) return false;
    first_[size_++] = value;
    return true;
  }
  void take_last() noexcept { --size_; }
  void cut(std::size_t size) noexcept { size_ = size; }
  T& operator[](std::size_t i) noexcept { return first_[i]; }
  T* begin() noexcept { return first_; }
  T* end() noexcept { return first_ + size_; }
  std::size_t size() const noexcept { return size_; }
  bool is_empty() const noexcept { return size_ == 0; }

 private:
  T* first_ = nullptr;
  std::size_t room_ = 0;
  std::size_t size_ = 0;
};

// A goroutine that waits for what other goroutines do.
struct suspect {
  const rt::goroutine* g = nullptr;
  bool is_live = false;
  bool waits_for_nothing = false;  // a nil channel, or no case: it is leaked in any case
};

// Memory to which pointers are looked for. What is in it counts only if there is one.
struct aim : memory_range {
  enum class kind : std::uint8_t { channel, future, stack, context, ending_context };
  // Of what only the address of its begin is kept anywhere.
  static aim of_begin(const void* what, kind k) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(what);
    return {{at, at + 1}, k};
  }

  kind what = kind::channel;
  bool is_reached = false;
  std::uint32_t suspect = 0;  // whose stack it is
};

// If the aim that begins there is reached, the suspect can go on.
struct link {
  std::uintptr_t aim = 0;
  std::uint32_t suspect = 0;
};

// A goroutine's stack; `suspect` is not_suspected or whose it is.
struct stack_range : memory_range {
  static constexpr std::uint32_t not_suspected = ~std::uint32_t{0};
  std::uint32_t suspect = not_suspected;
};

// The aims, sorted, and a fast answer for nearly all words that point to none.
class aim_index {
 public:
  static constexpr std::size_t filter_bytes = std::size_t{1} << 19;

  aim_index() noexcept = default;
  aim_index(fixed_list<aim>* aims, std::uint64_t* filter) noexcept : aims_(aims), filter_(filter) {}

  // Sorts them, each of them once. The filter is zero before.
  void build() noexcept;
  // The one that holds the address, or null.
  aim* find(std::uintptr_t address) noexcept;
  // Calls visit(aim) for each word that is an address in an aim.
  template <class Visit>
  void visit_found(std::span<const std::uintptr_t> words, const Visit& visit) noexcept {
    const std::uintptr_t lowest = lowest_;
    const std::uintptr_t span = span_;
    const std::uint64_t* filter = filter_;
    for (const std::uintptr_t word : words) {
      if (word - lowest >= span) continue;
      const std::size_t bit = bit_of(word);
      if ((filter[bit / 64] >> bit % 64 & 1) == 0) continue;
      if (aim* found = find(word)) visit(*found);
    }
  }

 private:
  static constexpr unsigned granule_bits = 12;

  static std::size_t bit_of(std::uintptr_t address) noexcept {
    return (address >> granule_bits) % (filter_bytes * 8);
  }
  fixed_list<aim>* aims_ = nullptr;
  std::uint64_t* filter_ = nullptr;
  std::uintptr_t lowest_ = 0;
  std::uintptr_t span_ = 0;
};

}  // namespace sley::debug
