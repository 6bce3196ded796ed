// Decides whether a machine must be woken when work is submitted. One word counts the idle
// processors and the searching machines. From Go's wakep, resetspinning and the end of
// findRunnable, where the protocol is spread over five places.
//
// A machine *searches* while it holds a processor and looks for work in the queues of other
// processors. The number of searching machines is at most half the number of busy processors. A
// submitter wakes a machine only if a processor is idle and no machine searches.
//
// A thread that makes a processor idle, ends a halt or shrinks the reserve gets an idle_debt: work
// may have been submitted for which no machine was woken. It pays the debt by a look at everything
// that may wait. The compiler warns of a debt that is dropped, and a check finds one that is kept.
//
//   WG-1  Lost wake-up between submit and going idle.
//           A submits:   1 publish the work          2 read the word
//           B goes idle: 3 idle + 1, searching - 1   4 look at all queues once more
//           Bad: A reads a searcher, or no idle processor, at 2, and B looked before 1: the work
//           waits beside an idle processor.
//           So:  a light barrier between 1 and 2 (on every submit) and a heavy one between 3 and 4
//                (only when a debt is paid). Either 2 sees 3 and A wakes a machine, or 4 sees 1.
//         Test: tests/model/wake_gate_model.cpp, submit_races_with_going_idle.
//   WG-2  A submitter may have relied on a searcher that then finds other work. So when the last
//         searcher stops because it found work, its caller wakes the next one ([[nodiscard]]
//         found_work). A machine that claimed a search and could not start it tries again.
//   WG-3  The reserve withholds a number of idle processors: no machine is woken for them and none
//         takes them. At least one processor is never withheld. So while an idle one is withheld
//         another is busy, and its machine looks at all queues when it goes idle. Shrinking the
//         reserve follows the protocol of going idle.
//         Test: tests/model/wake_gate_model.cpp, the_reserve_is_not_to_be_taken and
//         work_comes_while_there_is_a_reserve.
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/check.hpp"

#include <cstdint>
#include <utility>

namespace sley::parts {

class [[nodiscard]] idle_debt {
 public:
  explicit idle_debt(bool is_owed) noexcept : is_owed_(is_owed) {}
  idle_debt(idle_debt&& other) noexcept : is_owed_(std::exchange(other.is_owed_, false)) {}
  idle_debt& operator=(idle_debt&&) = delete;
  ~idle_debt() { SLEY_DCHECK(!is_owed_, "a look follows when a processor goes idle"); }

  // True: the caller looks at every queue now. False: it need not. Nothing has become idle, or the
  // gate is halted, and the end of the halt is a debt of its own.
  [[nodiscard]] bool begin_to_pay() && noexcept {
    if (!std::exchange(is_owed_, false)) return false;
    detail::heavy_barrier("WG-1");
    return true;
  }
  // A thread that the caller requests after this looks at every queue when it arrives (TH-1).
  void leave_to_new_thread() && noexcept { is_owed_ = false; }

 private:
  bool is_owed_;
};

class wake_gate {
 public:
  // After publishing work: must the caller wake a machine? Cheap. The answer may be outdated, but
  // never in a way that forgets work (WG-1).
  [[nodiscard]] bool wake_needed() const noexcept {
    detail::light_barrier("WG-1");
    return may_wake(word_.load_relaxed());  // relaxed: WG-1's barriers order it
  }

  // Claims the right to wake one machine, which then searches. Succeeds for one caller, and only
  // while no machine searches. The caller then acquires an idle processor or calls claim_failed().
  [[nodiscard]] bool claim_search() noexcept {
    std::uint32_t seen = word_.load_relaxed();  // the cas decides
    while (may_wake(seen)) {  // ends: each failure means that another thread changed the word
      if (word_.cas_acq_rel(seen, seen + one_searching, "WG-1")) return true;
    }
    return false;
  }

  // Gives the claim back because no processor was left. True: claim again (WG-2).
  [[nodiscard]] bool claim_failed() noexcept {
    return may_wake(word_.sub_acq_rel(one_searching, "WG-1") - one_searching);
  }

  // A machine with a processor wants to search. False if enough machines search already.
  [[nodiscard]] bool start_searching() noexcept {
    std::uint32_t seen = word_.load_relaxed();  // the cas decides
    while (2 * searching(seen) < procs_ - idle(seen)) {
      if (word_.cas_acq_rel(seen, seen + one_searching, "WG-1")) return true;
    }
    return false;
  }

  // A searcher found work. True if it was the last one: wake another (WG-2).
  [[nodiscard]] bool found_work() noexcept {
    return searching(word_.sub_acq_rel(one_searching, "WG-1")) == 1;
  }

  // A machine searches although enough do, because it has seen work and holds a processor for it.
  void search_anyway() noexcept { word_.add_acq_rel(one_searching, "WG-1"); }

  // A machine gives up its processor.
  idle_debt go_idle(bool was_searching) noexcept {
    const std::uint32_t change = one_idle - (was_searching ? one_searching : 0);
    return idle_debt((word_.add_acq_rel(change, "WG-1") & halted) == 0);
  }

  // Sets the number of processors in reserve. [one thread]
  idle_debt keep_in_reserve(std::uint32_t procs) noexcept {
    const std::uint32_t before = reserve();
    const std::uint32_t seen = word_.add_acq_rel((procs - before) * one_in_reserve, "WG-1");
    return idle_debt(procs < before && (seen & halted) == 0);
  }
  std::uint32_t reserve() const noexcept { return reserve(word_.load_relaxed()); }

  // The number of idle processors that may be taken into use.
  std::uint32_t available() const noexcept { return available(word_.load_relaxed()); }

  // Takes an idle processor into use. False if none may be taken.
  [[nodiscard]] bool leave_idle() noexcept {
    // Not a load: after an outdated "none" no machine would look again (TH-1).
    std::uint32_t seen = word_.add_acq_rel(0, "TH-1");
    while (available(seen) != 0) {  // ends: each failure means that another thread changed the word
      if (word_.cas_acq_rel(seen, seen - one_idle, "WG-1")) return true;
    }
    return false;
  }

  // While the gate is halted no machine is woken and no processor is taken into use. It is paused
  // between two run()s, and stopped while the number of processors changes.
  void pause() noexcept { word_.or_acq_rel(paused, "WG-1"); }
  idle_debt resume() noexcept {
    return idle_debt((word_.and_acq_rel(~paused, "WG-1") & stopped) == 0);
  }
  void stop() noexcept { word_.or_acq_rel(stopped, "WG-1"); }
  idle_debt restart() noexcept {
    return idle_debt((word_.and_acq_rel(~stopped, "WG-1") & paused) == 0);
  }
  bool is_paused() const noexcept { return (word_.load_acquire("WG-1") & paused) != 0; }
  bool is_halted() const noexcept { return (word_.load_acquire("WG-1") & halted) != 0; }

  // Sets the number of processors, before any machine runs or while stopped. New ones are idle.
  void set_procs(std::uint32_t procs) noexcept { procs_ = procs; }
  void add_idle(std::uint32_t procs) noexcept { word_.add_acq_rel(procs * one_idle, "WG-1"); }
  void remove_idle(std::uint32_t procs) noexcept { word_.sub_acq_rel(procs * one_idle, "WG-1"); }

  std::uint32_t idle() const noexcept { return idle(word_.load_relaxed()); }            // a figure
  std::uint32_t searching() const noexcept { return searching(word_.load_relaxed()); }  // a figure

 private:
  static constexpr std::uint32_t one_searching = 1;
  static constexpr unsigned bits = 10;  // of each count
  static constexpr std::uint32_t count_mask = (1U << bits) - 1;
  static constexpr std::uint32_t one_idle = 1U << bits;
  static constexpr std::uint32_t one_in_reserve = 1U << 2 * bits;
  static constexpr std::uint32_t stopped = 1U << 30;
  static constexpr std::uint32_t paused = 1U << 31;
  static constexpr std::uint32_t halted = stopped | paused;

  static std::uint32_t searching(std::uint32_t word) noexcept { return word & count_mask; }
  static std::uint32_t idle(std::uint32_t word) noexcept { return word >> bits & count_mask; }
  static std::uint32_t reserve(std::uint32_t word) noexcept {
    return word >> 2 * bits & count_mask;
  }
  static std::uint32_t available(std::uint32_t word) noexcept {
    return idle(word) > reserve(word) ? idle(word) - reserve(word) : 0;
  }
  static bool may_wake(std::uint32_t word) noexcept {
    return available(word) != 0 && searching(word) == 0 && (word & halted) == 0;
  }

  detail::atomic<std::uint32_t> word_;  // [atomic WG-1]
  std::uint32_t procs_ = 0;             // [stw] read by holders of a processor
};

}  // namespace sley::parts
