// The run queue: with the owner pushing, popping and making room, and two thieves, each element is
// taken once, and its taker sees all that was done to it before it was pushed.
#include "parts/run_queue.hpp"

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

template <class Derived, unsigned Threads, std::uint32_t Capacity, int Count>
struct queue_suite : model::suite<Derived, Threads> {
  using queue = parts::run_queue<element, Capacity>;

  queue queues[Threads];  // one for each thread; the others steal from that of thread 0
  element elements[Count];

  // Elements that do not fit would go to the global queue. Here they are taken at once.
  void push(int i) {
    element* e = &elements[i];
    e->state.set(1);
    while (!queues[0].push(e)) {
      element* older[queue::half];
      if (queues[0].take_half(older) == 0) continue;
      for (element* o : older) take(o);
      take(e);
      return;
    }
  }

  void pop_all(unsigned index) {
    while (element* e = queues[index].pop()) take(e);
  }

  // True if something came.
  bool steal(unsigned thief, unsigned victim) {
    std::uint32_t stolen = 0;
    element* e = queues[thief].steal_half_from(queues[victim], stolen);
    RL_ASSERT((e != nullptr) == (stolen > 0));
    if (e != nullptr) take(e);
    return e != nullptr;
  }

  void after() {
    for (queue& q : queues) RL_ASSERT(q.is_empty());
    for (element& e : elements) RL_ASSERT(e.state.get() == 2);
  }
};

struct each_element_is_taken_once : queue_suite<each_element_is_taken_once, 3, 4, 3> {
  static constexpr const char* name = "each_element_is_taken_once";
  static constexpr int bound = 2;

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 3; ++i) push(i);
    } else {
      steal(index, 0);
    }
    pop_all(index);
  }
};

// The same where the owner pushes a batch.
struct a_batch_is_taken_once : queue_suite<a_batch_is_taken_once, 3, 4, 3> {
  static constexpr const char* name = "a_batch_is_taken_once";
  static constexpr int bound = 2;

  void thread(unsigned index) {
    if (index == 0) {
      for (element& e : elements) e.state.set(1);
      int i = 0;
      queues[0].push_all([&] { return i == 3 ? nullptr : &elements[i++]; });
    } else {
      steal(index, 0);
    }
    pop_all(index);
  }
};

// The ring goes round, and a slot is written again while a thief is about to read it.
struct a_full_ring_makes_room : queue_suite<a_full_ring_makes_room, 2, 2, 5> {
  static constexpr const char* name = "a_full_ring_makes_room";
  static constexpr int bound = 3;

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 5; ++i) push(i);
    } else {
      steal(index, 0);
      steal(index, 0);
    }
    pop_all(index);
  }
};

// A thief keeps what it does not run in its own queue, where the next thief finds it.
struct stolen_elements_are_stolen_again : queue_suite<stolen_elements_are_stolen_again, 3, 4, 4> {
  static constexpr const char* name = "stolen_elements_are_stolen_again";
  static constexpr int bound = 2;

  void before() {
    for (int i = 0; i < 4; ++i) push(i);
  }

  void thread(unsigned index) {
    if (index == 1) {
      steal(1, 0);
    } else if (index == 2) {
      steal(2, 1);
    }
    pop_all(index);
  }
};

// RQ-2 hands over that a consumer has read its slots. Relacy never delays a load, so it cannot show
// directly that a slot is read too late. It can show whether all that a consumer did before it took
// an element is over when its slot is written again.
struct a_slot_is_read_before_it_is_written_again
    : queue_suite<a_slot_is_read_before_it_is_written_again, 2, 2, 3> {
  static constexpr const char* name = "a_slot_is_read_before_it_is_written_again";
  static constexpr int bound = 4;

  detail::plain<int> reading;

  void before() {
    push(0);
    push(1);
  }

  void thread(unsigned index) {
    if (index == 0) {
      elements[2].state.set(1);
      if (queues[0].push(&elements[2])) {
        RL_ASSERT(reading.get() == 1);
      } else {
        take(&elements[2]);
      }
    } else if (index == 1) {
      reading.set(1);
      steal(1, 0);
    }
    pop_all(index);
  }
};

// The same where an owner that has found its queue empty writes a batch.
struct slots_are_read_before_a_batch_is_written
    : queue_suite<slots_are_read_before_a_batch_is_written, 2, 2, 3> {
  static constexpr const char* name = "slots_are_read_before_a_batch_is_written";
  static constexpr int bound = 4;

  detail::plain<int> reading;

  void before() {
    push(0);
    push(1);
  }

  void thread(unsigned index) {
    if (index == 0) {
      int popped = 0;
      while (element* e = queues[0].pop()) {
        take(e);
        ++popped;
      }
      elements[2].state.set(1);
      element* left = &elements[2];
      queues[0].push_all([&] { return std::exchange(left, nullptr); });
      if (popped < 2) RL_ASSERT(reading.get() == 1);
    } else {
      reading.set(1);
      steal(1, 0);
    }
    pop_all(index);
  }
};

// The same where the slots belong to a thief, and another thief has emptied them.
struct a_thief_writes_slots_that_were_read
    : queue_suite<a_thief_writes_slots_that_were_read, 3, 2, 2> {
  static constexpr const char* name = "a_thief_writes_slots_that_were_read";
  static constexpr int bound = 4;

  detail::plain<int> reading;

  // Thread 1 is the thief; one element is in its queue, the other in that of thread 0.
  void before() {
    push(0);
    elements[1].state.set(1);
    queues[1].push(&elements[1]);
  }

  void thread(unsigned index) {
    if (index == 2) {
      reading.set(1);
      steal(2, 1);
    } else if (index == 1) {
      if (element* own = queues[1].pop()) {
        take(own);
      } else {
        steal(1, 0);
        RL_ASSERT(reading.get() == 1);
      }
    } else {
      pop_all(0);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("run_queue",
                      {model::scenario_of<each_element_is_taken_once>(),
                       model::scenario_of<a_batch_is_taken_once>(),
                       model::scenario_of<a_full_ring_makes_room>(),
                       model::scenario_of<stolen_elements_are_stolen_again>(),
                       model::scenario_of<a_slot_is_read_before_it_is_written_again>(),
                       model::scenario_of<slots_are_read_before_a_batch_is_written>(),
                       model::scenario_of<a_thief_writes_slots_that_were_read>()},
                      {{"RQ-1"},
                       {"RQ-1@push"},
                       {"RQ-1@push_all", a_batch_is_taken_once::name},
                       {"RQ-1@grab"},
                       {"RQ-1@steal_half_from", stolen_elements_are_stolen_again::name},
                       {"RQ-2"},
                       {"RQ-2@push", a_slot_is_read_before_it_is_written_again::name},
                       {"RQ-2@push_all", slots_are_read_before_a_batch_is_written::name},
                       {"RQ-2@grab", a_slot_is_read_before_it_is_written_again::name},
                       {"RQ-2@grab.release", a_slot_is_read_before_it_is_written_again::name},
                       {"RQ-2@steal_half_from", a_thief_writes_slots_that_were_read::name}})
      .run(argc, argv);
}
