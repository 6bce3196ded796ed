// Giving back the unused pages of a stack while its goroutine waits: it may be made ready at any
// moment, and must not run meanwhile. The verbs come from src/runtime/watchdog/trim.cpp,
// schedule.cpp, find_runnable.cpp, turn.cpp and exit.cpp, cut down to their shared state. The stack
// is one variable, which runs and trims both write.
//
// Where barriers are equal nothing is given back, so they are one-sided.
#include "model/locks.hpp"
#include "model/status.hpp"

#include "platform/relax.hpp"

using namespace sley;
using parts::status;

namespace {

// The values of src/runtime/state/goroutine.hpp.
enum need : std::uint8_t { needs_stack = 1, needs_machine = 2, being_trimmed = 4 };

struct goroutine {
  parts::status_word status;
  detail::atomic<std::uint8_t> needs;
  detail::plain<bool> context_is_saved;
  detail::plain<int> stack;
};

template <class Derived, unsigned Threads>
struct trim_suite : model::locking_suite<Derived, Threads> {
  static constexpr bool has_barriers = false;

  goroutine g;
  detail::lock lock;  // of the queue
  detail::plain<bool> is_queued;

  // It waits, and the machine that ran it has gone on.
  void before() {
    g.status.transition(status::idle, status::runnable);
    g.status.transition(status::runnable, status::running);
    park();
  }

  // ---- its life ----

  void park() {
    g.context_is_saved.set(true);
    g.status.transition(status::running, status::waiting);
  }

  void ready() {
    g.status.transition(status::waiting, status::runnable);
    detail::lock_guard guard(lock);
    is_queued.set(true);
  }

  bool pick() {
    detail::lock_guard guard(lock);
    const bool was_queued = is_queued.get();
    is_queued.set(false);
    return was_queued;
  }

  void wait_for_trimmer() {
    while ((g.needs.load_acquire("TR-1") & being_trimmed) != 0) platform::cpu_relax();
  }

  void execute() {
    if (g.needs.load_acquire("TR-1") != 0) wait_for_trimmer();
    run();
  }

  void run() {
    g.status.transition(status::runnable, status::running);
    g.context_is_saved.set(false);
    use_stack();
  }

  void use_stack() {
    rl::ctx().sched();
    g.stack.set(g.stack.get() + 1);
  }

  // Picked from the queue, if it is there; then it waits again.
  void run_once() {
    if (!pick()) return;
    execute();
    park();
  }

  // ---- sysmon ----

  void trim() {
    flag();
    detail::heavy_barrier("TR-1");
    if (g.status.is_waiting() && is_flagged()) give_back();
    unflag();
  }

  void flag() { g.needs.or_acq_rel(being_trimmed, "TR-1"); }

  bool is_flagged() {
    if (model::is_left_out("look at the flag again")) return true;
    return g.needs.load_acquire("TR-1") == being_trimmed;
  }

  void give_back() {
    rl::ctx().sched();
    RL_ASSERT(g.context_is_saved.get());
    g.stack.set(0);
  }

  void unflag() { g.needs.and_acq_rel(static_cast<std::uint8_t>(~being_trimmed), "TR-1"); }
};

// One makes it ready, another runs it.
struct trim_races_with_ready : trim_suite<trim_races_with_ready, 3> {
  static constexpr const char* name = "trim_races_with_ready";
  static constexpr int bound = 4;

  void thread(unsigned index) {
    if (index == 0) {
      ready();
    } else if (index == 1) {
      run_once();
    } else {
      trim();
    }
  }
};

// It may have run and wait again when the trimmer looks.
struct it_waits_again : trim_suite<it_waits_again, 2> {
  static constexpr const char* name = "it_waits_again";
  static constexpr int bound = 5;

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 2; ++i) {
        ready();
        run_once();
      }
    } else {
      trim();
    }
  }
};

// It has ended, and another goroutine has the record and waits: the flag may be gone.
struct the_record_lives_on : trim_suite<the_record_lives_on, 2> {
  static constexpr const char* name = "the_record_lives_on";
  static constexpr int bound = 4;

  void thread(unsigned index) {
    if (index == 0) {
      ready();
      if (pick()) execute();
      end();
      begin();
      park();
      ready();
      run_once();
    } else {
      trim();
    }
  }

  void end() {
    g.status.transition(status::running, status::dead);
    g.needs.store_relaxed(needs_stack);
    g.status.transition(status::dead, status::idle);
  }

  // As next_local() does, and where it leaves off, execute().
  void begin() {
    g.status.transition(status::idle, status::runnable);
    if (g.needs.load_acquire("TR-1") != needs_stack) wait_for_trimmer();
    g.needs.store_relaxed(0);
    run();
  }
};

// It waits the second time on its own thread, as if locked to it: then no context is saved.
struct it_waits_on_its_thread : trim_suite<it_waits_on_its_thread, 2> {
  static constexpr const char* name = "it_waits_on_its_thread";
  static constexpr int bound = 5;

  void thread(unsigned index) {
    if (index == 0) {
      ready();
      if (pick()) execute();
      park_thread();
    } else {
      trim();
    }
  }

  void park_thread() {
    g.needs.or_acq_rel(needs_machine, "TR-1");
    g.status.transition(status::running, status::waiting);
    g.status.transition(status::waiting, status::runnable);  // another thread has made it ready
    if (!model::is_left_out("wait before it is free")) wait_for_trimmer();
    g.needs.and_acq_rel(static_cast<std::uint8_t>(~needs_machine), "TR-1");
    g.status.transition(status::runnable, status::running);
    use_stack();
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "trim",
             {model::scenario_of<trim_races_with_ready>(), model::scenario_of<it_waits_again>(),
              model::scenario_of<the_record_lives_on>(),
              model::scenario_of<it_waits_on_its_thread>()},
             {{"TR-1"},
              {"TR-1@trim"},
              {"TR-1@is_waiting"},
              {"TR-1@transition"},
              {"TR-1@execute"},
              {"TR-1@wait_for_trimmer"},
              {"TR-1@unflag"},
              {"TR-1@unflag.release"},
              {"look at the flag again", the_record_lives_on::name},
              {"wait before it is free", it_waits_on_its_thread::name}})
      .run(argc, argv);
}
