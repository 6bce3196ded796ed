// The border between user code and the runtime. Each machine has one. Its thread crosses the border
// at every call of the library and pays two plain stores and a load. An outsider, another thread,
// can close the border for a moment to take the machine's processor away while the thread computes
// or sleeps in the kernel.
//
//   operation                       allowed callers
//   enter, leave, begin_call, ...   the machine's thread (also in a signal handler)
//   close, claim, open              one outsider at a time, which holds the border's lock
//   raise, lower                    any thread
//
//   OW-1  Ownership of the processor. M is the machine's thread, S the outsider.
//           M enters:   1 inside_ = 1          2 read attention_
//           S takes:    3 attention_ |= closed 4 read inside_
//           Bad: M reads no `closed` at 2 and S reads "outside" at 4: both use the processor.
//           So:  a compiler barrier between 1 and 2 (every entry), a heavy one between 3 and 4.
//                Either 2 sees 3, and M waits for the border's lock until S is done, or 4 sees 1,
//                and S leaves the processor alone. Without membarrier no thread may close().
//         Test: tests/model/border_model.cpp, take_races_with_enter.
//   OW-2  S sees M's writes inside, and M sees S's writes: store_release(inside_ = 0) in leave <->
//         load_acquire(inside_) in close; and_acq_rel(attention_) in open <->
//         load_acquire(attention_) in enter.
//   OW-3  Either M ends an announced call, or S claims it.
//           M ends it:  1 call_ = even           2 read attention_
//           S claims:   3 attention_ |= closed   4 read call_
//         As OW-1: either 2 sees 3, and M waits for the border's lock, or 4 sees 1, and S leaves
//         the call alone. A thread inside such a call ends the call before it enters. The barrier
//         after 1 is of the kind that also serves without membarrier. S sees M's writes before the
//         call: store_release(call_) in begin_call <-> load_acquire(call_) in claim.
//         Test: tests/model/border_model.cpp, claim_races_with_end_of_call.
//   AT-1  A requester changes some state and then raises a flag; the thread lowers the flag and
//         then reads that state: or_acq_rel in raise <-> and_acq_rel in lower.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include <cstdint>

namespace sley::parts {

class border {
 public:
  // The reasons for which an entering thread takes the slow path.
  enum reason : std::uint32_t {
    closed = 1,   // an outsider is at work: wait until the border is open again
    lost = 2,     // the processor was taken away
    stop = 4,     // the scheduler stops or has stopped, see the wake gate
    preempt = 8,  // the time slice is over
    forked = 16,  // this process is the child of a fork
    give = 32,    // hand the processor over and go on without it, see preempt.cpp
    moves = 64,   // the thread must move to another CPU, see cpu_spread.cpp
  };

  // The thread enters the runtime. False: there are reasons to attend to. The thread is inside all
  // the same, but may not touch its processor before it has attended to them.
  [[gnu::always_inline]] bool enter() noexcept {
    inside_.store_relaxed(1);  // OW-1: the barriers order it
    detail::lightest_barrier("OW-1");
    return attention_.load_acquire("OW-2") == 0;
  }
  [[gnu::always_inline]] void leave() noexcept { inside_.store_release(0, "OW-2"); }

  // Any thread. If true, the caller sees all writes of the machine's thread before it left.
  bool is_outside() const noexcept { return inside_.load_acquire("OW-2") == 0; }
  // On the machine's thread, or for figures.
  bool is_inside() const noexcept { return inside_.load_relaxed() != 0; }
  std::uint32_t attention() const noexcept { return attention_.load_relaxed(); }

  // Inside: waits until no outsider is at work. Returns the reasons to attend to.
  std::uint32_t wait_until_open() noexcept {
    for (;;) {  // ends when the outsider opens the border
      detail::lock_guard guard(lock_);
      const std::uint32_t reasons = attention_.load_acquire("OW-2");
      if ((reasons & closed) == 0) return reasons;
    }
  }

  // Begins an announced call, from user code: an outsider may claim the processor until end_call(),
  // which the thread must call before it enters.
  [[gnu::always_inline]] void begin_call() noexcept {
    call_.store_release(call_.load_relaxed() + 1, "OW-3");  // odd; only this thread writes it
  }
  // False: there are reasons to attend to; the thread must enter and wait_until_open().
  [[gnu::always_inline]] bool end_call() noexcept {
    call_.store_relaxed(call_.load_relaxed() + 1);  // OW-3: the barriers order it
    detail::light_barrier("OW-3");
    return attention_.load_acquire("OW-2") == 0;
  }
  // The number of the announced call, odd and another one for each; 0 outside of such calls.
  std::uint32_t call() const noexcept {
    const std::uint32_t seen = call_.load_relaxed();
    return seen % 2 == 0 ? 0 : seen;
  }
  // The number of announced calls so far.
  std::uint32_t calls() const noexcept { return call_.load_relaxed() / 2; }

  // Outsider only. True if the thread is still in this announced call; it then stays in the call
  // until open().
  [[nodiscard]] bool claim(std::uint32_t call) noexcept {
    lock_.acquire();
    if (call_.load_relaxed() != call) return false;  // spares the barrier; the load below decides
    attention_.or_acq_rel(closed, "OW-3");
    detail::heavy_barrier("OW-3");
    return call_.load_acquire("OW-3") == call;
  }

  // Outsider only. Closes the border. True: the thread is in user code and stays there until
  // open().
  [[nodiscard]] bool close() noexcept {
    lock_.acquire();
    attention_.or_acq_rel(closed, "OW-1");
    detail::heavy_barrier("OW-1");
    return inside_.load_acquire("OW-2") == 0;
  }
  // Opens the border again and raises the reasons in `raised`.
  void open(std::uint32_t raised = 0) noexcept {
    if (raised != 0) attention_.or_acq_rel(raised, "AT-1");
    attention_.and_acq_rel(~std::uint32_t{closed}, "OW-2");
    lock_.release();
  }
  void raise(std::uint32_t reasons) noexcept { attention_.or_acq_rel(reasons, "AT-1"); }
  // Returns the reasons that were raised before.
  std::uint32_t lower(std::uint32_t reasons) noexcept {
    return attention_.and_acq_rel(~reasons, "AT-1");
  }

  // Held by code that needs the thread to stay alive (signal senders), and by the thread's exit.
  detail::lock& guard() noexcept { return lock_; }

 private:
  // Non-zero while the thread is in the runtime, where no outsider may stop it.
  detail::atomic<std::uint32_t> inside_;     // [atomic OW-1, OW-2]
  detail::atomic<std::uint32_t> attention_;  // [atomic OW-1, OW-2, AT-1] reasons
  detail::atomic<std::uint32_t> call_;       // [atomic OW-3]
  detail::lock lock_{detail::lock_rank::border};
};

}  // namespace sley::parts
