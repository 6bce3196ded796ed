// The border between user code and the runtime, one for each machine: its thread crosses it all the
// time and pays two plain stores and a load; somebody outside can close it for a moment, to take
// the machine's processor away while the thread computes or sleeps in the kernel.
//
//   operation                       who may call it
//   enter, leave, begin_call, ...   the thread itself (also in a signal handler)
//   close, claim, open              one from outside at a time; they hold the border's lock
//   raise, lower                    anybody
//
//   OW-1  Who owns the processor.
//           M enters:   1 inside_ = 1          2 read attention_
//           S takes:    3 attention_ |= closed 4 read inside_
//           Bad: M reads no `closed` at 2 and S reads "outside" at 4: both use the processor.
//           So:  a compiler barrier between 1 and 2 (every entry), a heavy one between 3 and 4.
//                Either 2 sees 3, and M waits for the border's lock until S is done, or 4 sees 1,
//                and S goes away. Without membarrier nobody may close().
//         Test: tests/model/border_model.cpp, take_races_with_enter.
//   OW-2  What M did inside is seen by S, and what S did by M: store_release(inside_ = 0) in leave
//         <-> load_acquire(inside_) in close; and_acq_rel(attention_) in open <->
//         load_acquire(attention_) in enter.
//   OW-3  An announced call is over, or somebody has claimed it.
//           M ends it:  1 call_ = even           2 read attention_
//           S claims:   3 attention_ |= closed   4 read call_
//         As OW-1: either 2 sees 3, and M waits for the border's lock, or 4 sees 1, and S goes
//         away. Inside such a call the thread does not enter, but ends the call before. The barrier
//         at 1 is one that also serves without membarrier. What M did before the call is seen by S:
//         store_release(call_) in begin_call <-> load_acquire(call_) in claim.
//         Test: tests/model/border_model.cpp, claim_races_with_end_of_call.
//   AT-1  Somebody asks for attention and changes what it is about before, the thread lowers the
//         flag and then looks: or_acq_rel in raise <-> and_acq_rel in lower.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include <cstdint>

namespace sley::parts {

class border {
 public:
  // What the thread must look at when it enters.
  enum reason : std::uint32_t {
    closed = 1,   // somebody outside is at work: wait until it is open again
    lost = 2,     // the processor was taken away
    stop = 4,     // the scheduler stops or has stopped, see the wake gate
    preempt = 8,  // the time slice is over
    forked = 16,  // this is the child of a fork
    give = 32,    // the processor is wanted: give it away and go on without, see preempt.cpp
    traced = 64,  // all switches are noted, see tracer.hpp
  };

  // The thread enters the runtime. False: there is something to attend to; it is inside all the
  // same, but may not touch its processor before it has done so.
  [[gnu::always_inline]] bool enter() noexcept {
    inside_.store_relaxed(1);  // OW-1: the barriers order it
    detail::lightest_barrier("OW-1");
    return attention_.load_acquire("OW-2") == 0;
  }
  [[gnu::always_inline]] void leave() noexcept { inside_.store_release(0, "OW-2"); }

  // Anybody; what the thread did before it left is seen then.
  bool is_outside() const noexcept { return inside_.load_acquire("OW-2") == 0; }
  // On the thread itself, or for figures.
  bool is_inside() const noexcept { return inside_.load_relaxed() != 0; }
  std::uint32_t attention() const noexcept { return attention_.load_relaxed(); }

  // Inside: waits until nobody is at work outside. Returns what there is to attend to.
  std::uint32_t wait_until_open() noexcept {
    for (;;) {  // ends when the other side is done
      detail::lock_guard guard(lock_);
      const std::uint32_t reasons = attention_.load_acquire("OW-2");
      if ((reasons & closed) == 0) return reasons;
    }
  }

  // An announced call, from user code: the processor may be claimed. The thread must end_call()
  // before it enters.
  [[gnu::always_inline]] void begin_call() noexcept {
    call_.store_release(call_.load_relaxed() + 1, "OW-3");  // odd; only this thread writes it
  }
  // False: there is something to attend to: enter, and wait_until_open().
  [[gnu::always_inline]] bool end_call() noexcept {
    call_.store_relaxed(call_.load_relaxed() + 1);  // OW-3: the barriers order it
    detail::light_barrier("OW-3");
    return attention_.load_acquire("OW-2") == 0;
  }
  // Another odd number for each announced call, 0 while in none.
  std::uint32_t call() const noexcept {
    const std::uint32_t seen = call_.load_relaxed();
    return seen % 2 == 0 ? 0 : seen;
  }
  // How many there have been.
  std::uint32_t calls() const noexcept { return call_.load_relaxed() / 2; }

  // From outside: true if the thread is still in this announced call; it does not come out of it
  // until open().
  [[nodiscard]] bool claim(std::uint32_t call) noexcept {
    lock_.acquire();
    if (call_.load_relaxed() != call) return false;  // looked at again
    attention_.or_acq_rel(closed, "OW-3");
    detail::heavy_barrier("OW-3");
    return call_.load_acquire("OW-3") == call;
  }

  // From outside: closes the border. True: the thread is in user code and stays there until open().
  [[nodiscard]] bool close() noexcept {
    lock_.acquire();
    attention_.or_acq_rel(closed, "OW-1");
    detail::heavy_barrier("OW-1");
    return inside_.load_acquire("OW-2") == 0;
  }
  // Opens it again; `raised` is what the thread has to attend to from now on.
  void open(std::uint32_t raised = 0) noexcept {
    if (raised != 0) attention_.or_acq_rel(raised, "AT-1");
    attention_.and_acq_rel(~std::uint32_t{closed}, "OW-2");
    lock_.release();
  }
  void raise(std::uint32_t reasons) noexcept { attention_.or_acq_rel(reasons, "AT-1"); }
  // Returns what was raised before.
  std::uint32_t lower(std::uint32_t reasons) noexcept {
    return attention_.and_acq_rel(~reasons, "AT-1");
  }

  // For those who need the thread to exist meanwhile: who signals it, and its end.
  detail::lock& guard() noexcept { return lock_; }

 private:
  // Non-zero while the thread is in the runtime, where nothing may interrupt it.
  detail::atomic<std::uint32_t> inside_;     // [atomic OW-1, OW-2]
  detail::atomic<std::uint32_t> attention_;  // [atomic OW-1, OW-2, AT-1] reasons
  detail::atomic<std::uint32_t> call_;       // [atomic OW-3]
  detail::lock lock_{detail::lock_rank::border};
};

}  // namespace sley::parts
