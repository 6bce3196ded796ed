// Changes the number of processors while goroutines run. For that the world is stopped: no machine
// uses a processor. From Go's procresize, stopTheWorld and sysmonUpdateGOMAXPROCS.
//
// Only sysmon stops the world. Machines that come by at their border or in their loop make their
// processor idle, and idle ones stay idle. For machines that compute or sleep in user code it is
// enough to close their border: they go on, and wait only if they enter the runtime. So no
// goroutine is interrupted, and stopping takes as long as the longest stay inside the runtime.
#include "runtime/watchdog/world.hpp"

#include <sley/runtime.hpp>

#include "base/check.hpp"
#include "platform/cpu_limit.hpp"
#include "platform/decisions.hpp"
#include "runtime/queue/batch.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/queue/stacks.hpp"
#include "runtime/run/netpoll.hpp"
#include "runtime/run/park.hpp"
#include "runtime/source/poll_sets.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/run_trace.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/preempt.hpp"
#include "runtime/watchdog/watchdog.hpp"

#include <algorithm>
#include <new>

namespace sley::rt {

namespace {

void let_go(shut_out_machine& s, std::uint32_t raised) noexcept {
  s.m->border.open(raised);
  s = {};
}

constexpr std::int64_t look_again_ns = 5'000;
constexpr std::int64_t signal_again_ns = 1'000'000;

// Shuts out the machine of p. True if p is not in use now and will not be before start_the_world().
bool hold(processor* p) noexcept {
  machine* m = p->m.read();  // checked again once its border is closed
  if (m == nullptr || watchdog.shut_out[p->id].m != nullptr) return false;
  const std::uint32_t call = m->border.call();
  // Without membarrier only machines in announced calls can be shut out; other machines get a
  // signal.
  if (detail::barriers_are_symmetric && call == 0) return false;
  const bool is_shut_out = call != 0 ? m->border.claim(call) : m->border.close();
  watchdog.shut_out[p->id] = {m, call};
  if (is_shut_out && m->p == p) return true;
  let_go(watchdog.shut_out[p->id], 0);
  return false;
}

void stop_the_world() noexcept {
  {
    detail::lock_guard guard(sched.lock);
    sched.gate.stop();
  }
  raise_stop();
  const std::uint32_t procs = sched.procs.read();
  std::uint32_t held_count = 0;
  std::int64_t signal_at_ns = 0;
  for (;;) {  // ends: each machine leaves the runtime or comes by its border
    for (std::uint32_t i = 0; i < procs; ++i) held_count += hold(&sched.processors[i]) ? 1 : 0;
    if (sched.gate.idle() + held_count == procs) return;
    platform::sleep_ns(look_again_ns);
    if (!detail::barriers_are_symmetric || platform::now_ns() < signal_at_ns) continue;
    signal_at_ns = platform::now_ns() + signal_again_ns;
    for (std::uint32_t i = 0; i < procs; ++i) {
      machine* m = sched.processors[i].m.read();
      if (m == nullptr || watchdog.shut_out[i].m != nullptr) continue;
      m->border.raise(parts::border::give);
      interrupt(m, true);
    }
  }
}

// Machines that keep their processor go on undisturbed.
void start_the_world() noexcept {
  parts::idle_debt debt = sched.gate.restart();
  for (shut_out_machine& s : watchdog.shut_out) {
    if (s.m == nullptr) continue;
    const bool has_lost = s.m->p == nullptr;
    if (has_lost && s.call == 0) watchdog.detached.add(s.m);
    let_go(s, has_lost ? std::uint32_t{parts::border::lost} : 0);
  }
  settle(std::move(debt));
}

void construct_processors(std::uint32_t count) noexcept {
  std::uint32_t made = sched.made_procs.read_relaxed();  // written by this thread only
  for (; made < count; ++made) {
    auto* p = ::new (sched.processors + made) processor;
    p->id = made;
    p->random = base::random(platform::seed() + made);
    start_meter(p);
    set_trace(p, sched.trace);
    open_batch(p);
  }
  sched.made_procs.publish(made);
}

void add_processor(std::uint32_t id) noexcept {
  open_timers(&sched.processors[id]);
  detail::lock_guard guard(sched.lock);
  push_idle(&sched.processors[id]);
  sched.gate.add_idle(1);
}

// Takes all goroutines of the processor, in their order.
goroutine_list take_queue(processor* p) noexcept {
  goroutine_list all;
  if (goroutine* g = p->next.take()) all.push_back(g);
  while (goroutine* g = p->queue.pop()) all.push_back(g);
  return all;
}

void remove_processor(std::uint32_t id) noexcept {
  processor* p = &sched.processors[id];
  if (machine* m = watchdog.shut_out[id].m) {
    release_p(m);
  } else {
    detail::lock_guard guard(sched.lock);
    processor** link = &sched.idle_processors;
    while (*link != p) link = &(*link)->next_idle;
    *link = p->next_idle;
    sched.gate.remove_idle(1);
  }
  sched.queue.prepend(take_queue(p));
  if (has_batch(p)) ready_all(make_batch(p));
  close_timers(p);
  flush_stacks(p);
  detail::lock_guard guard(sched.lock);
  sched.dead.push(std::move(p->dead));
}

void set_procs(std::uint32_t procs) noexcept {
  const std::uint32_t before = sched.procs.read();
  sched.queue.share();
  construct_processors(procs);
  // Backwards, so that the goroutines of the last processor end up behind all others, and the first
  // new processor is the first of the idle ones.
  for (std::uint32_t id = before; id-- > procs;) remove_processor(id);
  for (std::uint32_t id = procs; id-- > before;) add_processor(id);
  sched.order.reset(procs);
  sched.gate.set_procs(procs);
  sched.procs.publish(procs);
}

void resize(std::uint32_t procs) noexcept {
  if (procs == sched.procs.read()) return;
  stop_the_world();
  settle(sched.gate.keep_in_reserve(0));
  set_procs(procs);
  open_poll_sets();
  start_the_world();
}

world_request* first_request = nullptr;  // [lock: sched.lock] oldest first

void post(goroutine* g, void* arg) noexcept {
  auto* r = static_cast<world_request*>(arg);
  r->g = g;
  {
    detail::lock_guard guard(sched.lock);
    world_request** link = &first_request;
    while (*link != nullptr) link = &(*link)->next;
    *link = r;
  }
  wake_sysmon();
}

world_request* take_request() noexcept {
  detail::lock_guard guard(sched.lock);
  world_request* r = first_request;
  if (r != nullptr) first_request = r->next;
  return r;
}

// The affinity of the template thread, because sysmon's own is changed by cpu_spread.cpp.
std::uint32_t automatic_procs() noexcept {
  return platform::automatic_procs(sched.threads.template_id.load_relaxed());
}

}  // namespace

resize_request::resize_request(int n) noexcept
    : world_request{&resize_request::resize_world}, wanted(n) {}

void resize_request::resize_world(world_request* request) noexcept {
  auto* r = static_cast<resize_request*>(request);
  r->before = static_cast<int>(sched.procs.read());
  watchdog.follows_limits = r->wanted <= 0;
  const auto most = static_cast<int>(max_processors);
  resize(watchdog.follows_limits ? automatic_procs()
                                 : static_cast<std::uint32_t>(std::min(r->wanted, most)));
}

void make_processors(const procs_setting& setting) noexcept {
  void* place = allocate_permanently(max_processors * sizeof(processor));
  SLEY_CHECK(place != nullptr, "there is address space for the processors");
  sched.processors = static_cast<processor*>(place);
  set_procs(setting.procs);
  watchdog.follows_limits = !setting.is_given;
}

void ask_sysmon(world_request& request, wait reason) noexcept {
  park(reason, nullptr, &post, &request);
}

void serve_world_requests() noexcept {
  while (world_request* r = take_request()) {
    r->serve(r);
    ready_from_outside(r->g);
  }
}

bool is_world_request_pending() noexcept {
  detail::lock_guard guard(sched.lock);
  return first_request != nullptr;
}

void with_world_stopped(void (*f)(void*), void* arg) noexcept {
  stop_the_world();
  f(arg);
  start_the_world();
}

void follow_automatic_procs() noexcept {
  if (watchdog.follows_limits) resize(automatic_procs());
}

}  // namespace sley::rt
