// Semaphore, call_once, futures, wait_group, latch and barrier: the files of src/sync themselves.
// All that is handed over is seen, and no thread sleeps for ever, which relacy would report as a
// deadlock.
#include "model/goroutines.hpp"

#include "sync/latch.cpp"
#include "sync/once.cpp"
#include "sync/one_shot.cpp"
#include "sync/semaphore.cpp"
#include "sync/wait_group.cpp"

using namespace sley;

namespace {

// SE-1, SE-2. One unit and three threads that want it, so that some get it from the count and some
// in line.
struct a_semaphore_of_one_excludes : model::goroutine_suite<a_semaphore_of_one_excludes, 3> {
  static constexpr const char* name = "a_semaphore_of_one_excludes";
  static constexpr int bound = 2;

  detail::semaphore_core semaphore{1, 1};
  detail::plain<int> inside;

  void thread(unsigned) {
    semaphore.acquire();
    inside.set(inside.get() + 1);
    semaphore.release(1, 1);
  }

  void after() {
    RL_ASSERT(inside.get() == 3);
    RL_ASSERT(semaphore.try_acquire());
    RL_ASSERT(!semaphore.try_acquire());
  }
};

// Two wait, or are about to, when two units come at once.
struct a_release_of_two_serves_two : model::goroutine_suite<a_release_of_two_serves_two, 3> {
  static constexpr const char* name = "a_release_of_two_serves_two";
  static constexpr int bound = 2;

  detail::semaphore_core semaphore{0, 2};
  detail::plain<int> value;

  void thread(unsigned index) {
    if (index == 0) {
      value.set(1);
      semaphore.release(2, 2);
    } else {
      semaphore.acquire();
      RL_ASSERT(value.get() == 1);
    }
  }

  void after() { RL_ASSERT(!semaphore.try_acquire()); }
};

// SE-1. A thread that only looks sees what was done before the unit was given back.
struct a_unit_is_seen_given_back : model::goroutine_suite<a_unit_is_seen_given_back, 2> {
  static constexpr const char* name = "a_unit_is_seen_given_back";

  detail::semaphore_core semaphore{0, 1};
  detail::plain<int> value;

  void thread(unsigned index) {
    if (index == 0) {
      value.set(1);
      semaphore.release(1, 1);
    } else if (semaphore.is_given_back()) {
      RL_ASSERT(value.get() == 1);
    }
  }
};

// ON-1. All threads see what the call did, whichever thread made it.
struct a_call_is_made_once_and_seen : model::goroutine_suite<a_call_is_made_once_and_seen, 3> {
  static constexpr const char* name = "a_call_is_made_once_and_seen";
  static constexpr int bound = 2;

  once_flag flag;
  detail::plain<int> calls;

  void thread(unsigned) {
    call_once(flag, [this] { calls.set(calls.get() + 1); });
    RL_ASSERT(calls.get() == 1);
  }
};

// FU-1. A thread that looks sees the result, and so does one that waits.
struct a_result_is_handed_over : model::goroutine_suite<a_result_is_handed_over, 3> {
  static constexpr const char* name = "a_result_is_handed_over";
  static constexpr int bound = 3;

  detail::one_shot done;
  detail::plain<int> result;

  void thread(unsigned index) {
    if (index == 0) {
      result.set(1);
      done.set();
    } else if (index == 1) {
      done.wait();
      RL_ASSERT(result.get() == 1);
    } else if (done.is_set()) {
      RL_ASSERT(result.get() == 1);
    }
  }
};

// FU-2. Two would bring it; one may fail after it has touched it.
struct one_brings_the_result : model::goroutine_suite<one_brings_the_result, 2> {
  static constexpr const char* name = "one_brings_the_result";
  static constexpr int bound = 4;

  detail::one_shot done;
  detail::plain<int> result;

  void thread(unsigned index) {
    if (!done.claim()) return;
    result.set(result.get() + 1);
    if (index == 0) {
      done.unclaim();
    } else {
      done.set();
    }
  }
};

// WT-1. Two threads have done something before. The waiter may park, or go by the count.
struct a_group_is_waited_for : model::goroutine_suite<a_group_is_waited_for, 3> {
  static constexpr const char* name = "a_group_is_waited_for";
  static constexpr int bound = 2;

  wait_group group;
  detail::plain<int> results[2];

  void before() { group.add(2); }

  void thread(unsigned index) {
    if (index < 2) {
      results[index].set(1);
      group.done();
    }
    if (index == 0) return;
    group.wait();
    RL_ASSERT(results[0].get() == 1 && results[1].get() == 1);
  }
};

// One more is counted while the last of the earlier ones wakes the waiter.
struct a_group_counts_on_while_it_wakes
    : model::goroutine_suite<a_group_counts_on_while_it_wakes, 3> {
  static constexpr const char* name = "a_group_counts_on_while_it_wakes";
  static constexpr int bound = 3;

  wait_group group;

  void before() { group.add(1); }

  void thread(unsigned index) {
    if (index == 0) {
      group.done();
    } else if (index == 1) {
      group.wait();
    } else {
      group.add(1);
      RL_ASSERT(!group.is_done());
      group.done();
    }
  }

  void after() { RL_ASSERT(group.is_done()); }
};

// The waiter may destroy the group as soon as wait() returns.
struct a_group_goes_after_its_wait : model::goroutine_suite<a_group_goes_after_its_wait, 2> {
  static constexpr const char* name = "a_group_goes_after_its_wait";
  static constexpr int bound = 4;

  wait_group* group = nullptr;

  void before() {
    group = model::make<wait_group>();
    group->add(1);
  }

  void thread(unsigned index) {
    if (index == 0) {
      group->done();
    } else {
      group->wait();
      model::destroy(group);
    }
  }
};

// Two phases: no thread is in the second before all have ended the first.
struct a_barrier_has_phases : model::goroutine_suite<a_barrier_has_phases, 2> {
  static constexpr const char* name = "a_barrier_has_phases";
  static constexpr int bound = 2;

  barrier<> phases{2};
  detail::plain<int> done[2];

  void thread(unsigned index) {
    done[index].set(1);
    phases.arrive_and_wait();
    RL_ASSERT(done[1 - index].get() == 1);
    phases.arrive_and_wait();
    done[index].set(2);
  }
};

struct a_latch_opens_for_all : model::goroutine_suite<a_latch_opens_for_all, 3> {
  static constexpr const char* name = "a_latch_opens_for_all";
  static constexpr int bound = 2;

  latch start{2};
  detail::plain<int> result;

  void thread(unsigned index) {
    if (index == 0) result.set(1);
    if (index == 1) {
      start.wait();
    } else {
      start.arrive_and_wait();
    }
    RL_ASSERT(result.get() == 1);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("sync",
                      {model::scenario_of<a_semaphore_of_one_excludes>(),
                       model::scenario_of<a_release_of_two_serves_two>(),
                       model::scenario_of<a_unit_is_seen_given_back>(),
                       model::scenario_of<a_call_is_made_once_and_seen>(),
                       model::scenario_of<a_result_is_handed_over>(),
                       model::scenario_of<one_brings_the_result>(),
                       model::scenario_of<a_group_is_waited_for>(),
                       model::scenario_of<a_group_counts_on_while_it_wakes>(),
                       model::scenario_of<a_group_goes_after_its_wait>(),
                       model::scenario_of<a_barrier_has_phases>(),
                       model::scenario_of<a_latch_opens_for_all>()},
                      {{"SE-1"},
                       {"SE-1@try_give"},
                       {"SE-1@add", a_release_of_two_serves_two::name},
                       {"SE-1@try_take"},
                       {"SE-1@has_any", a_unit_is_seen_given_back::name},
                       {"ON-1", a_call_is_made_once_and_seen::name},
                       {"ON-1@is_done", a_call_is_made_once_and_seen::name},
                       {"ON-1@end", a_call_is_made_once_and_seen::name},
                       {"FU-1", a_result_is_handed_over::name},
                       {"FU-1@is_set", a_result_is_handed_over::name},
                       {"FU-1@set", a_result_is_handed_over::name},
                       {"FU-2", one_brings_the_result::name},
                       {"FU-2@claim", one_brings_the_result::name},
                       {"FU-2@unclaim", one_brings_the_result::name},
                       {"WT-1", a_group_is_waited_for::name},
                       {"WT-1@add", a_group_is_waited_for::name},
                       {"WT-1@add.release", a_group_is_waited_for::name},
                       {"WT-1@is_done", a_group_is_waited_for::name}})
      .run(argc, argv);
}
