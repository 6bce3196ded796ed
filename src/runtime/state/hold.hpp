// sysmon holds goroutines for a moment. A goroutine that waits does not run meanwhile, even if it
// is made ready: its stack is at rest, and sysmon looks at it or gives pages of it back. A
// goroutine that runs keeps its name meanwhile. Waiting for sysmon takes no longer than a look at
// some dozens of stacks.
//
//   operation                            allowed callers
//   hold_batch, held_extra               sysmon
//   labels_while_held                    sysmon, while it holds the goroutine
//   wait_while_held                      the machine that will run the goroutine, or its own thread
//   extra_of, hide_extra, change_extra   the goroutine's own thread, outside
//
//   TR-1  A goroutine does not run while sysmon holds it in a wait.
//           S holds:  1 needs |= held               2 read status
//           W wakes:  3 status = runnable           M runs it: 4 read needs
//           Bad: S reads `waiting` at 2, M reads no flag at 4: M runs on a stack that S takes to be
//                at rest.
//           So:  a heavy barrier between 1 and 2. If S still reads `waiting`, 3 is after the
//                barrier, and so is 4, which sees 1, and M waits; so does a thread that wakes for
//                a goroutine of its own. The flag is looked at again after 2: a goroutine that has
//                lived on meanwhile has wiped it out. A thread that reads `waiting` sees the saved
//                context (store_release in transition <-> load_acquire in is_waiting), because
//                `waiting` is stored after it. Without membarrier no waiting goroutine is held.
//                One in a queue may be flagged as well: if S reads `runnable` at 2, M may be behind
//                4, and run it once. wall_sampler.cpp looks at goroutines with that in mind.
//         Test: tests/model/hold_model.cpp.
//   EX-1  A goroutine does not free or write its extra while sysmon reads the name there.
//           S reads:  1 needs |= held    2 read extra, copy the name    3 needs &= ~held
//           G hides:  4 extra = other    5 read needs, wait for 3       6 free it, or change it
//           The other one is null, or a copy.
//           Bad: S reads the extra at 2, and G reads no flag at 5.
//           So:  a light barrier between 4 and 5, a heavy one between 1 and 2: either 2 reads
//                the other one, or 5 sees 1. If the record gets another life between 1 and 2, the
//                flag is wiped out before the extra of that life is there: so the world is stopped,
//                or S looks at the flag again after 2. S sees what G has written to an extra before
//                G showed it: store_release(extra) <-> load_acquire(extra). G sees that S is done:
//                and_acq_rel(needs) <-> load_acquire(needs).
//         Test: tests/model/hold_model.cpp.
#pragma once

#include "platform/os.hpp"
#include "runtime/state/goroutine.hpp"

#include <cstddef>
#include <memory>

namespace sley::rt {

// Returns when sysmon does not hold it any more.
inline void wait_while_held(const goroutine* g) noexcept {
  while ((g->needs.load_acquire("TR-1") & held) != 0) platform::yield_thread();
}

// The goroutine's extra, which is made if it has none. May throw std::bad_alloc.
inline goroutine_extra& extra_of(goroutine* g) {
  goroutine_extra* extra = g->extra.load_relaxed();  // its own
  if (extra == nullptr) {
    extra = new goroutine_extra;
    g->extra.store_release(extra, "EX-1");
  }
  return *extra;
}

// Takes the extra out of the record: sysmon does not look at it any more. Null if there is none.
inline goroutine_extra* hide_extra(goroutine* g) noexcept {
  goroutine_extra* extra = g->extra.load_relaxed();  // its own
  if (extra == nullptr) return nullptr;
  g->extra.store_relaxed(nullptr);  // EX-1: the barriers order it
  detail::light_barrier("EX-1");
  wait_while_held(g);
  return extra;
}

// Shows another extra in the record. Then sysmon does not look at the one before any more.
inline void show_extra(goroutine* g, goroutine_extra* extra) noexcept {
  g->extra.store_release(extra, "EX-1");
  detail::light_barrier("EX-1");
  wait_while_held(g);
}

// Calls change(extra) for the goroutine's extra, which is made if it has none. Meanwhile sysmon
// looks at a copy of what it was. May throw std::bad_alloc; `change` must not throw.
template <class Change>
void change_extra(goroutine* g, const Change& change) {
  goroutine_extra* own = g->extra.load_relaxed();  // its own
  if (own == nullptr) {
    auto made = std::make_unique<goroutine_extra>();
    change(*made);
    g->extra.store_release(made.release(), "EX-1");
    return;
  }
  goroutine_extra before = *own;
  show_extra(g, &before);
  change(*own);
  show_extra(g, own);
}

// Goroutines that sysmon wants to look at. They are held together, because a barrier is dear.
class hold_batch {
 public:
  static constexpr std::size_t held_at_once = 64;

  // May goroutines that wait be held?
  static bool is_possible() noexcept { return !detail::barriers_are_symmetric; }
  // A first look, without any claim on the goroutine: is it worth a place in a batch?
  static bool may_be_held(const goroutine& g) noexcept {
    return g.status.is_waiting() && !g.is_foreign && (g.needs.load_relaxed() & ~timed) == 0;
  }

  bool is_full() const noexcept { return size_ == held_at_once; }
  void add(goroutine* g) noexcept { goroutines_[size_++] = g; }
  // Holds all of them, calls look(g, is_held) for each, and lets it go. A goroutine that does not
  // wait any more is not held. One that is held may be made ready before the look at it. The batch
  // is empty then.
  template <class Look>
  void look_at_all(const Look& look) noexcept {
    for (std::size_t i = 0; i < size_; ++i) goroutines_[i]->needs.or_acq_rel(held, "TR-1");
    if (size_ != 0) detail::heavy_barrier("TR-1");
    bool holds[held_at_once];
    for (std::size_t i = 0; i < size_; ++i) holds[i] = is_held(*goroutines_[i]);
    for (std::size_t i = 0; i < size_; ++i) {
      look(*goroutines_[i], holds[i]);
      let_go(goroutines_[i]);
    }
    size_ = 0;
  }

 private:
  // After the barrier.
  static bool is_held(const goroutine& g) noexcept {
    return g.status.is_waiting() && (g.needs.load_acquire("TR-1") & ~timed) == held;
  }
  static void let_go(goroutine* g) noexcept {
    g->needs.and_acq_rel(static_cast<std::uint8_t>(~held), "TR-1");
  }

  goroutine* goroutines_[held_at_once];
  std::size_t size_ = 0;
};

// Keeps the extra of a goroutine that may be running. If the world is not stopped, only
// labels_while_held() may be read there.
class held_extra {
 public:
  explicit held_extra(goroutine& g) noexcept : g_(g) {
    g.needs.or_acq_rel(held, "EX-1");
    detail::heavy_barrier("EX-1");
  }
  ~held_extra() { g_.needs.and_acq_rel(static_cast<std::uint8_t>(~held), "EX-1"); }
  held_extra(const held_extra&) = delete;
  held_extra& operator=(const held_extra&) = delete;

 private:
  goroutine& g_;
};

// The labels of a goroutine that is held. Null if it has none, or has ended meanwhile.
inline const label_set* labels_while_held(const goroutine& g) noexcept {
  const goroutine_extra* extra = g.extra.load_acquire("EX-1");
  const bool is_still_held = (g.needs.load_relaxed() & held) != 0;  // EX-1: after the load above
  return extra != nullptr && is_still_held ? extra->passed_on.labels.get() : nullptr;
}

}  // namespace sley::rt
