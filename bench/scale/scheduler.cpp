#include "scheduler.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

// Of src/parts.
void sley::base::check_failed(const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  std::abort();
}

namespace sley::detail {

constinit static_table<atomic<std::uint32_t>, sleeper_places> lock_sleepers{};

}  // namespace sley::detail

namespace scale {

namespace {

constexpr std::uint32_t fairness_tick = 61;
constexpr int most_walks = 4;
constexpr double next_slot_grace_ns = 20'000;
constexpr std::size_t most_poll_sets = 16;
constexpr std::size_t most_at_once = 128;
constexpr std::size_t dead_cache = 64;
constexpr std::uint32_t id_batch = 16;

}  // namespace

scheduler::scheduler(int processors, const work& w) : work_(w) {
  const auto count = static_cast<std::size_t>(processors);
  processors_.resize(count);
  poll_sets_.resize(std::min(count, most_poll_sets));
  gate_.set_procs(static_cast<std::uint32_t>(processors));
}

goroutine* scheduler::make(std::function<turn_end(scheduler&, goroutine&)> turn) {
  goroutine& g = all_.emplace_back();
  g.turn = std::move(turn);
  return &g;
}

result scheduler::run(const costs& c) {
  const result r =
      scale::run(static_cast<int>(processors_.size()), c, [this](int cpu) { machine(cpu); });
  if (ended_ != all_.size()) {
    std::fprintf(stderr, "scale: %zu goroutines of %zu have ended\n", ended_, all_.size());
    std::exit(1);
  }
  return r;
}

void scheduler::touch(goroutine* g) {
  access(&g->record, kind::load);
  access(&g->record, kind::store);
  access(&g->stack, kind::load);
  access(&g->stack, kind::store);
}

bool is_loner(const goroutine* g) noexcept {
  access(&g->record, kind::load);
  return false;
}

// ---- a machine ----

void scheduler::machine(int cpu) {
  if (cpu == 0) start(&all_.front());
  for (;;) {
    goroutine* g = find_runnable();
    if (std::exchange(here().is_searching, false) && gate_.found_work()) wake_if_needed();
    run_turn(g);
  }
}

void scheduler::run_turn(goroutine* g) {
  touch(g);
  compute(work_.turn);
  ++here().tick;
  switch (g->turn(*this, *g)) {
    case turn_end::yields:
      if (is_alone()) return run_turn(g);
      if (procs() == 1) {
        queue_.push_back_held(g);
      } else if (stays_on_yield()) {
        run_after_those_here(g);
      } else {
        queue_.push_back(g);
      }
      wake_if_needed();
      return;
    case turn_end::parks: return;
    case turn_end::ends:
      ++ended_;
      give_record(g);
      return;
  }
}

goroutine* scheduler::find_runnable() {
  for (;;) {
    processor& p = here();
    if (p.timers.first_ns.load_relaxed() <= now_ns()) {
      if (goroutine* g = take_due(p.timers, work_.timer)) return g;
    }
    if (goroutine* g = p.next.take()) return g;
    if (p.tick % fairness_tick == 0 && !queue_.is_empty()) {
      if (goroutine* g = queue_.pop(procs())) return g;
    }
    if (goroutine* g = procs() == 1 ? p.queue.pop_unshared() : p.queue.pop()) return g;
    if (goroutine* g = take_global()) return g;
    if (goroutine* g = poll_now()) return g;
    if (goroutine* g = search()) return g;
    go_idle();
  }
}

// Would a goroutine that yields be the next to run?
bool scheduler::is_alone() {
  const processor& p = here();
  return p.next.is_empty() && p.queue.is_empty() && queue_.is_empty();
}

bool scheduler::stays_on_yield() {
  if (here().tick % fairness_tick == 0) return false;
  return queue_.size() < processors_.size() || admit_share();
}

bool scheduler::admit_share() {
  const processor& p = here();
  const std::size_t share = queue_.size() / processors_.size() + 1;
  if (p.queue.size() + share > most_at_once) return false;
  goroutine* batch[most_at_once];
  const std::size_t n = queue_.take_share(procs(), batch);
  queue_batch({batch, n});
  return true;
}

std::uint32_t scheduler::procs() const { return static_cast<std::uint32_t>(processors_.size()); }

void scheduler::queue_batch(std::span<goroutine* const> batch) {
  auto next = batch.begin();
  here().queue.push_all([&] { return next == batch.end() ? nullptr : *next++; });
}

goroutine* scheduler::take_global() {
  if (queue_.is_empty()) return nullptr;
  goroutine* batch[most_at_once];
  const std::size_t n = queue_.take_share(procs(), batch);
  if (n == 0) return nullptr;
  queue_batch({batch + 1, n - 1});
  return batch[0];
}

// The goroutines that are due become runnable; returns the first.
goroutine* scheduler::take_due(due_set& set, double cost_each) {
  goroutine* first = nullptr;
  std::vector<goroutine*> woken;
  {
    sley::detail::lock_guard guard(set.lock);
    while (!set.all.empty() && set.all.top().first <= now_ns() && woken.size() < 128) {
      compute(cost_each);
      access(&set.all.top().second->record, kind::load);
      woken.push_back(set.all.top().second);
      set.all.pop();
    }
    set.first_ns.store_relaxed(set.all.empty() ? never : set.all.top().first);
  }
  for (goroutine* g : woken) {
    if (first == nullptr) {
      first = g;
    } else {
      run_after_those_here(g);
    }
  }
  if (woken.size() > 1) wake_if_needed();
  return first;
}

goroutine* scheduler::poll_now() {
  if (std::exchange(here().was_poller, false)) {
    for (due_set& set : poll_sets_) {
      if (set.first_ns.load_relaxed() > now_ns()) continue;
      if (goroutine* g = take_due(set, work_.event)) return g;
    }
  }
  due_set& set = set_of(this_cpu());
  if (set.first_ns.load_relaxed() == never) return nullptr;
  compute(work_.look);
  return set.first_ns.load_relaxed() <= now_ns() ? take_due(set, work_.event) : nullptr;
}

goroutine* scheduler::search() {
  processor& p = here();
  if (!p.is_searching) {
    if (!gate_.start_searching()) return nullptr;
    p.is_searching = true;
  }
  for (int walk = 1; walk <= most_walks; ++walk) {
    const std::size_t from = random_() % processors_.size();
    for (std::size_t i = 0; i < processors_.size(); ++i) {
      processor& victim = processors_[(from + i) % processors_.size()];
      if (&victim == &p) continue;
      if (goroutine* g = steal_from(victim, walk == most_walks)) return g;
    }
  }
  return nullptr;
}

goroutine* scheduler::steal_from(processor& victim, bool is_last_walk) {
  if (is_last_walk && victim.timers.first_ns.load_relaxed() <= now_ns()) {
    if (goroutine* g = take_due(victim.timers, work_.timer)) return g;
  }
  std::uint32_t stolen = 0;
  if (goroutine* g = here().queue.steal_half_from(victim.queue, stolen)) return g;
  if (!is_last_walk || victim.next.is_empty() || !victim.queue.is_empty()) return nullptr;
  compute(next_slot_grace_ns);
  return victim.next.steal();
}

// ---- idle ----

void scheduler::go_idle() {
  const int cpu = this_cpu();
  lock_.acquire();
  idle_.push_back(cpu);
  sley::parts::idle_debt debt = gate_.go_idle(std::exchange(here().is_searching, false));
  lock_.release();
  if (std::move(debt).begin_to_pay() && is_work_anywhere() && take_idle_p(cpu)) {
    gate_.search_anyway();
    here().is_searching = true;
    return;
  }
  sleep_until_needed(cpu);
}

bool scheduler::is_work_anywhere() {
  if (!queue_.is_empty()) return true;
  for (processor& p : processors_) {
    if (!p.queue.is_empty() || !p.next.is_empty()) return true;
  }
  return false;
}

// False if another thread has given the processor to this CPU, which is woken then.
bool scheduler::take_idle_p(int cpu) {
  sley::detail::lock_guard guard(lock_);
  const auto at = std::find(idle_.begin(), idle_.end(), cpu);
  if (at == idle_.end() || !gate_.leave_idle()) return false;
  idle_.erase(at);
  return true;
}

void scheduler::sleep_until_needed(int cpu) {
  for (;;) {
    int none = -1;
    const bool is_poller = poller_.cas_acq_rel(none, cpu, "");
    if (is_poller) poller_until_ = earliest();
    sley::detail::atomic<std::uint32_t>& called = here().is_called;
    if (called.load_relaxed() == 0) sleep_on(&called, is_poller ? poller_until_ : never);
    if (is_poller) poller_.store_release(-1, "");
    if (called.exchange_acquire(0, "") != 0) return;
    if (take_idle_p(cpu)) {
      gate_.search_anyway();
      here().is_searching = true;
      here().was_poller = is_poller;
      return;
    }
  }
}

double scheduler::earliest() {
  double first = never;
  for (processor& p : processors_) first = std::min(first, p.timers.first_ns.load_relaxed());
  for (due_set& set : poll_sets_) first = std::min(first, set.first_ns.load_relaxed());
  return first;
}

void scheduler::wake_if_needed() {
  if (!gate_.wake_needed()) return;
  while (gate_.claim_search()) {
    int cpu = -1;
    lock_.acquire();
    if (!idle_.empty() && gate_.leave_idle()) {
      cpu = idle_.back();
      idle_.pop_back();
    }
    lock_.release();
    if (cpu >= 0) {
      processor& p = processors_[static_cast<std::size_t>(cpu)];
      p.is_searching = true;
      p.is_called.store_release(1, "");
      wake_on(&p.is_called, 1);
      return;
    }
    if (!gate_.claim_failed()) return;
  }
}

// ---- goroutines ----

void scheduler::start(goroutine* g) {
  take_record();
  compute(work_.start);
  access(&g->record, kind::store);
  run_next(g);
  wake_if_needed();
}

void scheduler::ready(goroutine* g) {
  access(&g->record, kind::store);
  run_next(g);
  wake_if_needed();
}

void scheduler::run_next(goroutine* g) {
  if (goroutine* displaced = here().next.put(g)) run_after_those_here(displaced);
}

void scheduler::run_after_those_here(goroutine* g) {
  processor& p = here();
  while (!p.queue.push(g)) {
    goroutine* older[decltype(p.queue)::half];
    const std::uint32_t n = p.queue.take_half(older);
    if (n == 0) continue;
    list batch;
    for (std::uint32_t i = 0; i < n; ++i) {
      access(&older[i]->record, kind::store);  // its link
      batch.push_back(older[i]);
    }
    batch.push_back(g);
    queue_.append(std::move(batch));
    return;
  }
}

void scheduler::arm(due_set& set, goroutine* g, double when_ns) {
  {
    sley::detail::lock_guard guard(set.lock);
    compute(work_.timer);
    set.all.emplace(when_ns, g);
    set.first_ns.store_relaxed(set.all.top().first);
  }
  const int poller = poller_.load_relaxed();
  if (poller < 0) {
    wake_if_needed();
  } else if (when_ns < poller_until_) {
    poller_until_ = when_ns;
    sleep_no_longer_than(poller, when_ns);
  }
}

void scheduler::ready_at(goroutine* g, double when_ns) { arm(here().timers, g, when_ns); }

void scheduler::ready_by_event_at(goroutine* g, double when_ns) {
  arm(set_of(this_cpu()), g, when_ns);
}

// Records go from hand to hand within a processor, and by half a cache between processors. The
// goroutines of the model are never used again, so only the memory traffic is repeated here.
void scheduler::take_record() {
  processor& p = here();
  if (p.tick % id_batch == 0) next_id_.add_relaxed(id_batch);
  if (!p.dead.is_empty()) {
    access(&p.dead.pop_front()->record, kind::load);
    return;
  }
  sley::detail::lock_guard guard(lock_);
  while (p.dead.size() < dead_cache / 2 && !dead_.is_empty()) {
    access(&dead_.front()->record, kind::store);
    p.dead.push_back(dead_.pop_front());
  }
}

void scheduler::give_record(goroutine* g) {
  processor& p = here();
  p.dead.push_front(g);
  if (p.dead.size() <= dead_cache) return;
  sley::detail::lock_guard guard(lock_);
  while (p.dead.size() > dead_cache / 2) {
    access(&p.dead.front()->record, kind::store);
    dead_.push_front(p.dead.pop_front());
  }
}

}  // namespace scale
