// sysmon rests because foreign threads may still bring something, and the last of them waits or
// ends. The verbs come from src/runtime/watchdog/deadlock.cpp, turn.cpp and foreign.cpp. If sysmon
// rests although all wait, that is a deadlock here as well: no other thread will wake it.
#include "parts/note.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

// DL-1.
struct the_last_waits_while_sysmon_goes_to_rest
    : model::suite<the_last_waits_while_sysmon_goes_to_rest, 3> {
  static constexpr const char* name = "the_last_waits_while_sysmon_goes_to_rest";
  static constexpr bool has_barriers = true;

  detail::atomic<bool> waits[2];
  detail::atomic<bool> awaits_foreigners;
  parts::note sysmon_note;

  bool look_for_deadlock() {
    awaits_foreigners.store_relaxed(true);
    detail::heavy_barrier("DL-1");
    return waits[0].load_relaxed() && waits[1].load_relaxed();
  }

  void park_thread(unsigned i) {
    waits[i].store_relaxed(true);
    detail::light_barrier("DL-1");
    if (awaits_foreigners.load_relaxed()) sysmon_note.wake();
  }

  void thread(unsigned index) {
    if (index < 2) {
      park_thread(index);
      return;
    }
    while (!look_for_deadlock()) {
      sysmon_note.sleep();
      sysmon_note.restart();
    }
  }
};

// DL-2. sysmon looks twice, as look_for_deadlock() does.
struct a_woken_thread_and_its_waker_are_not_both_counted
    : model::suite<a_woken_thread_and_its_waker_are_not_both_counted, 2> {
  static constexpr const char* name = "a_woken_thread_and_its_waker_are_not_both_counted";

  detail::atomic<bool> woken_waits;
  detail::atomic<bool> waker_waits;

  void before() { woken_waits.store_relaxed(true); }

  void park_thread() {
    woken_waits.store_relaxed(false);
    waker_waits.store_release(true, "DL-2");
  }

  int take_account() {
    return (woken_waits.load_acquire("DL-2") ? 1 : 0) + (waker_waits.load_acquire("DL-2") ? 1 : 0);
  }

  void thread(unsigned index) {
    if (index == 0) return park_thread();
    const int first = take_account();
    const int second = take_account();
    RL_ASSERT(first < 2 || second < 2);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("deadlock",
                      {model::scenario_of<the_last_waits_while_sysmon_goes_to_rest>(),
                       model::scenario_of<a_woken_thread_and_its_waker_are_not_both_counted>()},
                      {{"DL-1"},
                       {"DL-1@look_for_deadlock"},
                       {"DL-1@park_thread"},
                       {"DL-2"},
                       {"DL-2@park_thread"},
                       {"DL-2@take_account"}})
      .run(argc, argv);
}
