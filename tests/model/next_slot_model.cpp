// The next slot: an element that the owner puts there is taken once, by the owner or by a thief,
// and its taker sees all that was done to it before.
#include "parts/next_slot.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

struct element {
  detail::plain<int> state;  // 1: made; 2: taken
};

void take(element* e) {
  RL_ASSERT(e->state.get() == 1);
  e->state.set(2);
}

// The owner puts two elements, the second in place of the first if that is still there, and takes
// the rest. Thieves come by at any moment.
struct each_element_is_taken_once : model::suite<each_element_is_taken_once, 3> {
  static constexpr const char* name = "each_element_is_taken_once";
  static constexpr int bound = 3;
  static constexpr bool has_barriers = true;

  parts::next_slot<element> slot;
  element elements[2];

  void thread(unsigned index) {
    if (index == 0) {
      owner();
    } else if (element* e = slot.steal()) {
      take(e);
    }
  }

  void owner() {
    for (element& e : elements) {
      e.state.set(1);
      if (element* displaced = slot.put(&e)) take(displaced);
    }
    if (element* e = slot.take()) take(e);
  }

  void after() {
    RL_ASSERT(slot.is_empty());
    for (element& e : elements) RL_ASSERT(e.state.get() == 2);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("next_slot", {model::scenario_of<each_element_is_taken_once>()},
                      {{"RN-1"},
                       {"RN-1@put"},
                       {"RN-1@replace"},
                       {"RN-1@steal"},
                       {"RN-1@steal.acquire"},
                       {"RN-3"},
                       {"RN-3@replace"},
                       {"RN-3@steal"}})
      .run(argc, argv);
}
