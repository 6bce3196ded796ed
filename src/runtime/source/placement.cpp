// A descriptor is polled by the machines of one processor, and its reader goes on there. So the set
// in which it is watched decides where the reader runs. Each time a reader has waited for a number
// of events, its set is chosen again. (Without this and cpu_spread.cpp an exchange of 64
// connections, tcp_echo, takes 1.5 times as long at two processors, and that of one connection 3.4
// times.)
#include "runtime/source/placement.hpp"

#include "platform/decisions.hpp"
#include "platform/poller.hpp"
#include "platform/unseen.hpp"
#include "runtime/source/descriptor.hpp"
#include "runtime/source/poll_sets.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

namespace {

// The set is chosen at each 16th wait on average. The number is random, because both ends of a
// connection may choose: at the same time, each would go where the other has just left.
constexpr std::uint32_t most_waits_between_choices = 32;

// The processor in use whose machine was on this CPU at its last look for events; else null.
const processor* processor_on(int cpu) noexcept {
  if (cpu < 0) return nullptr;
  const std::uint32_t procs = sched.procs.read();
  for (std::uint32_t i = 0; i < procs; ++i) {
    const processor& p = sched.processors[i];
    if (p.cpu.load_relaxed() == cpu && p.m.read() != nullptr) return &p;
  }
  return nullptr;
}

// If the new set refuses it, the descriptor stays where it is. A change meanwhile is an event of
// both sets; a superfluous event does no harm.
void move_to_set(watched* w, std::uint32_t set) noexcept {
  if (add_to_set(set, w->fd, tag_of(w)) != 0) return;
  remove_from_set(w->set, w->fd);
  w->set = set;
}

}  // namespace

// A reader goes on where its events are found. If it has mostly waited away from its set of late,
// because machines with less work took it, choose its present place. Else choose the CPU where the
// packets come in, because its caches have their contents, and often the other end runs there.
[[gnu::noinline]] void choose_poll_set(watched* w, processor* p) noexcept {
  const platform::unseen unseen;
  const bool is_mostly_away = w->waits_away > w->waits / 3;
  w->waits = 0;
  w->waits_away = 0;
  w->waits_to_choice =
      static_cast<std::uint8_t>(1 + platform::draw_below(p->random, most_waits_between_choices));
  const processor* to = is_mostly_away ? p : processor_on(platform::incoming_cpu(w->fd));
  const std::uint32_t wanted = to != nullptr ? poll_set_of(to) : w->set;
  const std::uint32_t set = platform::watched_in(wanted, sched.poll_set_count.read());
  if (set != w->set) move_to_set(w, set);
}

}  // namespace sley::rt
