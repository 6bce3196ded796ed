// Waiting for timers: the poller sleeps until the earliest timer that it knows of, and a thread
// that arms an earlier one wakes it. The verbs come from src/runtime/source/poll.cpp. A note that
// is woken any number of times is the eventfd that ends a sleep in epoll: a wake stays until a
// sleep has seen it. A poller that sleeps although an earlier timer is armed is a deadlock here: no
// other thread will wake it.
#include "parts/role.hpp"
#include "parts/note.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

constexpr std::int64_t soon_ns = 10;
constexpr std::int64_t late_ns = 100;
constexpr std::int64_t never = INT64_MAX;

template <class Derived, unsigned Threads>
struct poll_suite : model::suite<Derived, Threads> {
  static constexpr bool has_barriers = true;

  detail::atomic<std::int64_t> first_ns[2];  // of two processors' heaps
  parts::role poller;
  detail::atomic<std::int64_t> poll_until_ns;
  parts::note breaker;
  detail::plain<int> sleeping;  // touched by the one poller

  void before() {
    first_ns[0].store_relaxed(late_ns);
    first_ns[1].store_relaxed(never);
  }

  std::int64_t earliest_timer() {
    return std::min(first_ns[0].load_relaxed(), first_ns[1].load_relaxed());
  }

  std::int64_t publish_sleep(std::int64_t until_ns) {
    poll_until_ns.store_relaxed(until_ns);
    detail::heavy_barrier("PL-1");
    return std::min(until_ns, earliest_timer());
  }

  // The real one sleeps until the earliest timer. Here a sleep that may be ended by the timer that
  // is soon has a deadline, and one that may not has none.
  void sleep_as_poller(std::int64_t until_ns, bool ends_by_itself) {
    sleeping.set(1);
    const std::int64_t deadline_ns = publish_sleep(until_ns);
    breaker.sleep(ends_by_itself || deadline_ns <= soon_ns ? deadline_ns : never);
    breaker.restart();
    poll_until_ns.store_relaxed(0);
    sleeping.set(0);
    poller.give_back();
  }

  // If no machine polls yet, the next poller will look at the timer.
  void timer_armed(std::int64_t when_ns) {
    detail::light_barrier("PL-1");
    const std::int64_t until = poll_until_ns.load_relaxed();
    if (until != 0 && when_ns < until) breaker.wake();
  }

  void arm(std::int64_t when_ns) {
    first_ns[1].store_relaxed(when_ns);
    timer_armed(when_ns);
  }
};

// PL-1.
struct arming_races_with_polling : poll_suite<arming_races_with_polling, 2> {
  static constexpr const char* name = "arming_races_with_polling";
  static constexpr int bound = 6;

  void thread(unsigned index) {
    if (index == 0) {
      arm(soon_ns);
    } else {
      const std::int64_t until = earliest_timer();
      RL_ASSERT(poller.try_take());
      sleep_as_poller(until, false);
    }
  }
};

// The wake that was meant for one sleep may come when that is over: it must not get lost if the
// next sleep needs it.
struct a_late_wake_is_not_lost : poll_suite<a_late_wake_is_not_lost, 2> {
  static constexpr const char* name = "a_late_wake_is_not_lost";
  static constexpr int bound = 6;

  void thread(unsigned index) {
    if (index == 0) {
      arm(soon_ns);
    } else {
      for (const bool ends_by_itself : {true, false}) {
        const std::int64_t until = earliest_timer();
        RL_ASSERT(poller.try_take());
        sleep_as_poller(until, ends_by_itself);
      }
    }
  }
};

// CL-1. The next poller begins after the one before has ended.
struct one_poller_at_a_time : poll_suite<one_poller_at_a_time, 2> {
  static constexpr const char* name = "one_poller_at_a_time";
  static constexpr int bound = 4;

  void thread(unsigned) {
    if (poller.try_take()) sleep_as_poller(earliest_timer(), true);
  }
};

// The poller dozes among the idle machines, where a wake must find it. Of the scheduler's lock,
// only what it hands over with a machine is here.
template <class Derived>
struct doze_suite : poll_suite<Derived, 2> {
  enum class doze_end { at_deadline, called, needed };

  detail::atomic<bool> is_dozing;
  detail::atomic<bool> is_listed;  // among the idle machines
  detail::atomic<bool> others_run{true};
  detail::plain<int> next_p;
  parts::note note;

  bool remove_idle_machine() {
    const model::one_step locked;
    bool listed = true;
    return is_listed.cas_acq_rel(listed, false, "LK-1");
  }

  bool wake_dozing_poller() {
    const bool is_taken = remove_idle_machine();
    if (is_taken) note.wake();
    return is_dozing.load_relaxed();
  }

  void timer_armed(std::int64_t when_ns) {
    detail::light_barrier("PL-1");
    const std::int64_t until = this->poll_until_ns.load_relaxed();
    if (until != 0 && when_ns < until && !wake_dozing_poller()) this->breaker.wake();
  }

  // Only a timer that is seen ends it.
  doze_end doze_once(std::int64_t until_ns) {
    next_p.set(0);
    {
      const model::one_step locked;
      is_dozing.store_relaxed(true);
      is_listed.store_release(true, "LK-1");
    }
    const std::int64_t deadline_ns = this->publish_sleep(until_ns);
    const bool is_short = !others_run.load_relaxed() || deadline_ns <= soon_ns;
    const bool was_woken = note.sleep(is_short ? soon_ns : never);
    const bool is_out = !was_woken && remove_idle_machine();
    is_dozing.store_relaxed(false);
    if (is_out) return doze_end::at_deadline;
    if (!was_woken) note.sleep();
    note.clear();
    return next_p.get() == 0 ? doze_end::called : doze_end::needed;
  }
};

// PL-1, for a poller that dozes.
struct arming_races_with_dozing : doze_suite<arming_races_with_dozing> {
  static constexpr const char* name = "arming_races_with_dozing";
  static constexpr int bound = 6;

  void thread(unsigned index) {
    if (index == 0) {
      first_ns[1].store_relaxed(soon_ns);
      timer_armed(soon_ns);
    } else {
      RL_ASSERT(poller.try_take());
      RL_ASSERT(doze_once(late_ns) != doze_end::needed);
    }
  }
};

// The last machine to go idle wakes a poller that dozes, or the poller does not begin to doze.
struct the_last_to_rest_races_with_dozing : doze_suite<the_last_to_rest_races_with_dozing> {
  static constexpr const char* name = "the_last_to_rest_races_with_dozing";
  static constexpr int bound = 6;

  void thread(unsigned index) {
    if (index == 0) {
      others_run.store_relaxed(false);
      detail::heavy_barrier("WG-1");  // of give_up_p
      wake_dozing_poller();
    } else {
      RL_ASSERT(poller.try_take());
      RL_ASSERT(doze_once(late_ns) != doze_end::needed);
    }
  }
};

// A processor that a dozing poller is given at the last moment is not lost.
struct work_comes_at_the_deadline : doze_suite<work_comes_at_the_deadline> {
  static constexpr const char* name = "work_comes_at_the_deadline";
  static constexpr int bound = 6;

  detail::atomic<bool> is_given;

  void thread(unsigned index) {
    if (index == 0) {
      if (!remove_idle_machine()) return;
      is_given.store_relaxed(true);
      next_p.set(1);
      note.wake();
    } else {
      RL_ASSERT(poller.try_take());
      const doze_end end = doze_once(soon_ns);
      RL_ASSERT(end == doze_end::needed || !is_given.load_relaxed());
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("poll",
                      {model::scenario_of<one_poller_at_a_time>(),
                       model::scenario_of<arming_races_with_polling>(),
                       model::scenario_of<a_late_wake_is_not_lost>(),
                       model::scenario_of<arming_races_with_dozing>(),
                       model::scenario_of<the_last_to_rest_races_with_dozing>(),
                       model::scenario_of<work_comes_at_the_deadline>()},
                      {{"PL-1", arming_races_with_polling::name},
                       {"PL-1@timer_armed", arming_races_with_polling::name},
                       {"PL-1@publish_sleep", arming_races_with_polling::name},
                       {"CL-1"},
                       {"CL-1@try_take"},
                       {"CL-1@give_back"}})
      .run(argc, argv);
}
