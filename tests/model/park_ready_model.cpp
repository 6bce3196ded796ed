// Park against ready: a goroutine queues itself under a lock and parks. A machine that finds it
// there makes it ready, and yet another machine may run it. No machine may touch its context before
// it is saved. It is resumed exactly once, and each of its transitions starts from the status that
// the one before has left. The verbs come from src/runtime/run/park.cpp and switch.hpp, cut down to
// their shared state.
#include "parts/next_slot.hpp"
#include "parts/run_queue.hpp"

#include "model/locks.hpp"
#include "model/status.hpp"

using namespace sley;
using parts::status;

namespace {

struct goroutine {
  parts::status_word status;
  detail::plain<int> context;  // 1: saved; 2: resumed
};

void begin(goroutine& g) {
  g.status.transition(status::idle, status::runnable);
  g.status.transition(status::runnable, status::running);
}

struct machine {
  parts::next_slot<goroutine> next;
  parts::run_queue<goroutine, 2> queue;
};

template <class Derived, unsigned Threads>
struct park_suite : model::locking_suite<Derived, Threads> {
  detail::lock channel;
  detail::plain<goroutine*> waiter;  // under the lock, like the value
  detail::plain<int> value;
  machine machines[Threads];

  // The goroutine runs on the machine of the calling thread, which does something else once it has
  // parked. True if there was no need to.
  bool receive(goroutine* g) {
    channel.acquire();
    if (value.get() != 0) {
      channel.release();
      return true;
    }
    waiter.set(g);
    park_and_release(g);
    return false;
  }

  // The switch, and what the next goroutine does first for this one: from then on it waits, and
  // may be seen.
  void park_and_release(goroutine* g) {
    const bool too_early = model::is_left_out("save before release");
    const bool too_late = model::is_left_out("wait before release");
    if (too_early) channel.release();
    g->context.set(1);
    if (!too_early && too_late) channel.release();
    g->status.transition(status::running, status::waiting);
    if (!too_early && !too_late) channel.release();
  }

  void send(unsigned index) {
    channel.acquire();
    value.set(1);
    goroutine* g = waiter.get();
    waiter.set(nullptr);
    channel.release();
    if (g != nullptr) ready(machines[index], g);
  }

  void ready(machine& m, goroutine* g) {
    g->status.transition(status::waiting, status::runnable);
    goroutine* displaced = m.next.put(g);
    if (displaced != nullptr) RL_ASSERT(m.queue.push(displaced));
  }

  void resume(goroutine* g) {
    g->status.transition(status::runnable, status::running);
    RL_ASSERT(g->context.get() == 1);
    g->context.set(2);
  }
};

// The waker runs it, or a thief does.
struct ready_follows_park : park_suite<ready_follows_park, 3> {
  static constexpr const char* name = "ready_follows_park";
  static constexpr int bound = 4;

  goroutine g;
  bool went_on = false;

  void before() { begin(g); }

  void thread(unsigned index) {
    if (index == 0) {
      went_on = receive(&g);
    } else if (index == 1) {
      send(1);
      if (goroutine* next = machines[1].next.take()) resume(next);
    } else if (goroutine* next = machines[1].next.steal()) {
      resume(next);
    }
  }

  void after() { RL_ASSERT(g.context.get() == (went_on ? 0 : 2)); }
};

// Another goroutine is made ready behind it and displaces it into the queue, where a thief finds
// it.
struct a_thief_resumes_it : park_suite<a_thief_resumes_it, 3> {
  static constexpr const char* name = "a_thief_resumes_it";
  static constexpr int bound = 3;

  goroutine g;
  goroutine other;
  bool went_on = false;

  void before() {
    begin(g);
    begin(other);
    other.status.transition(status::running, status::waiting);
  }

  void thread(unsigned index) {
    if (index == 0) {
      went_on = receive(&g);
    } else if (index == 1) {
      other.context.set(1);
      send(1);
      ready(machines[1], &other);
      if (goroutine* next = machines[1].next.take()) resume(next);
      while (goroutine* next = machines[1].queue.pop()) resume(next);
    } else {
      std::uint32_t stolen = 0;
      goroutine* next = machines[2].queue.steal_half_from(machines[1].queue, stolen);
      if (next != nullptr) resume(next);
    }
  }

  void after() {
    RL_ASSERT(g.context.get() == (went_on ? 0 : 2));
    RL_ASSERT(other.context.get() == 2);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "park_ready",
             {model::scenario_of<ready_follows_park>(), model::scenario_of<a_thief_resumes_it>()},
             {{"save before release"},
              {"wait before release"},
              {"LK-1"},
              {"LK-1@begin_release"},
              {"LK-1@try_acquire"},
              {"LK-2"},
              {"RN-1"},
              {"RN-1@put"},
              {"RQ-1", a_thief_resumes_it::name}})
      .run(argc, argv);
}
