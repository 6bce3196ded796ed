// A goroutine that waits for any event of a descriptor, beside readers and writers.
#pragma once

#include "io/perform.hpp"
#include "runtime/run/netpoll.hpp"

namespace sley::io {

// Observes for its lifetime.
class observing {
 public:
  // The deadlines of these sides count.
  observing(rt::watched* w, bool reads, bool writes) noexcept
      : w_(w), self_{.reads = reads, .writes = writes} {
    rt::enter();
    begun_ = rt::begin_observing(w, self_);
    rt::leave();
  }
  ~observing() {
    if (begun_ != rt::io_result::ready) return;
    const rt::inside inside;
    rt::end_observing(w_, self_);
  }
  observing(const observing&) = delete;
  observing& operator=(const observing&) = delete;

  // Parks until a look at the descriptor is worth it, which the first always is, or until the
  // descriptor or end() ends the wait.
  rt::io_result next_event() noexcept {
    if (begun_ != rt::io_result::ready) return begun_;
    rt::enter();
    const rt::io_result result = rt::wait_for_any_event(w_, self_);
    rt::leave();
    return result;
  }
  // The wait ends, and so does each that follows. Any thread.
  void end(rt::io_result why) noexcept {
    const rt::inside inside;
    rt::end_observer(w_, self_, why);
  }

 protected:
  rt::watched* w_;
  rt::io_observer self_;

 private:
  rt::io_result begun_;
};

}  // namespace sley::io
