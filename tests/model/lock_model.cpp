// The runtime's lock: there is one holder at a time, and it sees what the holder before it did. No
// thread sleeps beside a free lock. A holder may be the last to use it, and free it.
#include "model/locks.hpp"

using namespace sley;

namespace {

// LK-1. Three threads, so that a holder is followed by one that slept and by one that did not.
struct one_holder_at_a_time : model::locking_suite<one_holder_at_a_time, 3> {
  static constexpr const char* name = "one_holder_at_a_time";
  static constexpr int bound = 4;

  detail::lock lock;
  detail::plain<int> holders_so_far;

  void thread(unsigned) {
    detail::lock_guard guard(lock);
    holders_so_far.set(holders_so_far.get() + 1);
  }

  void after() { RL_ASSERT(holders_so_far.get() == 3); }
};

// LK-2. A wake-up that is lost leaves a thread asleep, which relacy reports as a deadlock.
struct release_races_with_sleep : model::locking_suite<release_races_with_sleep, 2> {
  static constexpr const char* name = "release_races_with_sleep";
  static constexpr int bound = 4;

  detail::lock lock;

  void thread(unsigned) {
    for (int i = 0; i < 2; ++i) detail::lock_guard guard(lock);
  }
};

// LK-3. More than one may sleep, and each release wakes one at most.
struct every_sleeper_is_woken : model::locking_suite<every_sleeper_is_woken, 3> {
  static constexpr const char* name = "every_sleeper_is_woken";
  static constexpr int bound = 3;

  detail::lock lock;

  void thread(unsigned index) {
    for (unsigned i = 0; i <= index; ++i) detail::lock_guard guard(lock);
  }
};

// LK-4. As where a wait group lives on the stack of the goroutine that waits for it.
struct the_last_holder_may_free_it : model::locking_suite<the_last_holder_may_free_it, 2> {
  static constexpr const char* name = "the_last_holder_may_free_it";
  static constexpr int bound = 4;

  struct shared {
    detail::lock lock;
    detail::plain<int> users{2};
  };
  shared* object = nullptr;

  void before() { object = model::make<shared>(); }

  void thread(unsigned) {
    object->lock.acquire();
    const int left = object->users.get() - 1;
    object->users.set(left);
    object->lock.release();
    if (left == 0) model::destroy(object);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("lock",
                      {model::scenario_of<one_holder_at_a_time>(),
                       model::scenario_of<release_races_with_sleep>(),
                       model::scenario_of<every_sleeper_is_woken>(),
                       model::scenario_of<the_last_holder_may_free_it>()},
                      {{"LK-1"},
                       {"LK-1@try_acquire"},
                       {"LK-1@acquire_slow"},
                       {"LK-1@begin_release"},
                       {"LK-2"},
                       {"LK-2@acquire_slow", release_races_with_sleep::name}})
      .run(argc, argv);
}
