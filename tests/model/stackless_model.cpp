// Goroutines that wait for a stack, because there is no memory for another one, and stacks that
// come free. The verbs come from src/runtime/queue/stacks.cpp and wake.cpp. In the end there is a
// stack for each waiting goroutine, so one that still waits has been overlooked.
#include "model/locks.hpp"

using namespace sley;

namespace {

template <class Derived>
struct stack_suite : model::locking_suite<Derived, 2> {
  detail::lock pool_lock;
  detail::plain<int> free_stacks;  // [lock: pool_lock]

  detail::lock sched_lock;
  detail::plain<bool> is_idle;   // [lock: sched_lock] a processor
  detail::plain<int> cached;     // by that processor; used by its holder
  detail::plain<int> stackless;  // [lock: sched_lock]
  detail::atomic<int> stackless_count;

  void give(int stacks) {
    const detail::lock_guard guard(pool_lock);
    free_stacks.set(free_stacks.get() + stacks);
  }

  bool has_free() {
    const detail::lock_guard guard(pool_lock);
    return free_stacks.get() != 0;
  }

  void flush_stacks() {
    give(cached.get());
    cached.set(0);
  }

  void collect_idle_stacks() {
    const detail::lock_guard guard(sched_lock);
    if (is_idle.get()) flush_stacks();
  }

  void serve_stackless() {
    if (!has_free()) return;
    const detail::lock_guard guard(sched_lock);
    if (stackless.get() == 0) return;
    stackless.set(stackless.get() - 1);
    stackless_count.sub_relaxed(1);
  }

  void wait_for_stack() {
    {
      const detail::lock_guard guard(sched_lock);
      stackless.set(stackless.get() + 1);
      stackless_count.add_relaxed(1);
    }
    if (model::is_left_out("SK-1 look once more")) return;
    collect_idle_stacks();
    serve_stackless();
  }

  void give_stack() {
    give(1);
    if (model::is_left_out("SK-1 look for a waiter")) return;
    if (stackless_count.load_relaxed() != 0) serve_stackless();
  }

  // False: it is not kept.
  bool keep_stack() {
    if (stackless_count.load_relaxed() != 0) return false;
    cached.set(cached.get() + 1);
    return true;
  }

  void go_idle() {
    {
      const detail::lock_guard guard(sched_lock);
      is_idle.set(true);
    }
    if (model::is_left_out("SK-1 look when going idle")) return;
    if (stackless_count.load_relaxed() == 0) return;
    collect_idle_stacks();
    serve_stackless();
  }

  void after() { RL_ASSERT(stackless.get() == 0); }
};

// SK-1. A thread gives a stack to the pool, where all find it.
struct giving_races_with_waiting : stack_suite<giving_races_with_waiting> {
  static constexpr const char* name = "giving_races_with_waiting";
  static constexpr int bound = 4;

  void thread(unsigned index) {
    if (index == 0) {
      wait_for_stack();
    } else {
      give_stack();
    }
  }
};

// SK-1. A machine keeps a stack for its processor, and then goes idle.
struct keeping_races_with_waiting : stack_suite<keeping_races_with_waiting> {
  static constexpr const char* name = "keeping_races_with_waiting";
  static constexpr int bound = 4;

  void thread(unsigned index) {
    if (index == 0) {
      wait_for_stack();
    } else {
      if (!keep_stack()) give(1);
      go_idle();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "stackless",
             {model::scenario_of<giving_races_with_waiting>(),
              model::scenario_of<keeping_races_with_waiting>()},
             {{"SK-1 look once more"}, {"SK-1 look for a waiter"}, {"SK-1 look when going idle"}})
      .run(argc, argv);
}
