// mutex and condition variable: the files of src/sync themselves. The clock may go on at every look
// at it, so a waiter may be found to starve at any time, and the lock is handed over then.
#include "model/goroutines.hpp"

#include "sync/condition.cpp"
#include "sync/mutex.cpp"

#include <sley/condition_variable.hpp>

using namespace sley;

namespace {

template <class Derived, unsigned Threads>
struct mutex_suite : model::goroutine_suite<Derived, Threads> {
  static constexpr std::int64_t clock_step_ns = 0;
  static constexpr bool spins = false;

  mutex_suite() {
    platform::clock_step_ns = Derived::clock_step_ns;
    sync::spins_in_model = Derived::spins;
  }
};

constexpr std::int64_t starving_ns = 2'000'000;

// All count while they hold it.
template <class Derived, unsigned Threads>
struct counting_suite : mutex_suite<Derived, Threads> {
  mutex guard;
  detail::plain<int> inside;

  // Has been locked.
  void count() {
    inside.set(inside.get() + 1);
    guard.unlock();
  }
};

// MX-1, MX-2. All threads get the mutex, one at a time, and none is left behind.
struct one_holder_at_a_time : counting_suite<one_holder_at_a_time, 3> {
  static constexpr const char* name = "one_holder_at_a_time";

  void thread(unsigned) {
    guard.lock();
    count();
  }

  void after() { RL_ASSERT(inside.get() == 3 && guard.try_lock()); }
};

// The same where a waiter may have waited for too long: then the lock is handed to it, and to the
// waiters behind it, until one has waited for less.
struct a_starving_waiter_gets_it : counting_suite<a_starving_waiter_gets_it, 3> {
  static constexpr const char* name = "a_starving_waiter_gets_it";
  static constexpr std::int64_t clock_step_ns = starving_ns;

  void thread(unsigned index) {
    for (int i = index == 0 ? 2 : 1; i > 0; --i) {
      guard.lock();
      count();
    }
  }

  void after() { RL_ASSERT(inside.get() == 4 && guard.try_lock()); }
};

// A spinning thread says so. An unlock then wakes no waiter, because the spinner is on the way.
struct a_spinner_is_on_the_way : counting_suite<a_spinner_is_on_the_way, 3> {
  static constexpr const char* name = "a_spinner_is_on_the_way";
  static constexpr bool spins = true;

  void thread(unsigned) {
    guard.lock();
    count();
  }

  void after() { RL_ASSERT(inside.get() == 3 && guard.try_lock()); }
};

// The lock is not lost on a waiter whose time is up, whether it waits, is woken or is told.
struct one_gives_up : counting_suite<one_gives_up, 4> {
  static constexpr const char* name = "one_gives_up";
  static constexpr int bound = 1;

  void thread(unsigned index) {
    if (index == 0) {
      rt::fire_timer();
    } else if (index == 1) {
      const std::chrono::nanoseconds in_a_while{platform::kernel->now_ns + starving_ns};
      if (guard.try_lock_until(std::chrono::steady_clock::time_point(in_a_while))) count();
    } else {
      guard.lock();
      count();
    }
  }

  void after() { RL_ASSERT(inside.get() >= 2 && guard.try_lock()); }
};

// The holder that finds itself the last to need the mutex may destroy it.
struct the_last_holder_may_free_it : mutex_suite<the_last_holder_may_free_it, 2> {
  static constexpr const char* name = "the_last_holder_may_free_it";
  static constexpr int bound = 3;
  static constexpr std::int64_t clock_step_ns = starving_ns;

  struct object {
    mutex guard;
    int users = 2;
  };
  object* o = nullptr;

  void before() { o = model::make<object>(); }

  void thread(unsigned) {
    o->guard.lock();
    const bool is_last = --o->users == 0;
    o->guard.unlock();
    if (is_last) model::destroy(o);
  }
};

// A waiter is in line before it lets the mutex go, so no notification is lost.
struct a_notification_is_not_lost : mutex_suite<a_notification_is_not_lost, 2> {
  static constexpr const char* name = "a_notification_is_not_lost";
  static constexpr int bound = 3;

  mutex guard;
  condition_variable changed;
  detail::plain<bool> is_there;

  void thread(unsigned index) {
    std::unique_lock<mutex> lock(guard);
    if (index == 0) {
      while (!is_there.get()) changed.wait(lock);
    } else {
      is_there.set(true);
      lock.unlock();
      changed.notify_one();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "mutex",
             {model::scenario_of<one_holder_at_a_time>(),
              model::scenario_of<a_starving_waiter_gets_it>(),
              model::scenario_of<a_spinner_is_on_the_way>(), model::scenario_of<one_gives_up>(),
              model::scenario_of<the_last_holder_may_free_it>(),
              model::scenario_of<a_notification_is_not_lost>()},
             {{"MX-1"},
              {"MX-1@lock"},
              {"MX-1@take_if_free"},
              {"MX-1@take"},
              {"MX-1@let_go"},
              {"MX-1@unlock_slow"},
              {"MX-1@hand_on"}})
      .run(argc, argv);
}
