#include "parts/stack_pool.hpp"

#include "base/check.hpp"
#include "platform/os.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace sley::parts {

stack* stack_pool::take() noexcept {
  place p;
  {
    detail::lock_guard guard(lock_);
    if (free_ != nullptr) return pop_free();
    p = take_place();
  }
  return p.home == nullptr ? nullptr : make_stack(p);
}

// Requires the lock and a free stack.
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

// Requires the lock. Prefers a place that was a stack before, then another that has its guard.
stack_pool::place stack_pool::take_place() noexcept {
  const bool is_used = cold_stacks_ != 0;
  if (with_cold_ == nullptr && !new_arena()) return {};
  arena** link = &with_cold_;
  while (is_used && ((*link)->cold & (*link)->used) == 0) link = &(*link)->next_cold;
  arena* home = *link;
  const std::uint64_t ready = home->cold & (is_used ? home->used : home->early);
  const std::uint64_t not_asked = home->cold & ~home->asked;
  const std::uint64_t candidates = ready != 0 ? ready : not_asked != 0 ? not_asked : home->cold;
  const std::uint64_t bit = candidates & -candidates;
  home->cold -= bit;
  home->used |= bit;  // before another thread can see the place
  const std::uint64_t early = ready != 0 ? 0 : ask_early(home);
  home->asked |= early;
  if (home->cold == 0) *link = home->next_cold;
  if (is_used) {
    --cold_stacks_;
  } else {
    ++made_;
  }
  // The kind of guard matters only where a single mapping is given back.
  const auto kind = (home->bare & bit) != 0 ? platform::guard::none : platform::guard::advised;
  const auto index = static_cast<std::size_t>(std::countr_zero(bit));
  return {home, index, is_used, ready != 0, kind, early};
}

// Requires the lock. The places whose guards the next system call installs early: as many as there
// are stacks, so that a small process does not pay for guards that it does not need. They stay
// free. A thread that takes one before the call has returned installs the guard once more, which
// does no harm. What the kernel refuses is not asked for again.
std::uint64_t stack_pool::ask_early(arena* home) const noexcept {
  std::uint64_t early = 0;
  std::uint64_t left = home->cold & ~home->asked;
  for (std::uint64_t n = made_; n != 0 && left != 0; --n) {
    early |= left & -left;
    left &= left - 1;
  }
  return early;
}

// Requires the lock.
void stack_pool::give_place(const place& p) noexcept {
  if (p.home->cold == 0) {
    p.home->next_cold = with_cold_;
    with_cold_ = p.home;
  }
  const std::uint64_t bit = std::uint64_t{1} << p.index;
  p.home->cold |= bit;
  if (p.is_used) {
    ++cold_stacks_;
  } else {
    p.home->used &= ~bit;
    --made_;
  }
}

// False: the process has never had a guard.
bool stack_pool::protect(char* start, std::size_t bytes, platform::guard& kind) noexcept {
  kind = platform::install_guard(start, bytes);
  if (kind == platform::guard::none) return has_guards_.load_relaxed();
  if (!has_guards_.load_relaxed()) has_guards_.store_relaxed(true);
  return true;
}

// Installs the guard of the place, and the early ones with it. False: the place has none yet.
bool stack_pool::protect_with_early(const place& p) noexcept {
  if (p.early == 0) return false;
  const std::uint64_t bit = std::uint64_t{1} << p.index;
  const std::uint64_t done =
      platform::install_guards(p.home->start, spacing(), guard_bytes, bit | p.early);
  if (done == 0) return false;
  has_guards_.store_relaxed(true);
  detail::lock_guard guard(lock_);
  p.home->early |= p.early & done;
  return (done & bit) != 0;
}

// Without the lock, so that other threads may touch new stacks meanwhile; that takes longest.
stack* stack_pool::make_stack(place p) noexcept {
  char* start = p.home->start + p.index * spacing();
  if (p.is_ready || protect_with_early(p)) return set_up(start, guard_bytes, spacing(), p);
  if (!protect(start, guard_bytes, p.guard)) {
    detail::lock_guard guard(lock_);
    give_place(p);
    return nullptr;
  }
  if (p.guard == platform::guard::none) {
    detail::lock_guard guard(lock_);
    p.home->bare |= std::uint64_t{1} << p.index;
  }
  return set_up(start, guard_bytes, spacing(), p);
}

// Requires the lock.
bool stack_pool::new_arena() noexcept {
  static_assert(arena_stacks == 64, "a bit for each");
  const std::size_t bytes = arena_bytes();
  auto* start = static_cast<char*>(platform::map_memory(bytes, true));
  if (start == nullptr) return false;
  void* record = arenas_.allocate(sizeof(arena));
  if (record == nullptr) {
    platform::unmap_memory(start, bytes);
    return false;
  }
  with_cold_ = ::new (record) arena{.start = start, .cold = ~std::uint64_t{0}};
  made_arenas_.add(with_cold_);
  reserved_ += bytes;
  return true;
}

// The stack is above a guard of `below` bytes. Without an arena the mapping is the stack's alone.
stack* stack_pool::set_up(char* start, std::size_t below, std::size_t bytes,
                          const place& p) noexcept {
  char* header = start + bytes - p.index % colours * line - sizeof(stack);
  header -= reinterpret_cast<std::uintptr_t>(header) % line;
  char* low = start + below;
  const std::size_t map_bytes = p.home == nullptr ? bytes : 0;
  auto* s = ::new (header) stack{nullptr, low, header, map_bytes, p.home, p.guard, {}};
  platform::create_stack(s->fiber, low, s->usable_bytes());
  platform::register_root(low, s->usable_bytes());
  return s;
}

// A free stack's memory goes back, its header included. Requires the lock.
void stack_pool::chill(stack* s) noexcept {
  arena* home = s->home;
  char* low = s->low;
  platform::destroy_stack(s->fiber);
  platform::forget_root(low, s->usable_bytes());
  platform::discard_memory(low, spacing() - guard_bytes);
  const auto index = static_cast<std::size_t>(low - guard_bytes - home->start) / spacing();
  give_place({.home = home, .index = index, .is_used = true});
}

bool stack_pool::trim(std::size_t most) noexcept {
  std::size_t surplus;
  {
    detail::lock_guard guard(lock_);
    surplus = std::exchange(least_free_, free_count_);
  }
  give_back(std::min(surplus, most));
  detail::lock_guard guard(lock_);
  return free_ == nullptr;
}

// Takes the lock for each stack, so that no thread waits for it long.
void stack_pool::give_back(std::size_t count) noexcept {
  for (; count > 0; --count) {
    detail::lock_guard guard(lock_);
    if (free_ == nullptr) return;
    chill(pop_free());
  }
}

stack* stack_pool::take_sized(std::size_t bytes) noexcept {
  SLEY_CHECK(bytes >= min_bytes && bytes <= max_bytes, "the size of a stack was checked before");
  const std::size_t page = platform::page_bytes();
  const std::size_t below = guard_for(bytes);
  const std::size_t total = below + (bytes + page - 1) / page * page + page;
  auto* start = static_cast<char*>(platform::map_memory(total, true));
  if (start == nullptr) return nullptr;
  place alone;
  if (!protect(start, below, alone.guard)) {
    platform::unmap_memory(start, total);
    return nullptr;
  }
  stack* s = set_up(start, below, total, alone);
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
  platform::destroy_stack(s->fiber);
  platform::reset_stack_memory(s->low, s->usable_bytes());  // another mapping may come here
  platform::forget_root(s->low, s->usable_bytes());
  const std::size_t bytes = s->map_bytes;
  platform::forget_guard(s->guard);
  platform::unmap_memory(s->low - guard_of(*s), bytes);
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
  return free_ != nullptr || cold_stacks_ != 0;
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
