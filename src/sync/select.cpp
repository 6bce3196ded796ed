// select: the first of several channel operations. From Go's selectgo.
//
// Three passes: look, in random order, for a case that is ready; if there is none, wait in every
// channel's queue; and once woken leave the queues of the others. Locks are taken in the order of
// the channels' addresses, each channel's once.
#include <sley/select.hpp>

#include "platform/decisions.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/park.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/timer.hpp"
#include "runtime/state/waited.hpp"
#include "sync/chan_core.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <stdexcept>

namespace sley {

namespace sync {

namespace {

using detail::case_kind;
using detail::select_case;

// Wakes the goroutine when none of the channels did in time.
struct select_timer : rt::timer {
  wake_claim* claim = nullptr;
  rt::goroutine* g = nullptr;
};

rt::goroutine* time_out(rt::timer* t, std::int64_t) noexcept {
  auto* self = static_cast<select_timer*>(t);
  rt::goroutine* g = self->g;
  return self->claim->claim_by_timer() == wake_claim::result::wake ? g : nullptr;
}

struct outcome {
  std::size_t index = detail::select_would_block;
  bool closed = false;  // the chosen case's channel is closed (and drained, for a receive)
  bool no_memory = false;
};

class selection {
 public:
  selection(select_case* cases, std::size_t count, void* scratch) noexcept
      : cases_(cases),
        case_count_(count),
        waiters_(static_cast<chan_waiter*>(scratch)),
        lock_order_(reinterpret_cast<std::uint16_t*>(waiters_ + count)),
        poll_order_(lock_order_ + count) {
    static_assert(sizeof(chan_waiter) + 2 * sizeof(std::uint16_t) <=
                  detail::select_scratch_bytes(1));
    for (std::size_t i = 0; i < count; ++i) {
      if (cases[i].channel != nullptr) lock_order_[count_++] = static_cast<std::uint16_t>(i);
    }
  }

  void order(base::random& random) noexcept {
    const platform::unseen unseen;
    for (std::size_t i = 0; i < count_; ++i) {  // inside-out shuffle
      const std::size_t j = platform::draw_below(random, static_cast<std::uint32_t>(i + 1));
      poll_order_[i] = poll_order_[j];
      poll_order_[j] = lock_order_[i];
    }
    sort_by_address();
    if (__builtin_expect(has_channel_twice(), 0)) {
      std::copy_n(poll_order_, count_, lock_order_);
      sort_by_address();
    }
  }

  void order_as_given() noexcept {
    std::copy_n(lock_order_, count_, poll_order_);
    sort_by_address();
  }

  // Never parks.
  outcome try_now() noexcept {
    lock_all();
    const found f = look();
    unlock_all();
    return finish(f);
  }

  // Parks until a case is chosen.
  outcome wait(rt::machine* m) noexcept {
    lock_all();
    const found f = look();
    if (f.is_ready()) {
      unlock_all();
      return finish(f);
    }
    wake_claim claim;
    claim.start_parked();
    return park_in_all(m, &claim, false);
  }

  // The same, or until the time is up. The timer is armed before the channels are locked, because
  // timers take channel locks with their heap's lock held.
  outcome wait_until(rt::machine* m, std::int64_t deadline_ns) noexcept {
    const outcome now = try_now();
    if (now.index != detail::select_would_block) return now;
    wake_claim claim;
    claim.start_arriving();
    select_timer timer;
    timer.fire = &time_out;
    timer.claim = &claim;
    timer.g = m->g;
    if (!rt::add_timer(&timer, deadline_ns)) return {.no_memory = true};
    lock_all();
    const found f = look();
    outcome o;
    if (f.is_ready()) {
      unlock_all();
      o = finish(f);
    } else {
      o = park_in_all(m, &claim, true);
    }
    rt::remove_timer(&timer);  // after this it does not look at our frame any more
    return o;
  }

 private:
  static constexpr std::size_t few = 8;

  // Cases of one channel wait in its queue in the order in which they stand here. They get there in
  // random order only if the shuffled cases are sorted, and these take longer to sort than the
  // cases as given, whose order a CPU learns to predict.
  bool has_channel_twice() const noexcept {
    for (std::size_t i = 1; i < count_; ++i) {
      if (cases_[lock_order_[i]].channel == cases_[lock_order_[i - 1]].channel) return true;
    }
    return false;
  }

  void sort_by_address() noexcept {
    const auto before = [this](std::uint16_t a, std::uint16_t b) {
      return std::less<>()(cases_[a].channel, cases_[b].channel);
    };
    if (count_ > few) {
      std::sort(lock_order_, lock_order_ + count_, before);
      return;
    }
    for (std::size_t i = 1; i < count_; ++i) {  // by insertion
      const std::uint16_t moving = lock_order_[i];
      std::size_t to = i;
      for (; to > 0 && before(moving, lock_order_[to - 1]); --to) {
        lock_order_[to] = lock_order_[to - 1];
      }
      lock_order_[to] = moving;
    }
  }

  struct found {
    std::size_t index = detail::select_would_block;
    attempt what{chan_status::would_block};
    bool is_ready() const noexcept { return index != detail::select_would_block; }
  };

  // What the side that runs after the switch needs to let the channels go.
  struct parking {
    selection* cases;
    wake_claim* claim;
    bool timed;
  };

  static waiter_queue& queue_of(const select_case& c) noexcept {
    return c.kind == case_kind::send ? c.channel->senders : c.channel->receivers;
  }

  void lock_all() noexcept {
    chan_core* before = nullptr;
    for (std::size_t i = 0; i < count_; ++i) {
      chan_core* c = cases_[lock_order_[i]].channel;
      if (c != before) c->guard.acquire();
      before = c;
    }
  }

  // Once the last lock is released, the goroutine may be running again, and this frame gone.
  void unlock_all() noexcept {
    for (std::size_t i = count_; i-- > 0;) {
      chan_core* c = cases_[lock_order_[i]].channel;
      if (i == 0 || c != cases_[lock_order_[i - 1]].channel) c->guard.release();
    }
  }

  // Requires the locks: does the first of the cases, in random order, that can go on.
  found look() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      select_case& c = cases_[poll_order_[i]];
      const attempt a = c.kind == case_kind::send ? send_locked(c.channel, c.element)
                                                  : receive_locked(c.channel, c.element);
      if (a.status != chan_status::would_block) return {poll_order_[i], a};
    }
    return {};
  }

  // The locks are released.
  outcome finish(const found& f) noexcept {
    if (!f.is_ready()) return {.index = f.index};
    if (f.what.wake != nullptr) rt::ready(f.what.wake->g);
    const bool closed = f.what.status == chan_status::closed;
    cases_[f.index].received = !closed;
    return {.index = f.index, .closed = closed};
  }

  // Requires the locks, which it lets go. Parks until a case is chosen or the timer fires.
  outcome park_in_all(rt::machine* m, wake_claim* claim, bool timed) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      select_case& c = cases_[lock_order_[i]];
      auto* w = ::new (waiters_ + i) chan_waiter;
      w->g = m->g;
      w->element = c.element;
      w->claim = claim;
      w->chosen = &chosen_;
      queue_of(c).push(w);  // CH-1: look() found no peer
    }
    const rt::selected waits_for{cases_, case_count_};
    parking p{this, claim, timed};
    platform::passes_order(claim);
    for (std::size_t i = 0; i < count_; ++i) {
      platform::passes_order(&cases_[lock_order_[i]].channel->guard);
    }
    rt::park(count_ == 0 ? rt::wait::select_no_cases : rt::wait::select,
             rt::waited::select(&waits_for, timed), &let_go, &p);
    platform::takes_order(claim);
    return leave_queues();
  }

  static void let_go(rt::goroutine* g, void* arg) noexcept {
    const parking p = *static_cast<parking*>(arg);
    // Without a lock held, the goroutine may be running again once it is committed, and its frame
    // gone.
    const bool has_locks = p.cases->count_ != 0;
    const bool is_parked = !p.timed || p.claim->commit();
    if (has_locks) p.cases->unlock_all();
    if (!is_parked)
      rt::ready(g);  // the timer was faster: no other waker wakes g, so it is still there
  }

  // The channel that woke us has taken its waiter out. The others are left one by one: a waker that
  // finds a waiter of ours meanwhile cannot claim it.
  outcome leave_queues() noexcept {
    outcome o{.index = detail::select_timed_out};
    for (std::size_t i = 0; i < count_; ++i) {
      select_case& c = cases_[lock_order_[i]];
      if (&waiters_[i] == chosen_) {
        c.received = waiters_[i].success;
        o = {.index = lock_order_[i], .closed = !waiters_[i].success};
      } else {
        detail::lock_guard guard(c.channel->guard);
        queue_of(c).remove(&waiters_[i]);
      }
    }
    return o;
  }

  select_case* cases_;
  std::size_t case_count_;
  chan_waiter* waiters_;
  std::uint16_t* lock_order_;  // the cases on channels that are not nil, by the channels' addresses
  std::uint16_t* poll_order_;  // the same, shuffled
  std::size_t count_ = 0;
  chan_waiter* chosen_ = nullptr;  // set by the channel that woke us
};

}  // namespace

}  // namespace sync

bool detail::would_block(const select_case& c) noexcept {
  if (c.channel == nullptr) return true;
  return c.kind == case_kind::send ? sync::would_block_send(c.channel)
                                   : sync::would_block_receive(c.channel);
}

std::size_t detail::select(select_case* cases, std::size_t count, std::int64_t deadline_ns,
                           void* scratch) {
  if (deadline_ns == 0 && std::all_of(cases, cases + count, &would_block)) {
    return select_would_block;  // no lock was needed
  }
  sync::selection all(cases, count, scratch);
  rt::machine* m = rt::enter();
  all.order(m->random);
  const sync::outcome o = deadline_ns == 0             ? all.try_now()
                          : deadline_ns == no_deadline ? all.wait(m)
                                                       : all.wait_until(m, deadline_ns);
  rt::leave();
  if (o.no_memory) throw std::bad_alloc();
  if (o.closed && cases[o.index].kind == case_kind::send) {
    throw channel_closed("sley: send on closed channel in select");
  }
  return o.index;
}

std::size_t detail::select_in_order(select_case* cases, std::size_t count, void* scratch) noexcept {
  sync::selection all(cases, count, scratch);
  rt::machine* m = rt::enter();
  all.order_as_given();
  const sync::outcome o = all.wait(m);
  rt::leave();
  return o.index;
}

namespace {

template <class T>
T* aligned_scratch(std::vector<std::byte>& bytes, std::size_t size) {
  if (bytes.size() < size) bytes.resize(size);
  return reinterpret_cast<T*>(bytes.data());
}

}  // namespace

std::size_t select_set::add(std::unique_ptr<entry> e) {
  if (entries_.size() >= UINT16_MAX) throw std::length_error("sley::select_set: too many cases");
  entries_.push_back(std::move(e));
  return entries_.size() - 1;
}

std::size_t detail::choose_below(std::size_t bound) noexcept {
  if (bound == 1) return 0;
  rt::machine* m = rt::enter();
  const platform::unseen unseen;
  const std::size_t chosen = platform::draw_below(m->random, static_cast<std::uint32_t>(bound));
  rt::leave(m);
  return chosen;
}

// Returns the deadline of the shortest time-outs.
std::int64_t select_set::prepare_all(bool may_park) {
  cases_.clear();
  index_of_.clear();
  timeouts_.clear();
  std::int64_t shortest_ns = detail::no_deadline;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    detail::select_case erased;
    std::int64_t delay_ns = detail::no_deadline;
    if (entries_[i]->prepare(erased, delay_ns)) {
      cases_.push_back(erased);
      index_of_.push_back(i);
    } else if (delay_ns <= shortest_ns) {
      if (delay_ns < shortest_ns) timeouts_.clear();
      shortest_ns = delay_ns;
      timeouts_.push_back(i);
    }
  }
  if (!may_park) return 0;
  return timeouts_.empty() ? detail::no_deadline : detail::deadline_after(shortest_ns);
}

std::optional<std::size_t> select_set::choose_one(std::int64_t deadline_ns, bool& received) {
  void* scratch = aligned_scratch<void>(scratch_, detail::select_scratch_bytes(cases_.size()));
  const std::size_t chosen = detail::select(cases_.data(), cases_.size(), deadline_ns, scratch);
  if (chosen == detail::select_would_block) return std::nullopt;
  const bool timed_out = chosen == detail::select_timed_out;
  received = !timed_out && cases_[chosen].received;
  return timed_out ? timeouts_[detail::choose_below(timeouts_.size())] : index_of_[chosen];
}

std::optional<std::size_t> select_set::choose(bool may_park) {
  std::optional<std::size_t> index;
  bool received = false;
  {
    struct ending {
      select_set& set;
      ~ending() {
        if (!set.has_alarms_) return;
        for (const auto& e : set.entries_) e->end();
      }
    } const guard{*this};
    const std::int64_t deadline_ns = prepare_all(may_park);
    do {  // ends: each false alarm is one of an event
      index = choose_one(deadline_ns, received);
    } while (has_alarms_ && index && !entries_[*index]->confirm());
  }
  if (index) entries_[*index]->run(received);
  return index;
}

}  // namespace sley
