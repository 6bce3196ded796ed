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

}  // namespace

int main(int argc, char** argv) {
  return model::model("deadlock", {model::scenario_of<the_last_waits_while_sysmon_goes_to_rest>()},
                      {{"DL-1"}, {"DL-1@look_for_deadlock"}, {"DL-1@park_thread"}})
      .run(argc, argv);
}
