#include "parts/stack_pool.hpp"

#include "base/check.hpp"
#include "platform/os.hpp"

#include <new>

namespace sley::parts {

stack* stack_pool::take() noexcept {
  detail::lock_guard guard(lock_);
  if (free_ == nullptr) return cut();
  stack* s = free_;
  free_ = s->next;
  return s;
}

// One page more than stack and guard: an odd number of pages, so that tops do not line up.
std::size_t stack_pool::spacing() const noexcept {
  return guard_bytes + default_bytes_ + platform::page_bytes();
}

stack* stack_pool::cut() noexcept {
  if (arena_left_ == 0 && !new_arena()) return nullptr;
  stack* s = set_up(arena_, spacing(), made_ % colours, 0);
  if (s == nullptr) return nullptr;
  arena_ += spacing();
  --arena_left_;
  ++made_;
  return s;
}

bool stack_pool::new_arena() noexcept {
  const std::size_t bytes = arena_stacks * spacing();
  auto* start = static_cast<char*>(platform::map_memory(bytes, true));
  if (start == nullptr) return false;
  arena_ = start;
  arena_left_ = arena_stacks;
  reserved_ += bytes;
  return true;
}

stack* stack_pool::set_up(char* start, std::size_t bytes, std::size_t colour,
                          std::size_t map_bytes) noexcept {
  if (!platform::install_guard(start, guard_bytes)) return nullptr;
  char* header = start + bytes - colour * line - sizeof(stack);
  header -= reinterpret_cast<std::uintptr_t>(header) % line;
  char* low = start + guard_bytes;
  auto* s = ::new (header) stack{nullptr, low, header, map_bytes, {}};
  platform::create_fiber(s->fiber, low, s->usable_bytes());
  platform::register_root(low, s->usable_bytes());
  return s;
}

stack* stack_pool::take_sized(std::size_t bytes) noexcept {
  SLEY_CHECK(bytes >= min_bytes && bytes <= max_bytes, "the size of a stack was checked before");
  const std::size_t page = platform::page_bytes();
  const std::size_t total = guard_bytes + (bytes + page - 1) / page * page + page;
  auto* start = static_cast<char*>(platform::map_memory(total, true));
  if (start == nullptr) return nullptr;
  stack* s = set_up(start, total, 0, total);
  if (s == nullptr) {
    platform::unmap_memory(start, total);
    return nullptr;
  }
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
  for (std::size_t n = 1; n < count && last->next != nullptr; ++n) last = last->next;
  free_ = last->next;
  last->next = nullptr;
  return first;
}

void stack_pool::give_list(stack* first) noexcept {
  if (first == nullptr) return;
  stack* last = first;
  while (last->next != nullptr) last = last->next;
  detail::lock_guard guard(lock_);
  last->next = free_;
  free_ = first;
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
