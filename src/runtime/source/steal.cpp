// Steals work from the queues of other processors. From Go's stealWork and runqgrab.
#include "runtime/source/steal.hpp"

#include "platform/decisions.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

namespace {

constexpr int rounds = 4;
// A goroutine in a next slot usually runs at once. A thief waits this long before it takes it, so
// that pairs of goroutines that wake each other are not torn apart.
constexpr std::int64_t next_slot_grace_ns = 20'000;

goroutine* steal_next(processor* victim) noexcept {
  if (victim->next.is_empty() || !victim->queue.is_empty()) return nullptr;
  platform::sleep_ns(next_slot_grace_ns);
  return victim->next.steal();
}

goroutine* steal_from(processor* p, processor* victim, bool last_round, bool& ran_timers) noexcept {
  if (last_round && run_due_timers(victim)) {
    ran_timers = true;
    // The goroutines that became runnable are in the thief's own queue, which must be empty to
    // steal.
    if (goroutine* g = p->next.take()) return g;
    if (goroutine* g = p->queue.pop()) return g;
  }
  std::uint32_t stolen = 0;
  goroutine* g = p->queue.steal_half_from(victim->queue, stolen);
  if (g == nullptr && last_round) {
    g = steal_next(victim);
    stolen = g != nullptr ? 1 : 0;
  }
  if (g != nullptr) count(p->figures.steals, stolen);
  return g;
}

}  // namespace

goroutine* steal_work(machine* m, bool& ran_timers) noexcept {
  processor* p = m->p;
  for (int round = 1; round <= rounds; ++round) {
    auto walk = sched.order.start(platform::draw(p->random));
    for (; !walk.is_done(); walk.next()) {
      if (sched.gate.is_halted()) return nullptr;
      processor* victim = &sched.processors[walk.position()];
      if (victim == p) continue;
      if (goroutine* g = steal_from(p, victim, round == rounds, ran_timers)) return g;
    }
  }
  return nullptr;
}

}  // namespace sley::rt
