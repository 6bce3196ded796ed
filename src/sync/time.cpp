// Timers that users see: of channels and of functions. From Go's time.Timer, time.Ticker and
// time.After with the semantics of Go 1.23.
//
// A timer channel has room for one value and says that it has none. stop() and reset() take out a
// value that was sent and not received, so nothing stale can be received after them: they hold the
// timer while they disarm it and drain its channel.
#include <sley/detail/reference_count.hpp>
#include <sley/time.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/source/timer_hold.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/family.hpp"
#include "runtime/state/records.hpp"
#include "sync/chan_core.hpp"
#include "sync/start_from_timer.hpp"
#include "sync/timer_channel.hpp"

#include <memory>
#include <new>
#include <stdexcept>

namespace sley {

namespace sync {

namespace {

rt::goroutine* send_time(rt::timer* t, std::int64_t now_ns) noexcept {
  chan_core* c = static_cast<channel_timer*>(t)->channel;
  time_point now{std::chrono::nanoseconds(now_ns)};
  detail::lock_guard guard(c->guard);
  const attempt a = send_locked(c, &now);  // dropped if the one before has not been received
  return a.wake == nullptr ? nullptr : a.wake->g;
}

// True if there was a value, which is gone. The timer is held, and it alone sends: an empty channel
// stays empty, so that needs no lock.
bool drain(chan_core* c) noexcept {
  if (!c->has_values()) return false;
  time_point stale;
  detail::lock_guard guard(c->guard);
  if (!c->has_values()) return false;
  c->pop_value(&stale);
  return true;
}

bool stop_and_drain(channel_timer* t, rt::timer_hold& hold) noexcept {
  const bool was_armed = hold.disarm();
  t->is_stopped = true;
  return drain(t->channel) || was_armed;
}

detail::chan_ref make_timer_channel(std::int64_t delay_ns, std::int64_t period_ns) {
  auto t = std::make_unique<channel_timer>();
  detail::chan_ref channel(detail::element_type_of<time_point>, 1);
  t->fire = &send_time;
  t->period_ns = period_ns;
  t->channel = channel.core();
  channel.core()->is_timer = true;
  channel.core()->timer = t.release();  // the channel owns it now
  rt::machine* m = rt::enter();
  const bool is_armed = rt::add_timer(channel.core()->timer, detail::deadline_after(delay_ns));
  rt::leave(m);
  if (!is_armed) throw std::bad_alloc();
  return channel;
}

}  // namespace

void destroy(channel_timer* t) noexcept {
  if (!t->is_stopped) {
    rt::inside inside;
    rt::remove_timer(t);
  }
  delete t;
}

}  // namespace sync

namespace detail {

// One reference is the handle's, one the armed timer's, which goes on to the goroutine that it
// starts. The callable stands behind it, in one piece of memory.
struct alignas(std::max_align_t) function_timer : rt::timer {
  // Throws std::bad_alloc, and what copying the callable throws.
  static function_timer* make(const timer_call& type, void* callable) {
    void* place = ::operator new(sizeof(function_timer) + type.size);
    auto* t = ::new (place) function_timer(type);
    try {
      type.make(t->callable(), callable);
    } catch (...) {
      t->~function_timer();
      ::operator delete(place);
      throw;
    }
    return t;
  }

  void call() {
    inherit();
    type.call(callable());
  }

  void release() noexcept {
    if (!references.drop()) return;
    type.destroy(callable());
    this->~function_timer();
    ::operator delete(this);
  }

  reference_count references{2};  // the timer's is counted, and given up, while it is held

 private:
  explicit function_timer(const timer_call& t) noexcept : type(t) {}
  void* callable() noexcept { return this + 1; }

  // The goroutine of the call descends from the one that has made the timer.
  void inherit() const noexcept {
    if (!heritage.is_any()) return;
    try {
      rt::set_heritage_of_caller(heritage);
    } catch (const std::bad_alloc&) {  // the goroutine is missed by a test, and has no labels
    }
  }

  const timer_call& type;
  const rt::heritage heritage = rt::heritage_of_caller();
};

namespace {

struct function_call {
  function_timer* timer;

  void operator()() && {
    struct releaser {
      function_timer* timer;
      ~releaser() { timer->release(); }
    } guard{timer};
    timer->call();
  }
};

rt::goroutine* start_function(rt::timer* t, std::int64_t now_ns) noexcept {
  return sync::start_from_timer(t, now_ns, function_call{static_cast<function_timer*>(t)});
}

}  // namespace

timer_ref::timer_ref(std::int64_t delay_ns, std::int64_t period_ns)
    : channel_(sync::make_timer_channel(delay_ns, period_ns)) {}

timer_ref::timer_ref(std::int64_t delay_ns, const timer_call& type, void* callable)
    : function_(function_timer::make(type, callable)) {
  function_->fire = &start_function;
  rt::machine* m = rt::enter();
  const bool is_armed = rt::add_timer(function_, deadline_after(delay_ns));
  rt::leave(m);
  if (is_armed) return;
  function_->release();
  function_->release();
  throw std::bad_alloc();
}

inline void timer_ref::check_not_moved_from() const {
  if (function_ == nullptr && channel_.core() == nullptr)
    throw std::logic_error("sley: stop or reset of a timer that was moved from");
}

timer_ref::~timer_ref() {
  if (channel_.core() != nullptr && !channel_.core()->timer->is_stopped) {
    rt::inside inside;
    rt::timer_hold hold(channel_.core()->timer);
    sync::stop_and_drain(channel_.core()->timer, hold);
  }
  if (function_ != nullptr) function_->release();
}

bool timer_ref::stop() const {
  check_not_moved_from();
  rt::inside inside;
  if (function_ == nullptr) {
    rt::timer_hold hold(channel_.core()->timer);
    return sync::stop_and_drain(channel_.core()->timer, hold);
  }
  rt::timer_hold hold(function_);
  const bool was_armed = hold.disarm();
  if (was_armed) function_->references.drop_not_last();
  return was_armed;
}

bool timer_ref::reset(std::int64_t delay_ns, std::int64_t period_ns) const {
  check_not_moved_from();
  const std::int64_t when_ns = deadline_after(delay_ns);
  bool was_pending;
  bool is_armed;
  rt::machine* m = rt::enter();
  if (function_ == nullptr) {
    sync::channel_timer* t = channel_.core()->timer;
    rt::timer_hold hold(t);
    was_pending = sync::stop_and_drain(t, hold);
    t->period_ns = period_ns;
    is_armed = hold.arm(when_ns);
    t->is_stopped = !is_armed;
  } else {
    rt::timer_hold hold(function_);
    was_pending = hold.is_armed();
    is_armed = hold.arm(when_ns);
    if (is_armed && !was_pending) function_->references.add();
  }
  rt::leave(m);
  if (!is_armed) throw std::bad_alloc();
  return was_pending;
}

recv_chan<time_point> timer_ref::once(std::int64_t delay_ns) {
  return recv_chan<time_point>(sync::make_timer_channel(delay_ns, 0));
}

}  // namespace detail

std::int64_t ticker::positive(time_span d) {
  if (d.count() <= 0) throw std::invalid_argument("sley::ticker: the period must be positive");
  return d.count();
}

}  // namespace sley
