// weighted_semaphore: a list of waiters, with what they need, guarded by a mutex. Each waits at a
// channel of its own, so that it can wait for something else as well.
#include <sley/semaphore.hpp>

#include <sley/select.hpp>
#include <sley/time.hpp>

#include <mutex>
#include <stdexcept>

namespace sley {

// On the stack of the waiter.
struct weighted_semaphore::waiter {
  std::int64_t need;
  chan<void> ready;            // closed, with the mutex held, when it has got what it needs
  waiter* next = nullptr;      // [lock: mutex_]
  waiter* previous = nullptr;  // [lock: mutex_]
  bool is_served = false;      // [lock: mutex_]
};

namespace {

void check(std::int64_t k) {
  if (k < 0) throw std::logic_error("sley::weighted_semaphore: the number of units is negative");
}

// Waits until a receive from one of the two can go on, or the deadline has passed.
void wait_for(const chan<void>& ready, const recv_chan<void>& canceled, std::int64_t deadline_ns) {
  if (deadline_ns == detail::no_deadline) {
    select(on_receive(ready), on_receive(canceled));
  } else {
    const time_point deadline{std::chrono::nanoseconds(deadline_ns)};
    select(on_receive(ready), on_receive(canceled), on_timeout(detail::time_until(deadline)));
  }
}

}  // namespace

weighted_semaphore::weighted_semaphore(std::int64_t n) : size_(n) { check(n); }

void weighted_semaphore::acquire(std::int64_t k) {
  if (k > size_)
    throw std::logic_error(
        "sley::weighted_semaphore: more units are wanted than the semaphore has");
  acquire_until(k, detail::no_deadline, nullptr);
}

void weighted_semaphore::acquire(const context& ctx, std::int64_t k) {
  std::error_code error;
  acquire(ctx, k, error);
  if (error) throw std::system_error(error, "sley::weighted_semaphore: acquire");
}

void weighted_semaphore::acquire(const context& ctx, std::int64_t k, std::error_code& error) {
  check(k);
  error = ctx.error();
  if (!error && !try_acquire_unless(k, ctx.done())) error = ctx.error();
}

bool weighted_semaphore::try_acquire(std::int64_t k) {
  check(k);
  const std::lock_guard guard(mutex_);
  if (first_ != nullptr || k > size_ - taken_) return false;
  taken_ += k;
  return true;
}

// A waiter that was served at the last moment keeps what it got. A waiter that can never be served
// does not stand in line, where it would keep others waiting.
bool weighted_semaphore::acquire_until(std::int64_t k, std::int64_t deadline_ns,
                                       recv_chan<void> canceled) {
  if (try_acquire(k)) return true;
  waiter self{k, chan<void>()};
  if (k > size_) {
    wait_for(nullptr, canceled, deadline_ns);
    return false;
  }
  {
    const std::lock_guard guard(mutex_);
    push(&self);
    serve_waiters();
  }
  try {
    wait_for(self.ready, canceled, deadline_ns);
  } catch (...) {  // no memory
    if (leave_line(&self)) release(k);
    throw;
  }
  return leave_line(&self);
}

// True if it was served after all.
bool weighted_semaphore::leave_line(waiter* w) {
  const std::lock_guard guard(mutex_);
  if (!w->is_served) {
    remove(w);
    serve_waiters();  // waiters behind it may need less
  }
  return w->is_served;
}

void weighted_semaphore::release(std::int64_t k) {
  check(k);
  const std::lock_guard guard(mutex_);
  if (k > taken_)
    throw std::logic_error("sley::weighted_semaphore: more units are released than are taken");
  taken_ -= k;
  serve_waiters();
}

// Requires the mutex.
void weighted_semaphore::serve_waiters() {
  while (first_ != nullptr && first_->need <= size_ - taken_) {
    waiter* w = first_;
    remove(w);
    taken_ += w->need;
    w->is_served = true;
    w->ready.close();
  }
}

void weighted_semaphore::push(waiter* w) noexcept {
  w->previous = last_;
  (last_ != nullptr ? last_->next : first_) = w;
  last_ = w;
}

void weighted_semaphore::remove(waiter* w) noexcept {
  (w->previous != nullptr ? w->previous->next : first_) = w->next;
  (w->next != nullptr ? w->next->previous : last_) = w->previous;
}

}  // namespace sley
