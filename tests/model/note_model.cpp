// A note: all that was done before the wake is seen after the sleep, whichever comes first. A wake
// is not lost to a deadline.
#include "parts/note.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

// Two notes, so that each thread sleeps once.
struct a_wake_hands_over_the_wakers_writes : model::suite<a_wake_hands_over_the_wakers_writes, 2> {
  static constexpr const char* name = "a_wake_hands_over_the_wakers_writes";
  static constexpr int bound = 6;

  parts::note there;
  parts::note back;
  detail::plain<int> value;

  void thread(unsigned index) {
    if (index == 0) {
      value.set(1);
      there.wake();
      RL_ASSERT(back.sleep());
      RL_ASSERT(value.get() == 2);
    } else {
      RL_ASSERT(there.sleep());
      RL_ASSERT(value.get() == 1);
      value.set(2);
      back.wake();
    }
  }
};

// A machine uses its note again and again. Its next waker got hold of it after the clear.
struct a_note_is_used_again : model::suite<a_note_is_used_again, 2> {
  static constexpr const char* name = "a_note_is_used_again";
  static constexpr int bound = 6;

  parts::note note;
  parts::note cleared;
  detail::plain<int> value;

  void thread(unsigned index) {
    if (index == 0) {
      value.set(1);
      note.wake();
      RL_ASSERT(cleared.sleep());
      value.set(2);
      note.wake();
    } else {
      RL_ASSERT(note.sleep());
      RL_ASSERT(value.get() == 1);
      note.clear();
      cleared.wake();
      RL_ASSERT(note.sleep());
      RL_ASSERT(value.get() == 2);
    }
  }
};

// The deadline passes at any moment. Either the wake came, with all that was done before it, or it
// is still to come and the next sleep returns by it.
struct a_deadline_loses_no_wake : model::suite<a_deadline_loses_no_wake, 2> {
  static constexpr const char* name = "a_deadline_loses_no_wake";
  static constexpr int bound = 6;

  parts::note note;
  detail::plain<int> value;

  void thread(unsigned index) {
    if (index == 0) {
      value.set(1);
      note.wake();
    } else {
      if (!note.sleep(1)) RL_ASSERT(note.sleep());
      RL_ASSERT(value.get() == 1);
    }
  }
};

// A note may be woken at any time and any number of times: a wake that a restart clears away has
// come before the look that follows.
struct a_restart_loses_no_wake : model::suite<a_restart_loses_no_wake, 3> {
  static constexpr const char* name = "a_restart_loses_no_wake";
  static constexpr int bound = 4;

  parts::note note;
  detail::atomic<int> wishes;

  void thread(unsigned index) {
    if (index != 0) {
      wishes.add_relaxed(1);
      note.wake();
      return;
    }
    for (std::int64_t deadline = 1; wishes.load_relaxed() != 2; deadline = platform::forever) {
      note.sleep(deadline);
      note.restart();
    }
  }
};

// A thread announces a wake at any time: the sleeper looks out for it, and sleeps on until it
// comes.
struct a_nudge_is_no_wake : model::suite<a_nudge_is_no_wake, 3> {
  static constexpr const char* name = "a_nudge_is_no_wake";
  static constexpr int bound = 4;

  parts::note note;
  detail::plain<int> value;

  void thread(unsigned index) {
    if (index == 0) {
      value.set(1);
      note.wake();
    } else if (index == 1) {
      note.nudge();
    } else {
      RL_ASSERT(note.sleep());
      RL_ASSERT(value.get() == 1);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("note",
                      {model::scenario_of<a_wake_hands_over_the_wakers_writes>(),
                       model::scenario_of<a_note_is_used_again>(),
                       model::scenario_of<a_deadline_loses_no_wake>(),
                       model::scenario_of<a_restart_loses_no_wake>(),
                       model::scenario_of<a_nudge_is_no_wake>()},
                      {{"NT-1"},
                       {"NT-1@sleep"},
                       {"NT-1@wake"},
                       {"NT-1@wake.release"},
                       {"NT-1@give_up", a_deadline_loses_no_wake::name},
                       {"NT-1@give_up.acquire", a_deadline_loses_no_wake::name},
                       {"NT-1@restart", a_restart_loses_no_wake::name},
                       {"NT-1@restart.acquire", a_restart_loses_no_wake::name}})
      .run(argc, argv);
}
