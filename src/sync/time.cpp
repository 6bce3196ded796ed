// Timers that users see: of channels and of functions. From Go's time.Timer, time.Ticker and
// time.After with the semantics of Go 1.23.
//
// A timer channel has room for one value and says that it has none. stop() and reset() take out a
// value that was sent and not received, so nothing stale can be received after them. They first
// disarm, which waits for a timer that is firing (its function runs under the heap's lock), and
// then drain.
#include <sley/time.hpp>

#include "runtime/enter.hpp"
#include "runtime/records.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/timer.hpp"
#include "sync/chan_core.hpp"
#include "sync/start_from_timer.hpp"
#include "sync/timer_channel.hpp"

#include <memory>
#include <new>
#include <stdexcept>

namespace sley {

namespace {

[[nodiscard]] bool arm(rt::timer* t, std::int64_t delay_ns, std::int64_t period_ns) noexcept {
  t->period_ns = period_ns;
  return rt::add_timer(t, detail::deadline_after(delay_ns));
}

}  // namespace

namespace sync {

namespace {

rt::goroutine* send_time(rt::timer* t, std::int64_t now_ns) noexcept {
  chan_core* c = static_cast<channel_timer*>(t)->channel;
  time_point now{std::chrono::nanoseconds(now_ns)};
  detail::lock_guard guard(c->guard);
  const attempt a = send_locked(c, &now);  // dropped if the one before has not been received
  return a.wake == nullptr ? nullptr : a.wake->g;
}

// True if there was a value, which is gone.
bool drain(chan_core* c) noexcept {
  time_point stale;
  detail::lock_guard guard(c->guard);
  if (!c->has_values()) return false;
  c->pop_value(&stale);
  return true;
}

bool stop_and_drain(channel_timer* t) noexcept {
  const bool was_armed = rt::remove_timer(t);
  return drain(t->channel) || was_armed;
}

detail::chan_ref make_timer_channel(std::int64_t delay_ns, std::int64_t period_ns) {
  auto t = std::make_unique<channel_timer>();
  detail::chan_ref channel(detail::element_type_of<time_point>, 1);
  t->fire = &send_time;
  t->channel = channel.core();
  channel.core()->is_timer = true;
  channel.core()->timer = t.release();  // the channel owns it now
  rt::inside inside;
  if (!arm(channel.core()->timer, delay_ns, period_ns)) throw std::bad_alloc();
  return channel;
}

}  // namespace

void destroy(channel_timer* t) noexcept {
  {
    rt::inside inside;
    rt::remove_timer(t);
  }
  delete t;
}

}  // namespace sync

namespace detail {

// One reference is the handle's, one the armed timer's, which goes on to the goroutine that it
// starts.
struct function_timer : rt::timer {
  explicit function_timer(std::function<void()> f) : function(std::move(f)) {}

  void retain() noexcept { references.add_relaxed(1); }  // the caller holds one
  void release() noexcept {
    if (references.sub_acq_rel(1, "FT-1") == 1) delete this;
  }

  lock guard;  // one stop or reset at a time; before the heap's lock
  // FT-1  Uses through other references are over before the last one frees it: sub_acq_rel in
  //       release.
  atomic<std::uint32_t> references{1};  // [atomic FT-1]
  std::function<void()> function;       // [const]
};

namespace {

struct function_call {
  function_timer* timer;

  void operator()() && {
    struct releaser {
      function_timer* timer;
      ~releaser() { timer->release(); }
    } guard{timer};
    timer->function();
  }
};

rt::goroutine* start_function(rt::timer* t, std::int64_t now_ns) noexcept {
  return sync::start_from_timer(t, now_ns, function_call{static_cast<function_timer*>(t)});
}

bool arm_function(function_timer* t, std::int64_t delay_ns) noexcept {
  t->retain();
  if (arm(t, delay_ns, 0)) return true;
  t->release();
  return false;
}

// Requires the timer's guard.
bool stop_function(function_timer* t) noexcept {
  if (!rt::remove_timer(t)) return false;
  t->release();
  return true;
}

}  // namespace

timer_ref::timer_ref(std::int64_t delay_ns, std::int64_t period_ns)
    : channel_(sync::make_timer_channel(delay_ns, period_ns)) {}

timer_ref::timer_ref(std::int64_t delay_ns, std::function<void()> f)
    : function_(new function_timer(std::move(f))) {
  function_->fire = &start_function;
  rt::inside inside;
  if (!arm_function(function_, delay_ns)) {
    function_->release();
    throw std::bad_alloc();
  }
}

timer_ref::~timer_ref() {
  if (channel_.core() != nullptr) {
    rt::inside inside;
    lock_guard guard(channel_.core()->timer->guard);
    rt::remove_timer(channel_.core()->timer);
  }
  if (function_ != nullptr) function_->release();
}

bool timer_ref::stop() const {
  rt::inside inside;
  if (function_ != nullptr) {
    lock_guard guard(function_->guard);
    return stop_function(function_);
  }
  lock_guard guard(channel_.core()->timer->guard);
  return sync::stop_and_drain(channel_.core()->timer);
}

bool timer_ref::reset(std::int64_t delay_ns, std::int64_t period_ns) const {
  rt::inside inside;
  bool was_pending;
  bool is_armed;
  if (function_ != nullptr) {
    lock_guard guard(function_->guard);
    was_pending = stop_function(function_);
    is_armed = arm_function(function_, delay_ns);
  } else {
    sync::channel_timer* t = channel_.core()->timer;
    lock_guard guard(t->guard);
    was_pending = sync::stop_and_drain(t);
    is_armed = arm(t, delay_ns, period_ns);
  }
  if (!is_armed) throw std::bad_alloc();
  return was_pending;
}

recv_chan<time_point> timer_ref::once(std::int64_t delay_ns) {
  return recv_chan<time_point>(sync::make_timer_channel(delay_ns, 0));
}

}  // namespace detail

std::int64_t ticker::positive(std::chrono::nanoseconds d) {
  if (d.count() <= 0) throw std::invalid_argument("sley::ticker: the period must be positive");
  return d.count();
}

}  // namespace sley
