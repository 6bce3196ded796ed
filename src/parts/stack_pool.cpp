#include "parts/stack_pool.hpp"

#include "base/check.hpp"
#include "platform/os.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace sley::parts {

stack* stack_pool::take() noexcept {
  detail::lock_guard guard(lock_);
  if (free_ != nullptr) return pop_free();
  return with_cold_ != nullptr ? revive() : cut();
}

// Requires the lock, and that there is one.
stack* stack_pool::pop_free() noexcept {
  stack* s = free_;
  free_ = s->next;
  least_free_ = std::min(least_free_, --free_count_);
  return s;
}

// One page more than stack and guard: an odd number of pages, so that tops do not line up.
std::size_t stack_pool::spacing() const noexcept {
  return guard_bytes + default_bytes_ + platform::page_bytes();
}

stack* stack_pool::cut() noexcept {
  if (arena_left_ == 0 && !new_arena()) return nullptr;
  const std::size_t index = arena_stacks - arena_left_;
  char* start = arena_->start + index * spacing();
  if (!platform::install_guard(start, guard_bytes)) return nullptr;
  --arena_left_;
  ++made_;
  return set_up(start, spacing(), index % colours, 0, arena_);
}

bool stack_pool::new_arena() noexcept {
  const std::size_t bytes = arena_stacks * spacing();
  auto* start = static_cast<char*>(platform::map_memory(bytes, true));
  if (start == nullptr) return false;
  void* record = arenas_.allocate(sizeof(arena));
  if (record == nullptr) {
    platform::unmap_memory(start, bytes);
    return false;
  }
  arena_ = ::new (record) arena{start};
  arena_left_ = arena_stacks;
  reserved_ += bytes;
  return true;
}

// Above its guard.
stack* stack_pool::set_up(char* start, std::size_t bytes, std::size_t colour, std::size_t map_bytes,
                          arena* home) noexcept {
  char* header = start + bytes - colour * line - sizeof(stack);
  header -= reinterpret_cast<std::uintptr_t>(header) % line;
  char* low = start + guard_bytes;
  auto* s = ::new (header) stack{nullptr, low, header, map_bytes, home, {}};
  platform::create_fiber(s->fiber, low, s->usable_bytes());
  platform::register_root(low, s->usable_bytes());
  return s;
}

// A free stack's memory goes back, its header included.
void stack_pool::chill(stack* s) noexcept {
  arena* home = s->home;
  char* low = s->low;
  platform::destroy_fiber(s->fiber);
  platform::forget_root(low, s->usable_bytes());
  platform::discard_memory(low, spacing() - guard_bytes);
  const auto index = static_cast<std::size_t>(low - guard_bytes - home->start) / spacing();
  if (home->cold == 0) {
    home->next_cold = with_cold_;
    with_cold_ = home;
  }
  home->cold |= std::uint64_t{1} << index;
}

// A cold stack becomes one again; there is one.
stack* stack_pool::revive() noexcept {
  arena* home = with_cold_;
  const auto index = static_cast<std::size_t>(std::countr_zero(home->cold));
  home->cold &= home->cold - 1;
  if (home->cold == 0) with_cold_ = home->next_cold;
  return set_up(home->start + index * spacing(), spacing(), index % colours, 0, home);
}

// One at a time, so that nobody waits for long.
bool stack_pool::trim(std::size_t most) noexcept {
  std::size_t surplus;
  {
    detail::lock_guard guard(lock_);
    surplus = std::exchange(least_free_, free_count_);
  }
  const std::size_t count = std::min(surplus, most);
  for (std::size_t i = 0; i < count; ++i) {
    detail::lock_guard guard(lock_);
    if (free_ == nullptr) break;
    chill(pop_free());
  }
  detail::lock_guard guard(lock_);
  return free_ == nullptr;
}

stack* stack_pool::take_sized(std::size_t bytes) noexcept {
  SLEY_CHECK(bytes >= min_bytes && bytes <= max_bytes, "the size of a stack was checked before");
  const std::size_t page = platform::page_bytes();
  const std::size_t total = guard_bytes + (bytes + page - 1) / page * page + page;
  auto* start = static_cast<char*>(platform::map_memory(total, true));
  if (start == nullptr) return nullptr;
  if (!platform::install_guard(start, guard_bytes)) {
    platform::unmap_memory(start, total);
    return nullptr;
  }
  stack* s = set_up(start, total, 0, total, nullptr);
  detail::lock_guard guard(lock_);
  ++made_;
  reserved_ += total;
  return s;
}

void stack_pool::give(stack* s) noexcept {
  if (s->map_bytes == 0) {
    s->next = nullptr;
    give_list(s);
    return;
  }
  platform::destroy_fiber(s->fiber);
  platform::forget_root(s->low, s->usable_bytes());
  const std::size_t bytes = s->map_bytes;
  platform::unmap_memory(s->low - guard_bytes, bytes);
  detail::lock_guard guard(lock_);
  --made_;
  reserved_ -= bytes;
}

stack* stack_pool::take_batch(std::size_t count) noexcept {
  detail::lock_guard guard(lock_);
  stack* first = free_;
  stack* last = first;
  if (last == nullptr) return nullptr;
  std::size_t n = 1;
  for (; n < count && last->next != nullptr; ++n) last = last->next;
  free_ = last->next;
  free_count_ -= n;
  least_free_ = std::min(least_free_, free_count_);
  last->next = nullptr;
  return first;
}

void stack_pool::give_list(stack* first) noexcept {
  if (first == nullptr) return;
  stack* last = first;
  std::size_t n = 1;
  for (; last->next != nullptr; ++n) last = last->next;
  detail::lock_guard guard(lock_);
  last->next = free_;
  free_ = first;
  free_count_ += n;
}

bool stack_pool::has_free() const noexcept {
  detail::lock_guard guard(lock_);
  return free_ != nullptr || with_cold_ != nullptr;
}

std::uint64_t stack_pool::reserved_bytes() const noexcept {
  detail::lock_guard guard(lock_);
  return reserved_;
}

std::uint64_t stack_pool::made() const noexcept {
  detail::lock_guard guard(lock_);
  return made_;
}

}  // namespace sley::parts
