// Semaphore, call_once and futures, the code of src/sync itself on lists of waiters cut down to
// what is shared (stand_ins): what is handed over is seen, and nobody sleeps for ever, which relacy
// reports as a deadlock.
#include "model/locks.hpp"

#include "sync/once.cpp"
#include "sync/one_shot.cpp"
#include "sync/semaphore.cpp"

using namespace sley;

namespace {

// SE-1, SE-2. One unit and three who want it, so that some get it from the count and some in line.
struct a_semaphore_of_one_excludes : model::locking_suite<a_semaphore_of_one_excludes, 3> {
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
struct a_release_of_two_serves_two : model::locking_suite<a_release_of_two_serves_two, 3> {
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

// ON-1. All see what the call did, whoever made it.
struct a_call_is_made_once_and_seen : model::locking_suite<a_call_is_made_once_and_seen, 3> {
  static constexpr const char* name = "a_call_is_made_once_and_seen";
  static constexpr int bound = 2;

  once_flag flag;
  detail::plain<int> calls;

  void thread(unsigned) {
    call_once(flag, [this] { calls.set(calls.get() + 1); });
    RL_ASSERT(calls.get() == 1);
  }
};

// FU-1. Who looks and who waits see the result.
struct a_result_is_handed_over : model::locking_suite<a_result_is_handed_over, 3> {
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
struct one_brings_the_result : model::locking_suite<one_brings_the_result, 2> {
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

}  // namespace

int main(int argc, char** argv) {
  return model::model("sync",
                      {model::scenario_of<a_semaphore_of_one_excludes>(),
                       model::scenario_of<a_release_of_two_serves_two>(),
                       model::scenario_of<a_call_is_made_once_and_seen>(),
                       model::scenario_of<a_result_is_handed_over>(),
                       model::scenario_of<one_brings_the_result>()},
                      {{"SE-1"},
                       {"SE-1@release"},
                       {"SE-1@release_slow", a_release_of_two_serves_two::name},
                       {"SE-1@try_acquire"},
                       {"ON-1", a_call_is_made_once_and_seen::name},
                       {"ON-1@is_done", a_call_is_made_once_and_seen::name},
                       {"ON-1@end", a_call_is_made_once_and_seen::name},
                       {"FU-1", a_result_is_handed_over::name},
                       {"FU-1@is_set", a_result_is_handed_over::name},
                       {"FU-1@set", a_result_is_handed_over::name},
                       {"FU-2", one_brings_the_result::name},
                       {"FU-2@claim", one_brings_the_result::name},
                       {"FU-2@unclaim", one_brings_the_result::name}})
      .run(argc, argv);
}
