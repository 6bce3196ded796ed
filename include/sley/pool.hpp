// A bounded pool of connections, or of other things that are few and dear.
//
//   sley::pool<connection> connections({.make = [](const sley::context& ctx) { return dial(ctx); },
//                                       .max = 8});
//   auto c = connections.acquire(ctx);       // parks while all eight are in use
//   if (!c->ask(question)) c.discard();      // broken: another one is made in its place
//
// <sley/object_pool.hpp> is for another purpose: it is without a bound, never waits, and saves
// allocations.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/mutex.hpp>
#include <sley/semaphore.hpp>
#include <sley/time.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace sley {

// What a pool makes, and how much of it.
template <class T>
struct pool_options {
  // Makes another object, in the goroutine that wants it, with the context of its acquire(). May
  // park and throw; several may be under way at the same time. Must be set.
  std::function<T(const context&)> make = {};
  // The most objects at any time, at least 1. Idle objects count, and objects that are being made
  // or destroyed.
  std::size_t max = 10;
  // The most that are kept while they are not in use; with 0 each is used once.
  std::size_t max_idle = SIZE_MAX;
  // An object that nothing has used for this long is destroyed. Zero and the largest duration of
  // any unit: never. Negative: as soon as it is given back.
  time_span idle_time = std::chrono::seconds(90);
  // Asked of an idle object before it is handed out. False: it is destroyed, and the next one is
  // asked, or another one made. May park and throw. Empty: all are good.
  std::function<bool(T&)> check = {};
};

namespace detail {

struct SLEY_API pooled {
  pooled() = default;
  pooled(const pooled&) = delete;
  pooled& operator=(const pooled&) = delete;
  virtual ~pooled();
  time_point use_by;
};
using pooled_ptr = std::unique_ptr<pooled>;

// The places of a pool, and its idle objects. Each object that is in use, or made, or destroyed by
// its time has a place, and a new one is made only by the holder of a place while none is idle: so
// there are never more than places.
class SLEY_API pool_core : public std::enable_shared_from_this<pool_core> {
 public:
  // std::invalid_argument: there is no place.
  pool_core(std::size_t max, std::size_t max_idle, time_span idle_time);
  ~pool_core();
  pool_core(const pool_core&) = delete;
  pool_core& operator=(const pool_core&) = delete;

  void take_place(const context& ctx, std::error_code& error);
  // For the holder of a place: the object that was given back last. Null if none is idle.
  pooled_ptr take_idle();
  // With the place. Null: the place alone.
  void give_back(pooled_ptr object) noexcept;
  void close();

  std::size_t in_use() const;
  std::size_t idle() const;

 private:
  void keep(pooled_ptr& object) noexcept;
  void wake_sweeper_at(time_point when);
  void sweep();
  pooled_ptr take_expired();

  const std::size_t max_idle_;
  const time_span idle_time_;
  mutex sweeping_;  // locked while sweep() runs
  counting_semaphore<> places_;
  mutable mutex lock_;
  std::size_t in_use_ = 0;        // [lock: lock_] places that are taken
  std::list<pooled_ptr> idle_;    // [lock: lock_] in the order in which they were given back
  bool is_closed_ = false;        // [lock: lock_]
  bool is_sweep_due_ = false;     // [lock: lock_] sweeper_ is armed
  std::optional<timer> sweeper_;  // [lock: lock_]
};

}  // namespace detail

// Hands out at most `max` objects at a time, and keeps them when they are given back. The object
// that was given back last is handed out first, so that the surplus of a busy hour grows old and
// goes. No goroutine runs for the pool: a timer starts one when an idle object's time is over. Any
// thread; it may be destroyed when no acquire() is under way. Handles may outlive it. From Go's
// database/sql.DB, which has such a pool inside.
template <class T>
class pool {
  struct object final : detail::pooled {
    object(const std::function<T(const context&)>& make, const context& ctx) : value(make(ctx)) {}
    T value;
  };

 public:
  // The right to use one object. Its end gives the object back. Move-only, for one goroutine at a
  // time.
  class handle {
   public:
    handle() noexcept = default;  // of nothing
    handle(handle&&) noexcept = default;
    handle& operator=(handle&& other) noexcept {
      give_back();
      core_ = std::move(other.core_);
      object_ = std::move(other.object_);
      return *this;
    }
    ~handle() { give_back(); }

    // False of nothing. The object; only get() may be called of nothing, and is null then.
    explicit operator bool() const noexcept { return object_ != nullptr; }
    T* get() const noexcept { return object_ ? &object_->value : nullptr; }
    T& operator*() const noexcept { return object_->value; }
    T* operator->() const noexcept { return &object_->value; }

    // Now, and not at the end; afterwards it is a handle of nothing. The first caller in line gets
    // the object. Never parks for long, unless the object is destroyed and its destructor parks.
    void give_back() noexcept {
      if (core_) std::exchange(core_, nullptr)->give_back(std::move(object_));
    }
    // The object is broken: destroys it. The first caller in line makes another one.
    void discard() noexcept {
      object_.reset();
      give_back();
    }

   private:
    friend class pool;
    explicit handle(std::shared_ptr<detail::pool_core> core) noexcept : core_(std::move(core)) {}

    std::shared_ptr<detail::pool_core> core_;  // null: it holds no place
    std::unique_ptr<object> object_;
  };

  // std::invalid_argument: `make` is empty, or `max` is 0.
  explicit pool(pool_options<T> options)
      : make_(std::move(options.make)), check_(std::move(options.check)) {
    if (!make_) throw std::invalid_argument("sley::pool: pool_options::make is empty");
    core_ = std::make_shared<detail::pool_core>(options.max, options.max_idle, options.idle_time);
  }
  // As close().
  ~pool() {
    if (core_) core_->close();
  }
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  // An idle object, or else a new one. Parks while `max` objects are in use; callers wait in order,
  // and none overtakes. The wait ends with the context, whose error it is then, and with close():
  // std::errc::operation_canceled. The first form throws std::system_error for these, and the
  // second returns a handle of nothing. What `make` and `check` throw leaves both, and the place is
  // the next caller's; an object whose check throws is destroyed. A foreign thread blocks.
  handle acquire(const context& ctx = context::background()) {
    std::error_code error;
    handle h = acquire(ctx, error);
    if (error) throw std::system_error(error, "sley::pool: acquire");
    return h;
  }
  handle acquire(const context& ctx, std::error_code& error) {
    core_->take_place(ctx, error);
    if (error) return {};
    handle h(core_);
    while (detail::pooled_ptr idle = core_->take_idle()) {  // ends: there are `max` at most
      std::unique_ptr<object> found(static_cast<object*>(idle.release()));
      if (check_ && !check_(found->value)) continue;
      h.object_ = std::move(found);
      return h;
    }
    h.object_ = std::make_unique<object>(make_, ctx);
    return h;
  }

  // Ends all waits, and every acquire() from now on: std::errc::operation_canceled. The idle
  // objects are destroyed when it returns; objects in use are destroyed when they are given back.
  // Parks while destructors do. Not for an object's own destructor. Once; then it does nothing.
  void close() { core_->close(); }

  // Figures of this moment. Objects that are being made count as in use.
  std::size_t in_use() const { return core_->in_use(); }
  std::size_t idle() const { return core_->idle(); }

 private:
  const std::function<T(const context&)> make_;
  const std::function<bool(T&)> check_;
  std::shared_ptr<detail::pool_core> core_;
};

}  // namespace sley
