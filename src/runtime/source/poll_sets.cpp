
#include "runtime/source/poll_sets.hpp"

#include "base/peek.hpp"
#include "platform/cpu.hpp"
#include "platform/os.hpp"
#include "runtime/source/descriptor.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstddef>
#include <utility>

namespace sley::rt {

namespace {

constexpr std::uint64_t round_interval_ns = 20'000;
constexpr std::uint32_t rounds_between_seeing = 16;  // rounds that look for neglected sets
constexpr std::int64_t longest_unpolled_ns = 10'000'000;
constexpr std::int64_t longest_unpolled_in_reserve_ns = 1'000'000;  // machines are held back

// One thread polls a set at a time, because others would only wait for the kernel's lock.
goroutine_list look_at(std::uint32_t number) noexcept {
  poll_set& set = sched.poll_sets[number];
  if (set.watched.load_relaxed() == 0 || !set.looking.try_take()) return {};
  set.looks.store_relaxed(set.looks.load_relaxed() + 1);
  platform::poll_event events[128];
  const std::size_t count = platform::take_events(number, events);
  goroutine_list woken = deliver({events, count});
  set.looking.give_back();
  return woken;
}

// Does a machine hold one of the set's processors?
bool is_attended(std::uint32_t set) noexcept {
  const std::uint32_t procs = sched.procs.read();
  const std::uint32_t sets = sched.poll_set_count.read();
  for (std::uint32_t i = set; i < procs; i += sets) {
    if (sched.processors[i].m.read() != nullptr) return true;
  }
  return false;
}

[[gnu::noinline]] goroutine_list look_at_those_of_others(processor* p) noexcept {
  const std::uint32_t sets = sched.poll_set_count.read();
  const std::uint32_t own = poll_set_of(p);
  const bool sees_to_neglected = ++p->rounds.count % rounds_between_seeing == 0;
  goroutine_list woken;
  for (std::uint32_t set = 0; set < sets; ++set) {
    if (set == own) continue;
    const bool is_neglected = sees_to_neglected && p->rounds.looks.is_neglected(set);
    if (is_neglected || !is_attended(set)) woken.append(look_at(set));
  }
  return woken;
}

bool is_round_due(processor* p) noexcept {
  const std::uint64_t cycles = platform::cycle_counter();
  if (cycles - p->rounds.last_cycles < platform::counter_ticks(round_interval_ns)) return false;
  p->rounds.last_cycles = cycles;
  return true;
}

}  // namespace

bool look_counts::is_neglected(std::uint32_t number) noexcept {
  const poll_set& set = sched.poll_sets[number];
  const std::uint32_t looks = set.looks.load_relaxed();
  return std::exchange(seen_[number], looks) == looks && set.watched.load_relaxed() != 0;
}

std::uint32_t poll_set_of(const processor* p) noexcept {
  return p->id % sched.poll_set_count.read();
}

int add_to_set(std::uint32_t set, int fd, std::uint64_t tag) noexcept {
  sched.poll_sets[set].watched.add_relaxed(1);  // before the first event can come
  const int error = platform::watch(set, fd, tag);
  if (error != 0) sched.poll_sets[set].watched.sub_relaxed(1);
  return error;
}

void remove_from_set(std::uint32_t set, int fd) noexcept {
  platform::unwatch(set, fd);
  sched.poll_sets[set].watched.sub_relaxed(1);
}

int open_poll_sets() noexcept {
  const std::uint32_t procs = sched.procs.read_relaxed();  // written by this thread
  std::uint32_t open = sched.poll_set_count.read_relaxed();
  int error = 0;
  while (open < procs && error == 0) {
    error = platform::open_poll_set();
    if (error == 0) ++open;
  }
  sched.poll_set_count.publish(open);
  return open == 0 ? error : 0;
}

goroutine_list look_at_all_sets() noexcept {
  goroutine_list woken;
  const std::uint32_t sets = sched.poll_set_count.read();
  for (std::uint32_t set = 0; set < sets; ++set) woken.append(look_at(set));
  return woken;
}

goroutine_list look_at_sets(machine* m) noexcept {
  processor* p = m->p;
  if (m->place != nullptr) p->cpu.store_relaxed(static_cast<std::int32_t>(base::peek(*m->place)));
  goroutine_list woken = look_at(poll_set_of(p));
  if (sched.poll_set_count.read() > 1 && is_round_due(p)) woken.append(look_at_those_of_others(p));
  return woken;
}

goroutine_list late_sets::look(std::int64_t now_ns) noexcept {
  const std::int64_t longest_ns =
      sched.gate.reserve() != 0 ? longest_unpolled_in_reserve_ns : longest_unpolled_ns;
  const std::uint32_t sets = sched.poll_set_count.read();
  goroutine_list woken;
  for (std::uint32_t set = 0; set < sets; ++set) {
    if (!counts_.is_neglected(set)) {
      seen_at_ns_[set] = now_ns;
    } else if (now_ns - seen_at_ns_[set] >= longest_ns) {
      woken.append(look_at(set));
    }
  }
  return woken;
}

bool are_any_neglected(look_counts& counts) noexcept {
  bool are_any = false;
  const std::uint32_t sets = sched.poll_set_count.read();
  for (std::uint32_t set = 0; set < sets; ++set) are_any = counts.is_neglected(set) || are_any;
  return are_any;
}

}  // namespace sley::rt
