// sysmon holds a goroutine that waits: it may be made ready at any moment, and must not run
// meanwhile. And it reads the name of one that runs, which may end. The verbs come from
// src/runtime/state/hold.hpp, schedule.cpp, find_runnable.cpp, turn.cpp and exit.cpp, cut down to
// their shared state. The stack is one variable, which runs and looks both write.
//
// Where barriers are equal no goroutine that waits is held, so they are one-sided but for names.
#include "model/locks.hpp"
#include "model/status.hpp"

#include "platform/relax.hpp"

using namespace sley;
using parts::status;

namespace {

// The values of src/runtime/state/goroutine.hpp.
enum need : std::uint8_t { needs_stack = 1, needs_machine = 2, held = 4 };

struct goroutine {
  parts::status_word status;
  detail::atomic<std::uint8_t> needs;
  detail::plain<bool> context_is_saved;
  detail::plain<int> stack;
};

template <class Derived, unsigned Threads>
struct hold_suite : model::locking_suite<Derived, Threads> {
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

  void wait_while_held() {
    while ((g.needs.load_acquire("TR-1") & held) != 0) platform::cpu_relax(1);
  }

  void execute() {
    if (g.needs.load_acquire("TR-1") != 0) wait_while_held();
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

  void hold() {
    look_at_all();
    let_go();
  }

  void look_at_all() {
    g.needs.or_acq_rel(held, "TR-1");
    detail::heavy_barrier("TR-1");
    if (is_held()) give_back();
  }

  bool is_held() { return g.status.is_waiting() && is_flagged(); }

  bool is_flagged() {
    if (model::is_left_out("look at the flag again")) return true;
    return g.needs.load_acquire("TR-1") == held;
  }

  void give_back() {
    rl::ctx().sched();
    RL_ASSERT(g.context_is_saved.get());
    g.stack.set(0);
  }

  void let_go() { g.needs.and_acq_rel(static_cast<std::uint8_t>(~held), "TR-1"); }
};

// One makes it ready, another runs it.
struct hold_races_with_ready : hold_suite<hold_races_with_ready, 3> {
  static constexpr const char* name = "hold_races_with_ready";
  static constexpr int bound = 4;

  void thread(unsigned index) {
    if (index == 0) {
      ready();
    } else if (index == 1) {
      run_once();
    } else {
      hold();
    }
  }
};

// It may have run and wait again when sysmon looks.
struct it_waits_again : hold_suite<it_waits_again, 2> {
  static constexpr const char* name = "it_waits_again";
  static constexpr int bound = 5;

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 2; ++i) {
        ready();
        run_once();
      }
    } else {
      hold();
    }
  }
};

// It has ended, and another goroutine has the record and waits: the flag may be gone.
struct the_record_lives_on : hold_suite<the_record_lives_on, 2> {
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
      hold();
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
    if (g.needs.load_acquire("TR-1") != needs_stack) wait_while_held();
    g.needs.store_relaxed(0);
    run();
  }
};

// It waits the second time on its own thread, as if locked to it: then no context is saved.
struct it_waits_on_its_thread : hold_suite<it_waits_on_its_thread, 2> {
  static constexpr const char* name = "it_waits_on_its_thread";
  static constexpr int bound = 5;

  void thread(unsigned index) {
    if (index == 0) {
      ready();
      if (pick()) execute();
      park_thread();
    } else {
      hold();
    }
  }

  void park_thread() {
    g.needs.or_acq_rel(needs_machine, "TR-1");
    g.status.transition(status::running, status::waiting);
    g.status.transition(status::waiting, status::runnable);  // another thread has made it ready
    if (!model::is_left_out("wait before it is free")) wait_while_held();
    g.needs.and_acq_rel(static_cast<std::uint8_t>(~needs_machine), "TR-1");
    g.status.transition(status::runnable, status::running);
    use_stack();
  }
};

// Its extra and a copy of that: what is in them, and which of the two is in the record.
template <class Derived>
struct extra_suite : model::locking_suite<Derived, 2> {
  enum shown : int { none, own, copy };
  enum content { first_name, second_name, freed };

  detail::atomic<std::uint8_t> needs;
  detail::atomic<int> extra;
  detail::plain<int> texts[copy + 1];

  void before() {
    texts[own].set(first_name);
    extra.store_relaxed(own);
  }

  void wait_while_held() {
    while ((needs.load_acquire("TR-1") & held) != 0) platform::cpu_relax(1);
  }

  void hide_extra() {
    extra.store_relaxed(none);
    detail::light_barrier("EX-1");
    wait_while_held();
  }

  void show_extra(shown which) {
    extra.store_release(which, "EX-1");
    detail::light_barrier("EX-1");
    wait_while_held();
  }

  void change_extra() {
    texts[copy].set(texts[own].get());
    show_extra(copy);
    texts[own].set(second_name);
    show_extra(own);
    texts[copy].set(freed);
  }

  void end() {
    hide_extra();
    texts[own].set(freed);
  }

  // The snapshot's part.
  void hold_and_read() {
    held_extra();
    if (const int which = extra.load_acquire("EX-1"); which != none) {
      RL_ASSERT(texts[which].get() != freed);
    }
    let_go_extra();
  }

  void held_extra() {
    needs.or_acq_rel(held, "EX-1");
    detail::heavy_barrier("EX-1");
  }

  void let_go_extra() { needs.and_acq_rel(static_cast<std::uint8_t>(~held), "EX-1"); }
};

// The goroutine ends while its name is read.
struct an_extra_is_freed : extra_suite<an_extra_is_freed> {
  static constexpr const char* name = "an_extra_is_freed";

  void thread(unsigned index) {
    if (index == 0) {
      end();
    } else {
      hold_and_read();
    }
  }
};

struct a_name_is_set : extra_suite<a_name_is_set> {
  static constexpr const char* name = "a_name_is_set";

  void thread(unsigned index) {
    if (index == 0) {
      change_extra();
      end();
    } else {
      hold_and_read();
      hold_and_read();
    }
  }
};

// The goroutine has no extra and has ended; another one with an extra has its record, and ends.
struct the_record_gets_an_extra : extra_suite<the_record_gets_an_extra> {
  static constexpr const char* name = "the_record_gets_an_extra";

  void before() { texts[own].set(first_name); }

  void thread(unsigned index) {
    if (index == 0) {
      needs.store_relaxed(0);
      spawn();
      end();
    } else {
      held_extra();
      read_labels();
      let_go_extra();
    }
  }

  void spawn() { extra.store_release(own, "EX-1"); }

  void read_labels() {
    if (extra.load_acquire("EX-1") == own && is_still_held()) RL_ASSERT(texts[own].get() != freed);
  }

  bool is_still_held() {
    if (model::is_left_out("look whether it is still held")) return true;
    return (needs.load_relaxed() & held) != 0;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "hold",
             {model::scenario_of<hold_races_with_ready>(), model::scenario_of<it_waits_again>(),
              model::scenario_of<the_record_lives_on>(),
              model::scenario_of<it_waits_on_its_thread>(), model::scenario_of<an_extra_is_freed>(),
              model::scenario_of<a_name_is_set>(), model::scenario_of<the_record_gets_an_extra>()},
             {{"TR-1"},
              {"TR-1@look_at_all"},
              {"TR-1@is_waiting"},
              {"TR-1@transition"},
              {"TR-1@execute"},
              {"TR-1@wait_while_held"},
              {"TR-1@let_go"},
              {"TR-1@let_go.release"},
              {"EX-1"},
              {"EX-1@hide_extra"},
              {"EX-1@held_extra"},
              {"EX-1@let_go_extra"},
              {"EX-1@show_extra"},
              {"EX-1@hold_and_read"},
              {"EX-1@spawn"},
              {"EX-1@read_labels"},
              {"look whether it is still held", the_record_gets_an_extra::name},
              {"look at the flag again", the_record_lives_on::name},
              {"wait before it is free", it_waits_on_its_thread::name}})
      .run(argc, argv);
}
