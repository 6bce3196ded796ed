#include "parts/timer_heap.hpp"

#include "base/check.hpp"
#include "platform/os.hpp"
#include "platform/sanitizer.hpp"

#include <algorithm>
#include <cstring>

namespace sley::parts {

namespace {

// The mapping is a root for leak checkers: the heap may hold the only pointer to an armed timer and
// to the function that the timer will call.
void* map_entries(std::size_t bytes) noexcept {
  void* start = platform::map_memory(bytes, false);
  if (start != nullptr) platform::register_root(start, bytes);
  return start;
}

void unmap_entries(void* start, std::size_t bytes) noexcept {
  platform::forget_root(start, bytes);
  platform::unmap_memory(start, bytes);
}

}  // namespace

timer_heap::~timer_heap() { unmap(); }

void timer_heap::unmap() noexcept {
  if (entries_ == nullptr) return;
  unmap_entries(entries_ - lead, (std::size_t{capacity_} + lead) * sizeof(entry));
}

bool timer_heap::reserve_one() noexcept {
  if (size_ < capacity_) return true;
  const std::size_t bytes =
      capacity_ == 0 ? platform::page_bytes() : 2 * (std::size_t{capacity_} + lead) * sizeof(entry);
  auto* grown = static_cast<entry*>(map_entries(bytes));
  if (grown == nullptr) return false;
  grown += lead;
  if (entries_ != nullptr) std::memcpy(grown, entries_, size_ * sizeof(entry));
  unmap();
  entries_ = grown;
  capacity_ = static_cast<std::uint32_t>(bytes / sizeof(entry) - lead);
  return true;
}

void timer_heap::insert(heap_place* place, std::int64_t when_ns) noexcept {
  SLEY_CHECK(!place->is_in_heap() && size_ < capacity_, "a timer is in one heap, with room");
  place->when_ns = when_ns;
  sift_up(size_++, {when_ns, place});
}

void timer_heap::insert_guest(void* guest, std::int64_t when_ns) noexcept {
  SLEY_CHECK(size_ < capacity_, "there is room in the heap");
  sift_up(size_++, {when_ns, guest});
}

void timer_heap::pop_first() noexcept {
  entries_[0].tell(heap_place::nowhere);
  fill(0);
}

void timer_heap::remove(heap_place* place) noexcept {
  const std::uint32_t hole = place->index;
  SLEY_CHECK(hole < size_ && entries_[hole].place() == place, "a timer knows its place");
  place->index = heap_place::nowhere;
  fill(hole);
}

// Fills the hole with the last entry.
void timer_heap::fill(std::uint32_t hole) noexcept {
  const entry last = entries_[--size_];
  if (hole == size_) return;
  if (hole > 0 && last.when_ns < entries_[(hole - 1) / arity].when_ns) {
    sift_up(hole, last);
  } else {
    sift_down(hole, last);
  }
}

void timer_heap::move(heap_place* place, std::int64_t when_ns) noexcept {
  const std::uint32_t index = place->index;
  SLEY_CHECK(index < size_ && entries_[index].place() == place, "a timer knows its place");
  const bool earlier = when_ns < place->when_ns;
  place->when_ns = when_ns;
  if (earlier) {
    sift_up(index, {when_ns, place});
  } else {
    sift_down(index, {when_ns, place});
  }
}

void timer_heap::sift_up(std::uint32_t index, entry e) noexcept {
  while (index > 0) {
    const std::uint32_t parent = (index - 1) / arity;
    if (entries_[parent].when_ns <= e.when_ns) break;
    put(index, entries_[parent]);
    index = parent;
  }
  put(index, e);
}

void timer_heap::sift_down(std::uint32_t index, entry e) noexcept {
  for (;;) {  // ends at a leaf
    const std::uint32_t first = index * arity + 1;
    if (first >= size_) break;
    const std::uint32_t end = std::min(first + arity, size_);
    std::uint32_t least = first;
    for (std::uint32_t child = first + 1; child < end; ++child) {
      if (entries_[child].when_ns < entries_[least].when_ns) least = child;
    }
    if (entries_[least].when_ns >= e.when_ns) break;
    put(index, entries_[least]);
    index = least;
  }
  put(index, e);
}

}  // namespace sley::parts
