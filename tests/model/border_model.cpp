// The border between user code and the runtime: a thread crosses it with its processor, while other
// threads take the processor away or claim it from an announced call. The verbs come from
// src/runtime/entry/enter.cpp, blocking.cpp, preempt.cpp, retake.cpp and hand_off.cpp, cut down
// to what touches the border and what it protects.
//
// No thread closes a border where barriers are equal: the scenarios with close() have one-sided
// ones.
#include "parts/border.hpp"

#include "model/locks.hpp"

using namespace sley;
using parts::border;

namespace {

constexpr int any_number = 1000;

template <class Derived, unsigned Threads>
struct border_suite : model::locking_suite<Derived, Threads> {
  border edge;                             // of the one machine
  detail::plain<bool> has_p{true};         // machine::p; the processor is the only one
  detail::plain<int> uses;                 // the processor's fields, used by its holder
  detail::plain<std::uint32_t> announced;  // the number of the machine's last announced call
  detail::lock lock;                       // the scheduler's
  detail::plain<bool> is_idle;             // under it: no thread has the processor

  // Others may have run since the caller has found out that it may.
  void use() {
    rl::ctx().sched();
    uses.set(uses.get() + 1);
  }

  // ---- the machine's thread ----

  // Sees to what the border says, and goes on without a processor if there is none.
  void attend() {
    const std::uint32_t reasons = edge.wait_until_open();
    if ((reasons & border::lost) != 0) RL_ASSERT(!has_p.get());
    if (!has_p.get()) regain_p();
  }

  void regain_p() {
    detail::lock_guard guard(lock);
    if (!is_idle.get()) return;
    is_idle.set(false);
    has_p.set(true);
    edge.lower(border::lost);
  }

  void use_and_leave() {
    if (has_p.get()) use();
    edge.leave();
  }

  void pass() {
    if (!edge.enter()) attend();
    use_and_leave();
  }

  void begin_call() {
    announced.set(announced.get() == 0 ? 1 : announced.get() + 2);
    edge.begin_call();
  }

  void end_call() {
    if (edge.end_call()) return;
    edge.enter();
    attend();
    use_and_leave();
  }

  // ---- outside ----

  // The caller keeps the thread out. True: the processor is in the caller's hand.
  bool take_p() {
    if (!has_p.get()) return false;
    has_p.set(false);
    use();
    return true;
  }

  void make_idle() {
    detail::lock_guard guard(lock);
    RL_ASSERT(!is_idle.get());
    is_idle.set(true);
  }

  // Takes the processor, unless it has been used more often than that.
  void take_from_user_code(int most_uses) {
    const bool is_out = edge.close();
    const bool may_take = is_out && uses.get() <= most_uses && take_p();
    edge.open(may_take ? std::uint32_t{border::lost} : 0);
    if (may_take) make_idle();
  }

  // True if the thread was still in that call.
  bool take_from(std::uint32_t call, int most_uses) {
    const bool is_in_call = edge.claim(call);
    if (is_in_call) RL_ASSERT(announced.get() == call);
    const bool may_take = is_in_call && uses.get() <= most_uses && take_p();
    edge.open(may_take ? std::uint32_t{border::lost} : 0);
    if (may_take) make_idle();
    return is_in_call;
  }

  void take_from_call() {
    const std::uint32_t call = edge.call();
    if (call != 0) take_from(call, any_number);
  }

  void after() { RL_ASSERT(has_p.get() != is_idle.get()); }
};

template <class Derived, unsigned Threads>
struct closing_suite : border_suite<Derived, Threads> {
  static constexpr bool has_barriers = false;
};

// OW-1, OW-2. A thread that uses the processor sees all earlier changes to it. The outsider goes
// away again if the processor has been used already.
struct take_races_with_enter : closing_suite<take_races_with_enter, 2> {
  static constexpr const char* name = "take_races_with_enter";
  static constexpr int bound = 5;

  void thread(unsigned index) {
    if (index == 0) {
      pass();
      pass();
    } else {
      take_from_user_code(0);
    }
  }
};

// Each looks again once it has closed the border, so the processor is taken once, and once more if
// the thread has got it back.
struct two_outsiders_take_turns : closing_suite<two_outsiders_take_turns, 3> {
  static constexpr const char* name = "two_outsiders_take_turns";
  static constexpr int bound = 3;

  void thread(unsigned index) {
    if (index == 0) {
      pass();
      pass();
    } else {
      take_from_user_code(any_number);
    }
  }
};

// OW-3. The call that was seen may be over, and another one may have begun.
struct claim_races_with_end_of_call : border_suite<claim_races_with_end_of_call, 2> {
  static constexpr const char* name = "claim_races_with_end_of_call";
  static constexpr int bound = 5;

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 2; ++i) {
        begin_call();
        end_call();
        pass();
      }
    } else if (const std::uint32_t call = edge.call(); call != 0) {
      take_from(call, 0);
    }
  }
};

// A claim without a take leaves all as it was: the call may be claimed again.
struct a_claim_is_given_back : border_suite<a_claim_is_given_back, 2> {
  static constexpr const char* name = "a_claim_is_given_back";
  static constexpr int bound = 5;

  void thread(unsigned index) {
    if (index == 0) {
      begin_call();
      end_call();
      pass();
    } else if (const std::uint32_t call = edge.call(); call != 0) {
      if (!take_from(call, -1)) return;
      const bool again = take_from(call, any_number);
      RL_ASSERT(again || edge.call() != call);
    }
  }
};

// The second finds the call claimed, or the processor gone.
struct two_outsiders_claim : border_suite<two_outsiders_claim, 3> {
  static constexpr const char* name = "two_outsiders_claim";
  static constexpr int bound = 3;

  void thread(unsigned index) {
    if (index == 0) {
      begin_call();
      end_call();
      pass();
    } else {
      take_from_call();
    }
  }
};

// A call begins or ends while the border is closed.
struct close_and_claim : closing_suite<close_and_claim, 3> {
  static constexpr const char* name = "close_and_claim";
  static constexpr int bound = 3;

  void thread(unsigned index) {
    if (index == 0) {
      begin_call();
      end_call();
      pass();
    } else if (index == 1) {
      take_from_user_code(any_number);
    } else {
      take_from_call();
    }
  }
};

// The function that is called uses the library: its announcement is over then.
struct the_library_is_used_in_a_call : border_suite<the_library_is_used_in_a_call, 2> {
  static constexpr const char* name = "the_library_is_used_in_a_call";
  static constexpr int bound = 4;

  void thread(unsigned index) {
    if (index == 0) {
      begin_call();
      const bool must_attend = !model::is_left_out("end the call") && !edge.end_call();
      if (!edge.enter() || must_attend) attend();
      use_and_leave();
    } else {
      take_from_call();
    }
  }
};

// A signal is an entry like any other, so it must not be one while the call is announced.
struct a_signal_comes_in_a_call : border_suite<a_signal_comes_in_a_call, 2> {
  static constexpr const char* name = "a_signal_comes_in_a_call";
  static constexpr int bound = 4;

  void thread(unsigned index) {
    if (index == 0) {
      begin_call();
      on_interrupt();
      const bool is_well = edge.end_call();
      on_interrupt();
      if (!edge.enter() || !is_well) attend();
      use_and_leave();
    } else {
      take_from_call();
    }
  }

  void on_interrupt() {
    const bool is_in_call = !model::is_left_out("look for a call") && edge.call() != 0;
    if (edge.is_inside() || is_in_call) return;
    edge.enter();
    attend();
    use_and_leave();
  }
};

// AT-1. Two outsiders ask for attention. The thread lowers the flags and looks what they are about.
struct attention_is_not_missed : border_suite<attention_is_not_missed, 3> {
  static constexpr const char* name = "attention_is_not_missed";
  static constexpr int bound = 6;

  detail::plain<bool> scheduler_stops;
  detail::plain<bool> slice_is_over;
  std::uint32_t seen = 0;

  void thread(unsigned index) {
    if (index == 0) {
      look();
      look();
    } else if (index == 1) {
      scheduler_stops.set(true);
      edge.raise(border::stop);
    } else {
      slice_is_over.set(true);
      edge.raise(border::preempt);
    }
  }

  void look() {
    if (edge.attention() == 0) return;
    const std::uint32_t lowered = edge.lower(border::stop | border::preempt);
    if ((lowered & border::stop) != 0) RL_ASSERT(scheduler_stops.get());
    if ((lowered & border::preempt) != 0) RL_ASSERT(slice_is_over.get());
    RL_ASSERT((seen & lowered) == 0);
    seen |= lowered;
  }

  // A flag that the thread has not seen stays raised for the next time.
  void after() { RL_ASSERT((seen ^ edge.attention()) == (border::stop | border::preempt)); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "border",
             {model::scenario_of<take_races_with_enter>(),
              model::scenario_of<two_outsiders_take_turns>(),
              model::scenario_of<claim_races_with_end_of_call>(),
              model::scenario_of<a_claim_is_given_back>(),
              model::scenario_of<two_outsiders_claim>(), model::scenario_of<close_and_claim>(),
              model::scenario_of<the_library_is_used_in_a_call>(),
              model::scenario_of<a_signal_comes_in_a_call>(),
              model::scenario_of<attention_is_not_missed>()},
             {{"OW-1"},
              {"OW-1@close"},
              {"OW-2"},
              {"OW-2@enter"},
              {"OW-2@leave"},
              {"OW-2@close"},
              {"OW-2@open"},
              {"OW-2@open.release"},
              {"OW-3", claim_races_with_end_of_call::name},
              {"OW-3@begin_call", claim_races_with_end_of_call::name},
              {"OW-3@end_call", claim_races_with_end_of_call::name},
              {"OW-3@claim", claim_races_with_end_of_call::name},
              {"end the call", the_library_is_used_in_a_call::name},
              {"look for a call", a_signal_comes_in_a_call::name},
              {"AT-1", attention_is_not_missed::name},
              {"AT-1@raise", attention_is_not_missed::name},
              {"AT-1@raise.release", attention_is_not_missed::name},
              {"AT-1@lower", attention_is_not_missed::name},
              {"AT-1@lower.acquire", attention_is_not_missed::name}})
      .run(argc, argv);
}
