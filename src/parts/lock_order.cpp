// Checks the order in which locks are taken, in builds with debug checks.
#include <sley/detail/lock.hpp>

#include "base/print.hpp"
#include "platform/current.hpp"
#include "platform/unseen.hpp"

#include <cstddef>
#include <cstdlib>
#include <iterator>

namespace sley::detail {

namespace {

// In the order of lock_rank.
constexpr const char* rank_names[] = {"none",    "boot",       "deadlines",   "border",
                                      "timers",  "descriptor", "descriptors", "channel",
                                      "waiters", "machines",   "scheduler",   "global_queue",
                                      "stacks",  "objects",    "memory",      "profiles"};
static_assert(std::size(rank_names) == static_cast<std::size_t>(lock_rank::profiles) + 1);

const char* name_of(lock_rank rank) noexcept { return rank_names[static_cast<std::size_t>(rank)]; }

bool may_follow(lock_rank next, lock_rank before) noexcept {
  if (next != before) return next > before;
  return next == lock_rank::channel || next == lock_rank::timers || next == lock_rank::border;
}

[[noreturn]] void end_process(lock_rank next, lock_rank before) noexcept {
  base::line_writer()
      .text("sley: a lock of rank ")
      .text(name_of(next))
      .text(" is taken under one of rank ")
      .text(name_of(before))
      .text("\n")
      .flush(2);
  std::abort();
}

}  // namespace

void note_taken(const lock& l, lock_rank rank) noexcept {
  if (rank == lock_rank::none) return;
  const platform::unseen unseen;
  platform::held_locks& held = platform::own_held_locks();
  for (std::size_t i = 0; i < held.count; ++i) {
    if (!may_follow(rank, held.ranks[i])) end_process(rank, held.ranks[i]);
  }
  if (held.count == platform::held_locks::most) return;
  held.locks[held.count] = &l;
  held.ranks[held.count++] = rank;
}

void note_released(const lock& l) noexcept {
  const platform::unseen unseen;
  platform::held_locks& held = platform::own_held_locks();
  for (std::size_t i = held.count; i-- > 0;) {
    if (held.locks[i] != &l) continue;
    held.locks[i] = held.locks[--held.count];
    held.ranks[i] = held.ranks[held.count];
    return;
  }
}

}  // namespace sley::detail
