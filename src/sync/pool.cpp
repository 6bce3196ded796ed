// The places of a pool, and its idle objects.
//
// An idle object has no place, and each object that is not idle has one. The holder of a place
// takes an idle object or, while none is idle, makes one. So when every place is taken there are no
// more idle objects than holders that are about to take one.
#include <sley/pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

namespace sley::detail {

namespace {

// What close() adds to the places, for callers that wait and for later callers. Half of the
// semaphore's limit.
constexpr std::ptrdiff_t endless_places = counting_semaphore<>::max() / 2;

std::ptrdiff_t checked_places(std::size_t max) {
  if (max == 0) throw std::invalid_argument("sley::pool: pool_options::max is 0");
  return static_cast<std::ptrdiff_t>(std::min(max, static_cast<std::size_t>(endless_places)));
}

bool has_expired(const pooled& object, time_point now) noexcept { return object.use_by <= now; }

time_point now() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace

pooled::~pooled() = default;

pool_core::pool_core(std::size_t max, std::size_t max_idle, time_span idle_time)
    : max_idle_(max_idle),
      idle_time_(idle_time == idle_time.zero() ? time_span::max() : idle_time),
      places_(checked_places(max)) {}

pool_core::~pool_core() {
  if (sweeper_) sweeper_->stop();
}

void pool_core::take_place(const context& ctx, std::error_code& error) {
  places_.acquire(ctx, error);
  if (error) return;
  const std::lock_guard guard(lock_);
  if (is_closed_) {  // there are places without an end now
    error = std::make_error_code(std::errc::operation_canceled);
  } else {
    ++in_use_;
  }
}

pooled_ptr pool_core::take_idle() {
  for (;;) {           // ends: the idle ones become fewer
    pooled_ptr taken;  // destroyed without the lock
    const std::lock_guard guard(lock_);
    if (idle_.empty()) return nullptr;
    taken = std::move(idle_.back());
    idle_.pop_back();
    if (!has_expired(*taken, now())) return taken;
  }
}

void pool_core::give_back(pooled_ptr object) noexcept {
  if (object) keep(object);
  object.reset();  // before its place is free: it has one while it exists
  {
    const std::lock_guard guard(lock_);
    --in_use_;
  }
  places_.release();
}

// Takes the object if it can be kept. Without memory it can't.
void pool_core::keep(pooled_ptr& object) noexcept {
  const std::lock_guard guard(lock_);
  if (is_closed_ || idle_.size() >= max_idle_) return;
  object->use_by = later(now(), idle_time_);
  try {
    wake_sweeper_at(object->use_by);
    idle_.push_back(std::move(object));
  } catch (const std::bad_alloc&) {
  }
}

void pool_core::close() {
  std::list<pooled_ptr> rest;
  {
    const std::lock_guard guard(lock_);
    if (std::exchange(is_closed_, true)) return;
    rest.swap(idle_);
    if (sweeper_) sweeper_->stop();
  }
  places_.release(endless_places);
  rest.clear();
  const std::lock_guard swept(sweeping_);  // an object may be on its way out
}

std::size_t pool_core::in_use() const {
  const std::lock_guard guard(lock_);
  return in_use_;
}

std::size_t pool_core::idle() const {
  const std::lock_guard guard(lock_);
  return idle_.size();
}

// ---- idle objects whose time is over ----

// Requires the lock. While there are idle objects the sweeper is armed, for the oldest or earlier.
void pool_core::wake_sweeper_at(time_point when) {
  if (is_sweep_due_ || when == time_point::max()) return;
  const time_span rest = time_until(when);
  if (sweeper_) {
    sweeper_->reset(rest);
  } else {
    sweeper_ = after_func(rest, [core = weak_from_this()] {
      if (const auto self = core.lock()) self->sweep();
    });
  }
  is_sweep_due_ = true;
}

// An object is destroyed in a place of its own. If every place is taken, the holders take the
// idle objects, and each object that comes back arms the sweeper again.
void pool_core::sweep() {
  const std::lock_guard one_at_a_time(sweeping_);
  {
    const std::lock_guard guard(lock_);
    is_sweep_due_ = false;
  }
  for (bool is_any = true; is_any && places_.try_acquire();) {  // ends: they become fewer
    pooled_ptr expired = take_expired();
    is_any = expired != nullptr;
    expired.reset();
    places_.release();
  }
}

// Null if the oldest may stay: the sweeper comes back for it. Without memory for that it goes now.
pooled_ptr pool_core::take_expired() {
  const std::lock_guard guard(lock_);
  if (idle_.empty()) return nullptr;
  pooled_ptr& oldest = idle_.front();
  if (!has_expired(*oldest, now())) {
    try {
      wake_sweeper_at(oldest->use_by);
      return nullptr;
    } catch (const std::bad_alloc&) {
    }
  }
  pooled_ptr expired = std::move(oldest);
  idle_.pop_front();
  return expired;
}

}  // namespace sley::detail
