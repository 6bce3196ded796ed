// The wake gate, between submitters and machines that search or go idle, and threads that are
// requested and come later. The verbs come from src/runtime: queue/wake.cpp,
// queue/hand_off.cpp, source/find_runnable.cpp and watchdog/threads.cpp, cut down to what touches
// the gate. Work is a number of goroutines in one queue. A machine that runs one keeps its
// processor for good, so another machine must find the work that is left. Work that waits while all
// machines sleep is a deadlock.
//
// In place of the scheduler's lock there are steps that nothing interrupts but that order nothing
// either. So the gate has to do without the lock's orders.
#include "parts/note.hpp"
#include "parts/thread_requests.hpp"
#include "parts/wake_gate.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

template <class Derived, unsigned Threads, std::uint32_t Work>
struct gate_suite : model::suite<Derived, Threads> {
  static constexpr bool has_barriers = true;

  struct machine {
    parts::note note;
    detail::atomic<bool> is_listed;  // among the idle machines
    bool is_searching = false;
  };

  parts::wake_gate gate;
  detail::atomic<std::uint32_t> queue;            // goroutines that wait
  detail::atomic<std::uint32_t> idle_processors;  // on their list
  detail::atomic<std::uint32_t> idle_machines;    // on theirs
  parts::thread_requests thread_requests;
  detail::atomic<std::uint32_t> taken;
  machine machines[Threads + 4];  // the machines of requested threads are at the end
  unsigned made = 0;
  bool makes_thread[Threads] = {};
  bool first_submits = false;  // the goroutine that is run first submits another

  // All processors are in use but `idle`.
  void start(std::uint32_t procs, std::uint32_t idle) {
    gate.set_procs(procs);
    gate.add_idle(procs);
    for (std::uint32_t i = idle; i < procs; ++i) RL_ASSERT(gate.leave_idle());
    idle_processors.store_relaxed(idle);
  }

  void submit() {
    queue.add_relaxed(1);
    if (gate.wake_needed()) wake_p();
  }

  bool take_work() {
    std::uint32_t seen = queue.load_relaxed();
    while (seen != 0) {
      if (queue.cas_relaxed(seen, seen - 1)) return true;
    }
    return false;
  }

  bool pop_idle() {
    const model::one_step locked;
    if (!gate.leave_idle()) return false;
    RL_ASSERT(idle_processors.sub_relaxed(1) != 0);
    return true;
  }

  parts::idle_debt push_idle(bool was_searching) {
    const model::one_step locked;
    idle_processors.add_relaxed(1);
    return gate.go_idle(was_searching);
  }

  void push_idle_machine(machine& m) {
    const model::one_step locked;
    m.is_listed.store_relaxed(true);
    idle_machines.add_relaxed(1);
  }

  // Null if none is on the list.
  machine* pop_idle_machine() {
    const model::one_step locked;
    for (machine& m : machines) {
      bool listed = true;
      if (!m.is_listed.cas_relaxed(listed, false)) continue;
      idle_machines.sub_relaxed(1);
      return &m;
    }
    return nullptr;
  }

  bool is_thread_coming() {
    return thread_requests.is_any_coming() && idle_machines.load_relaxed() == 0;
  }

  void wake_p() {
    if (is_thread_coming()) return;
    while (gate.claim_search()) {
      if (!pop_idle()) {
        if (!gate.claim_failed() || model::is_left_out("WG-2 claim again")) return;
      } else if (machine* m = pop_idle_machine()) {
        m->is_searching = true;
        m->note.wake();
        return;
      } else {
        push_idle(true).leave_to_new_thread();
        request_threads();
        return;
      }
    }
  }

  void request_threads() {
    if (model::is_left_out("TH-1 ask for a thread")) return;
    if (thread_requests.add(1)) makes_thread[rl::thread_index()] = true;
  }

  // The thread of the model that requested a thread plays it, once it has nothing else to do.
  void run_made_thread() {
    bool& mine = makes_thread[rl::thread_index()];
    while (std::exchange(mine, false)) {
      RL_ASSERT(thread_requests.take());
      machine& m = machines[Threads + made++];
      RL_ASSERT(&m < std::end(machines));
      machine_main(m);
    }
  }

  void machine_main(machine& m) {
    if (!model::is_left_out("TH-1 arrive")) thread_requests.arrive();
    const bool has_p = !model::is_left_out("TH-1 take a processor") && take_up_search(m);
    if (has_p || stop_m(m)) find_runnable(m);
  }

  parts::idle_debt give_up_p(machine& m) { return push_idle(std::exchange(m.is_searching, false)); }

  bool look(machine& m) { return queue.load_relaxed() != 0 && take_up_search(m); }

  // True: the machine has a processor again.
  bool settle(parts::idle_debt debt, machine* self = nullptr) {
    if (!std::move(debt).begin_to_pay()) return false;
    if (self != nullptr) return look(*self);
    if (queue.load_relaxed() != 0 && gate.wake_needed()) wake_p();
    return false;
  }

  void settle_unless_left_out(parts::idle_debt debt, const char* mutation) {
    if (model::is_left_out(mutation)) {
      std::move(debt).leave_to_new_thread();
    } else {
      settle(std::move(debt));
    }
  }

  bool take_up_search(machine& m) {
    if (!pop_idle()) return false;
    gate.search_anyway();
    m.is_searching = true;
    return true;
  }

  // False if all is done.
  bool stop_m(machine& m) {
    push_idle_machine(m);
    if (taken.add_relaxed(0) == Work) return false;
    m.note.sleep();
    m.note.clear();
    return taken.add_relaxed(0) != Work;
  }

  void search(machine& m) {
    if (!m.is_searching && gate.start_searching()) m.is_searching = true;
  }

  // A machine with a processor, until it has a goroutine, which it runs for ever.
  void find_runnable(machine& m) {
    for (;;) {
      search(m);
      if (m.is_searching && take_work()) break;
      if (!settle(give_up_p(m), &m) && !stop_m(m)) return;
    }
    m.is_searching = false;
    if (gate.found_work() && !model::is_left_out("WG-2 wake the next")) wake_p();
    run_taken();
  }

  void run_taken() {
    const std::uint32_t before = taken.add_relaxed(1);
    if (before == 0 && first_submits) submit();
    if (before + 1 < Work) return;
    for (machine& other : machines) other.note.wake();  // the end of the model
  }

  void after() { RL_ASSERT(taken.load_relaxed() == Work); }
};

// WG-1. One processor runs the submitter, and the other is about to be given up.
struct submit_races_with_going_idle : gate_suite<submit_races_with_going_idle, 2, 1> {
  static constexpr const char* name = "submit_races_with_going_idle";
  static constexpr int bound = 6;

  void before() { start(2, 0); }

  void thread(unsigned index) {
    if (index == 0) {
      submit();
    } else {
      find_runnable(machines[1]);
    }
    run_made_thread();
  }
};

// WG-2. The second submission relies on the searcher that there is, or that the first one woke;
// when that one finds the first goroutine, it must wake another for the second.
struct a_machine_that_finds_work_wakes_the_next
    : gate_suite<a_machine_that_finds_work_wakes_the_next, 3, 2> {
  static constexpr const char* name = "a_machine_that_finds_work_wakes_the_next";
  static constexpr int random_schedules = 200'000;

  void before() { start(3, 1); }

  void thread(unsigned index) {
    if (index == 0) {
      submit();
      submit();
    } else if (index == 1) {
      find_runnable(machines[1]);
    } else if (stop_m(machines[2])) {
      find_runnable(machines[2]);
    }
    run_made_thread();
  }
};

// A machine takes back the processor that it gave up just when the submitter has claimed a search
// for it, and finds the work. Meanwhile another processor becomes idle, and the next submission
// relies on the claim: when that fails, it must be made again.
struct a_claim_that_fails_is_not_forgotten : gate_suite<a_claim_that_fails_is_not_forgotten, 3, 2> {
  static constexpr const char* name = "a_claim_that_fails_is_not_forgotten";
  static constexpr int random_schedules = 200'000;

  void before() {
    start(3, 1);
    first_submits = true;
  }

  void thread(unsigned index) {
    machine& m = machines[index];
    if (index == 0) {
      submit();
    } else {
      // Thread 1 has given its processor up already.
      const bool has_p = index == 2 ? settle(give_up_p(m), &m) : look(m);
      if (has_p || stop_m(m)) find_runnable(m);
    }
    run_made_thread();
  }
};

// While the gate is halted, a submitter wakes no machine, and a machine that goes idle looks at
// nothing. The thread that ends the halt looks.
struct work_comes_while_halted : gate_suite<work_comes_while_halted, 3, 1> {
  static constexpr const char* name = "work_comes_while_halted";
  static constexpr int bound = 3;

  void before() {
    start(2, 0);
    gate.pause();
  }

  void thread(unsigned index) {
    if (index == 0) {
      submit();
    } else if (index == 1) {
      settle_unless_left_out(gate.resume(), "WG-1 settle after a halt");
    } else {
      machine& m = machines[2];
      if (settle(give_up_p(m), &m) || stop_m(m)) find_runnable(m);
    }
    run_made_thread();
  }
};

// A processor is made idle beside work. A busy machine takes that work and submits more. The idle
// processor must serve that.
struct known_work_is_taken_and_more_comes : gate_suite<known_work_is_taken_and_more_comes, 3, 2> {
  static constexpr const char* name = "known_work_is_taken_and_more_comes";
  static constexpr int bound = 3;

  void before() {
    start(2, 0);
    queue.store_relaxed(1);
  }

  void thread(unsigned index) {
    if (index == 0) {
      if (take_work()) submit();
      run_taken();
    } else if (index == 1) {
      settle_unless_left_out(push_idle(false), "WG-1 settle beside work");
    } else if (stop_m(machines[2])) {
      find_runnable(machines[2]);
    }
    run_made_thread();
  }
};

// TH-1. A thread is on its way and no machine sleeps, so the submitter does nothing. When the
// thread comes there may be no idle processor yet.
struct a_thread_that_comes_finds_it : gate_suite<a_thread_that_comes_finds_it, 3, 1> {
  static constexpr const char* name = "a_thread_that_comes_finds_it";
  static constexpr int bound = 3;

  void before() {
    start(2, 0);
    static_cast<void>(thread_requests.add(1) && thread_requests.take());
  }

  void thread(unsigned index) {
    if (index == 0) {
      submit();
    } else if (index == 1) {
      machine_main(machines[1]);
    } else {
      find_runnable(machines[2]);
    }
    run_made_thread();
  }
};

// Likewise, and when the first of two is there the submitter still relies on the second.
struct the_second_thread_finds_it : gate_suite<the_second_thread_finds_it, 3, 1> {
  static constexpr const char* name = "the_second_thread_finds_it";
  static constexpr int bound = 3;

  void before() {
    start(2, 1);
    for (int i = 0; i < 2; ++i) RL_ASSERT(thread_requests.add(2) && thread_requests.take());
    RL_ASSERT(!thread_requests.add(2) && !thread_requests.take());
  }

  void thread(unsigned index) {
    if (index == 0) {
      submit();
    } else {
      machine_main(machines[index]);
    }
    run_made_thread();
  }
};

// The two submitters are the only machines. One requests a thread. The other relies on the first
// one's search, or on the thread.
struct two_rely_on_one_thread : gate_suite<two_rely_on_one_thread, 2, 2> {
  static constexpr const char* name = "two_rely_on_one_thread";
  static constexpr int bound = 4;

  void before() { start(4, 2); }

  void thread(unsigned) {
    submit();
    run_made_thread();
  }
};

// WG-3. One of two processors is in reserve, and both are given up: the last one looks, and may
// have its processor back.
struct the_reserve_is_not_to_be_taken : gate_suite<the_reserve_is_not_to_be_taken, 3, 1> {
  static constexpr const char* name = "the_reserve_is_not_to_be_taken";
  static constexpr int bound = 3;

  void before() {
    start(2, 0);
    settle(gate.keep_in_reserve(1));
  }

  void thread(unsigned index) {
    if (index == 0) {
      submit();
    } else {
      find_runnable(machines[index]);
    }
    run_made_thread();
  }
};

// WG-3. The submitter keeps its processor, and the other processor is in reserve until it is
// released.
struct work_comes_while_there_is_a_reserve : gate_suite<work_comes_while_there_is_a_reserve, 3, 1> {
  static constexpr const char* name = "work_comes_while_there_is_a_reserve";
  static constexpr int bound = 4;

  void before() {
    start(2, 1);
    settle(gate.keep_in_reserve(1));
  }

  void thread(unsigned index) {
    if (index == 0) {
      submit();
    } else if (index == 1) {
      settle_unless_left_out(gate.keep_in_reserve(0), "WG-3 settle after the release");
    } else if (stop_m(machines[2])) {
      find_runnable(machines[2]);
    }
    run_made_thread();
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("wake_gate",
                      {model::scenario_of<submit_races_with_going_idle>(),
                       model::scenario_of<a_machine_that_finds_work_wakes_the_next>(),
                       model::scenario_of<a_claim_that_fails_is_not_forgotten>(),
                       model::scenario_of<work_comes_while_halted>(),
                       model::scenario_of<known_work_is_taken_and_more_comes>(),
                       model::scenario_of<a_thread_that_comes_finds_it>(),
                       model::scenario_of<the_second_thread_finds_it>(),
                       model::scenario_of<two_rely_on_one_thread>(),
                       model::scenario_of<the_reserve_is_not_to_be_taken>(),
                       model::scenario_of<work_comes_while_there_is_a_reserve>()},
                      {{"WG-1"},
                       {"WG-1@wake_needed"},
                       {"WG-1@begin_to_pay"},
                       {"WG-1 settle after a halt", work_comes_while_halted::name},
                       {"WG-1 settle beside work", known_work_is_taken_and_more_comes::name},
                       {"WG-3 settle after the release", work_comes_while_there_is_a_reserve::name},
                       {"WG-2 wake the next", a_machine_that_finds_work_wakes_the_next::name},
                       {"WG-2 claim again", a_claim_that_fails_is_not_forgotten::name},
                       {"TH-1", a_thread_that_comes_finds_it::name},
                       {"TH-1@leave_idle", a_thread_that_comes_finds_it::name},
                       {"TH-1 arrive", two_rely_on_one_thread::name},
                       {"TH-1 ask for a thread", two_rely_on_one_thread::name},
                       {"TH-1 take a processor", two_rely_on_one_thread::name}})
      .run(argc, argv);
}
