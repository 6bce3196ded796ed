// The claim on a goroutine that waits for the first of several things: in whatever order they come,
// exactly one side wakes it, and none before its context is saved. No thread looks at its frame
// after it has gone on. park, let_go and leave_queues come from src/sync/select.cpp, cut down to
// their shared state.
#include "sync/waiter.hpp"

#include "model/locks.hpp"

using namespace sley;
using sync::wake_claim;

namespace {

constexpr unsigned channels = 2;

// The objects on the stack of the goroutine.
struct frame {
  wake_claim claim;
  detail::plain<int> context;  // 1: saved; 2: resumed
  sync::chan_waiter waiters[channels];
  sync::chan_waiter* chosen = nullptr;
};

template <class Derived, unsigned Threads>
struct claim_suite : model::locking_suite<Derived, Threads> {
  detail::lock locks[channels];
  sync::waiter_queue queues[channels];
  detail::lock timers;  // of the heap
  detail::plain<bool> timer_is_armed;
  frame* f = nullptr;
  int wakes = 0;

  void before() { f = model::make<frame>(); }

  void queue_everywhere() {
    for (unsigned i = 0; i < channels; ++i) {
      f->waiters[i].claim = &f->claim;
      f->waiters[i].chosen = &f->chosen;
      queues[i].push(&f->waiters[i]);
    }
  }

  void lock_all() {
    for (detail::lock& l : locks) l.acquire();
  }
  void unlock_all() {
    for (detail::lock& l : locks) l.release();
  }

  // The rest of the goroutine, on the thread that woke it.
  void ready() {
    ++wakes;
    RL_ASSERT(f->context.get() == 1);
    f->context.set(2);
    for (unsigned i = 0; i < channels; ++i) {
      if (model::is_left_out("leave the queues")) break;
      if (&f->waiters[i] == f->chosen) continue;
      detail::lock_guard guard(locks[i]);
      queues[i].remove(&f->waiters[i]);
    }
    if (!model::is_left_out("disarm the timer")) {
      timers.acquire();
      timer_is_armed.set(false);
      timers.release();
    }
    model::destroy(f);
  }

  void send(unsigned channel) {
    locks[channel].acquire();
    const bool woke = queues[channel].claim_first() != nullptr;
    locks[channel].release();
    if (woke) ready();
  }

  void time_out() {
    timers.acquire();
    const bool wakes_it =
        timer_is_armed.get() && f->claim.claim_by_timer() == wake_claim::result::wake;
    timer_is_armed.set(false);
    timers.release();
    if (wakes_it) ready();
  }
};

// select without a deadline: two channels, whose wakers don't share a lock.
struct two_channels_wake_once : claim_suite<two_channels_wake_once, 3> {
  static constexpr const char* name = "two_channels_wake_once";
  static constexpr int bound = 3;

  void thread(unsigned index) {
    if (index == 0) {
      lock_all();
      f->claim.start_parked();
      queue_everywhere();
      f->context.set(1);
      unlock_all();
    } else {
      send(index - 1);
    }
  }

  void after() {
    RL_ASSERT(wakes <= 1);
    if (wakes == 1) return;
    // Both came before it: it waits for a third.
    send(0);
    RL_ASSERT(wakes == 1);
  }
};

// select with a deadline: the timer is armed before the channels are locked, so it may fire before
// the goroutine has parked.
struct timer_races_with_commit : claim_suite<timer_races_with_commit, 3> {
  static constexpr const char* name = "timer_races_with_commit";
  static constexpr int bound = 3;

  void thread(unsigned index) {
    if (index == 0) {
      f->claim.start_arriving();
      timers.acquire();
      timer_is_armed.set(true);
      timers.release();
      lock_all();
      queue_everywhere();
      let_go();
    } else if (index == 1) {
      send(0);
    } else {
      time_out();
    }
  }

  // After the switch: the context is saved. Once the locks are released the frame may be gone.
  void let_go() {
    f->context.set(1);
    const bool is_parked = f->claim.commit();
    unlock_all();
    if (!is_parked) ready();
  }

  void after() {
    RL_ASSERT(wakes <= 1);
    if (wakes == 1) return;
    // Both came before it: it waits for a third.
    send(1);
    RL_ASSERT(wakes == 1);
  }
};

// A condition variable's waiter is in line, and does not park after all. Its waker looks at it
// before it claims it, and then no more; so the frame may go.
struct a_waiter_leaves_the_line : model::locking_suite<a_waiter_leaves_the_line, 2> {
  static constexpr const char* name = "a_waiter_leaves_the_line";
  static constexpr int bound = 4;

  struct waiter {
    wake_claim claim;
    detail::plain<int> links;
  };
  detail::lock line;
  detail::plain<waiter*> first;  // [lock: line]
  waiter* w = nullptr;

  void before() {
    w = model::make<waiter>();
    w->claim.start_arriving();
    w->links.set(1);
    first.set(w);
  }

  void thread(unsigned index) {
    if (index == 0) {
      leave_line();
    } else {
      wake();
    }
  }

  void leave_line() {
    if (w->claim.claim_by_timer() != wake_claim::result::lost || !w->claim.is_chosen()) {
      line.acquire();
      first.set(nullptr);
      line.release();
    }
    w->links.set(0);  // the frame is used for something else
    model::destroy(w);
  }

  void wake() {
    line.acquire();
    if (waiter* chosen = first.get()) {
      RL_ASSERT(chosen->links.get() == 1);
      if (chosen->claim.claim_by_waker() != wake_claim::result::lost) first.set(nullptr);
    }
    line.release();
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("wake_claim",
                      {model::scenario_of<two_channels_wake_once>(),
                       model::scenario_of<timer_races_with_commit>(),
                       model::scenario_of<a_waiter_leaves_the_line>()},
                      {{"leave the queues"},
                       {"disarm the timer", timer_races_with_commit::name},
                       {"SL-2", timer_races_with_commit::name},
                       {"SL-2@commit", timer_races_with_commit::name},
                       {"SL-2@commit.release", timer_races_with_commit::name},
                       {"SL-2@claim_early", timer_races_with_commit::name},
                       {"SL-2@claim_early.acquire", timer_races_with_commit::name},
                       {"SL-2@is_chosen", a_waiter_leaves_the_line::name}})
      .run(argc, argv);
}
