// The ring of events: each event is read once, whole and in order, and is not written again before.
#include "parts/event_ring.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

struct each_event_is_read_once : model::suite<each_event_is_read_once, 2> {
  static constexpr const char* name = "each_event_is_read_once";
  static constexpr int bound = 4;
  static constexpr int count = 4;

  parts::event_ring<detail::plain<int>, 2> ring;
  int written = 0;
  int read = 0;
  int last = 0;

  void drain() {
    ring.drain([&](detail::plain<int>& event) {
      RL_ASSERT(event.get() > last);
      last = event.get();
      ++read;
    });
  }

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 1; i <= count; ++i) {
        detail::plain<int>* event = ring.begin();
        if (event == nullptr) continue;  // it is lost
        event->set(i);
        ring.publish();
        ++written;
      }
    } else {
      for (int i = 0; i < 3; ++i) drain();
    }
  }

  void after() {
    drain();
    RL_ASSERT(read == written && written >= 2);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "event_ring", {model::scenario_of<each_event_is_read_once>()},
             {{"ER-1"}, {"ER-1@publish"}, {"ER-1@drain"}, {"ER-2"}, {"ER-2@begin"}, {"ER-2@drain"}})
      .run(argc, argv);
}
