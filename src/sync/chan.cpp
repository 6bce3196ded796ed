// Operations on one channel. From Go's chansend, chanrecv and closechan.
#include <sley/chan.hpp>
#include <sley/select.hpp>

#include "base/check.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/park.hpp"
#include "sync/chan_core.hpp"
#include "sync/timer_channel.hpp"

#include <limits>
#include <new>

namespace sley {

channel_closed::~channel_closed() = default;

namespace sync {

namespace {

// Inlined into the operations of one channel. A select and the timers call them by send_locked and
// receive_locked.

// CH-2: a receiver waits only if the ring is empty, so it gets the value straight from the sender:
// its room is on its own stack.
[[gnu::always_inline]] inline attempt attempt_send(chan_core* c, void* value) noexcept {
  if (c->closed.load_relaxed()) return {chan_status::closed};
  if (chan_waiter* w = c->receivers.claim_first()) {
    c->move(w->element, value);
    w->success = true;
    return {chan_status::ok, w};
  }
  if (!c->has_room()) return {chan_status::would_block};
  c->push_value(value);
  return {chan_status::ok};
}

// With a full ring and a sender that waits, the receiver takes the oldest value and the sender's
// goes last, so that none overtakes.
[[gnu::always_inline]] inline attempt attempt_receive(chan_core* c, void* out) noexcept {
  if (c->has_values()) {
    c->pop_value(out);
    chan_waiter* w = c->senders.claim_first();
    if (w != nullptr) {
      c->push_value(w->element);
      w->success = true;
    }
    return {chan_status::ok, w};
  }
  if (chan_waiter* w = c->senders.claim_first()) {
    c->move(out, w->element);
    w->success = true;
    return {chan_status::ok, w};
  }
  return {c->closed.load_relaxed() ? chan_status::closed : chan_status::would_block};
}

}  // namespace

attempt send_locked(chan_core* c, void* value) noexcept { return attempt_send(c, value); }
attempt receive_locked(chan_core* c, void* out) noexcept { return attempt_receive(c, out); }

// A channel that is open, and a moment later full, was open and full at once: open channels only
// close.
bool would_block_send(const chan_core* c) noexcept {
  if (c->closed.load_acquire("CH-4")) return false;
  return c->capacity == 0 ? c->receivers.is_empty() : !c->has_room();
}

// Empty and a moment later open: it was empty and open when it was found empty (CH-4).
bool would_block_receive(const chan_core* c) noexcept {
  const bool empty = c->capacity == 0 ? c->senders.is_empty() : !c->has_values();
  return empty && !c->closed.load_acquire("CH-4");
}

namespace {

[[noreturn, gnu::noinline]] void throw_closed() {
  throw channel_closed("sley: send on closed channel");
}

// One operation, waiting if it must. Both directions are alike but for the attempt, the queue, and
// what a closed channel means.
struct send_operation {
  // The most frequent case: no receiver waits, the ring has room, and the value moves without a
  // call.
  static bool at_once(chan_core* c, void* value) noexcept {
    if (c->closed.load_relaxed() || !c->receivers.is_empty() || !c->has_room()) return false;
    return c->push_word(value);
  }
  static attempt locked(chan_core* c, void* value) noexcept { return attempt_send(c, value); }
  static waiter_queue& queue(chan_core* c) noexcept { return c->senders; }
  static void result(chan_status s) {
    if (s != chan_status::ok) throw_closed();
  }
  static constexpr rt::wait reason = rt::wait::chan_send;
};
struct receive_operation {
  static bool at_once(chan_core* c, void* out) noexcept {
    return c->senders.is_empty() && c->has_values() && c->pop_word(out);
  }
  static attempt locked(chan_core* c, void* out) noexcept { return attempt_receive(c, out); }
  static waiter_queue& queue(chan_core* c) noexcept { return c->receivers; }
  static bool result(chan_status s) noexcept { return s == chan_status::ok; }
  static constexpr rt::wait reason = rt::wait::chan_receive;
};

// The rare ways through wait_for. Each is a tail call, so the frequent way needs no frame.

// With the lock held: what at_once did not do.
template <class Operation>
[[gnu::noinline]] auto wait_for_peer(rt::machine* m, chan_core* c, void* element) {
  const attempt a = Operation::locked(c, element);
  if (a.status != chan_status::would_block) {
    c->guard.release();
    if (a.wake != nullptr) rt::ready(a.wake->g);
    rt::leave(m);
    return Operation::result(a.status);
  }
  chan_waiter* chosen;
  chan_waiter self;
  self.g = m->g;
  self.element = element;
  self.chosen = &chosen;
  Operation::queue(c).push(&self);
  rt::park_and_release(Operation::reason, c, c->guard);
  rt::leave();
  return Operation::result(self.success ? chan_status::ok : chan_status::closed);
}

// In the runtime; another thread holds the lock.
template <class Operation>
[[gnu::noinline]] auto wait_for_lock(rt::machine* m, chan_core* c, void* element) {
  c->guard.acquire_slow();
  return wait_for_peer<Operation>(m, c, element);
}

// The machine has reasons to attend to, or the thread has no machine yet.
template <class Operation>
[[gnu::noinline]] auto wait_from_outside(chan_core* c, void* element) {
  rt::machine* m = rt::enter();
  c->guard.acquire();
  return wait_for_peer<Operation>(m, c, element);
}

// The operation is done; a thread may sleep on the lock.
template <class Operation>
[[gnu::noinline]] auto release_and_leave(rt::machine* m, chan_core* c,
                                         detail::lock::rest r) noexcept {
  c->guard.end_release(r);
  rt::leave(m);
  return Operation::result(chan_status::ok);
}

template <class Operation>
[[gnu::always_inline]] inline auto wait_for(chan_core* c, void* element) {
  rt::machine* m = rt::try_enter();
  if (m == nullptr) return wait_from_outside<Operation>(c, element);
  if (!c->guard.try_acquire()) return wait_for_lock<Operation>(m, c, element);
  if (!Operation::at_once(c, element)) return wait_for_peer<Operation>(m, c, element);
  const detail::lock::rest r = c->guard.begin_release();
  if (r != detail::lock::rest::nothing) return release_and_leave<Operation>(m, c, r);
  rt::leave(m);
  return Operation::result(chan_status::ok);
}

// ok, closed or would_block.
template <class Operation>
chan_status try_once(chan_core* c, void* element) noexcept {
  rt::machine* m = rt::enter();
  c->guard.acquire();
  const attempt a = Operation::locked(c, element);
  c->guard.release();
  if (a.wake != nullptr) rt::ready(a.wake->g);
  rt::leave(m);
  return a.status;
}

[[noreturn]] void wait_for_ever(rt::wait reason) {
  rt::enter();
  for (;;) {  // no waker knows this goroutine, so park does not return
    rt::park(reason, nullptr, [](rt::goroutine*, void*) noexcept {}, nullptr);
  }
}

chan_status select_one(chan_core* c, void* element, detail::case_kind kind,
                       std::int64_t deadline_ns) {
  detail::select_case one{c, element, kind, false};
  alignas(std::max_align_t) std::byte scratch[detail::select_scratch_bytes(1)];
  const std::size_t chosen = detail::select(&one, 1, deadline_ns, scratch);
  if (chosen == detail::select_timed_out) return chan_status::timeout;
  return one.received || kind == detail::case_kind::send ? chan_status::ok : chan_status::closed;
}

// CH-3: takes all waiters of each queue in order. The caller makes them ready once the lock is
// released.
chan_waiter* take_all(chan_core* c) noexcept {
  chan_waiter* first = nullptr;
  chan_waiter** link = &first;
  for (waiter_queue* queue : {&c->receivers, &c->senders}) {
    while (chan_waiter* w = queue->claim_first()) {
      w->success = false;
      *link = w;
      link = &w->next;
    }
  }
  *link = nullptr;
  return first;
}

// The ring, aligned, behind the record.
constexpr std::size_t ring_offset(std::size_t align) noexcept {
  return (sizeof(chan_core) + align - 1) / align * align;
}

std::size_t checked_bytes(const detail::element_type& type, std::size_t capacity) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  constexpr std::size_t address_space = std::size_t{1} << 47;  // of a process
  std::size_t bytes;
  if (__builtin_mul_overflow(type.size, capacity, &bytes) ||
      __builtin_add_overflow(bytes, ring_offset(type.align), &bytes) || bytes > address_space ||
      capacity > most) {
    throw std::length_error("sley::chan: capacity out of range");
  }
  return bytes;
}

bool needs_aligned_new(const chan_core* c) noexcept {
  return c->type->align > __STDCPP_DEFAULT_NEW_ALIGNMENT__;
}

}  // namespace
}  // namespace sync

namespace detail {

chan_ref::chan_ref(const element_type& type, std::size_t capacity) {
  const std::size_t bytes = sync::checked_bytes(type, capacity);
  void* place = type.align > __STDCPP_DEFAULT_NEW_ALIGNMENT__
                    ? ::operator new(bytes, std::align_val_t{type.align})
                    : ::operator new(bytes);
  core_ = ::new (place) chan_core;
  const bool is_plain = type.move_construct == nullptr && type.destroy == nullptr;
  if (is_plain && (type.size == 8 || type.size == 4)) {
    core_->word_bytes = static_cast<std::uint8_t>(type.size);
  }
  core_->element_bytes = static_cast<std::uint32_t>(type.size);
  core_->capacity = capacity;
  core_->ring_bytes = capacity * type.size;
  core_->ring = static_cast<char*>(place) + sync::ring_offset(type.align);
  core_->type = &type;
}

static_assert(offsetof(chan_core, references) == 0, "chan_ref reaches them through the channel");

// RF-1: no other thread uses the channel any more.
void chan_ref::destroy(chan_core* c) noexcept {
  if (c->is_timer) sync::destroy(c->timer);
  while (c->has_values()) c->drop_value();
  const bool aligned = sync::needs_aligned_new(c);
  const std::align_val_t align{c->type->align};
  c->~chan_core();
  if (aligned) {
    ::operator delete(static_cast<void*>(c), align);
  } else {
    ::operator delete(static_cast<void*>(c));
  }
}

void chan_ref::send(void* value) const {
  if (core_ == nullptr) sync::wait_for_ever(rt::wait::chan_send_nil);
  return sync::wait_for<sync::send_operation>(core_, value);
}

bool chan_ref::receive(void* out) const {
  if (core_ == nullptr) sync::wait_for_ever(rt::wait::chan_receive_nil);
  return sync::wait_for<sync::receive_operation>(core_, out);
}

chan_status chan_ref::try_send(void* value) const {
  if (core_ == nullptr || sync::would_block_send(core_)) return chan_status::would_block;
  return sync::try_once<sync::send_operation>(core_, value);
}

chan_status chan_ref::try_receive(void* out) const {
  if (core_ == nullptr || sync::would_block_receive(core_)) return chan_status::would_block;
  return sync::try_once<sync::receive_operation>(core_, out);
}

chan_status chan_ref::send_until(void* value, std::int64_t deadline_ns) const {
  if (closed()) return chan_status::closed;
  try {
    return sync::select_one(core_, value, case_kind::send, deadline_ns);
  } catch (const channel_closed&) {
    return chan_status::closed;
  }
}

chan_status chan_ref::receive_until(void* out, std::int64_t deadline_ns) const {
  return sync::select_one(core_, out, case_kind::receive, deadline_ns);
}

void chan_ref::close() const {
  if (core_ == nullptr) throw channel_closed("sley: close of nil channel");
  rt::machine* m = rt::enter();
  core_->guard.acquire();
  if (core_->closed.load_relaxed()) {
    core_->guard.release();
    rt::leave(m);
    throw channel_closed("sley: close of closed channel");
  }
  core_->closed.store_release(true, "CH-4");
  sync::chan_waiter* w = sync::take_all(core_);
  core_->guard.release();
  while (w != nullptr) {
    sync::chan_waiter* next = w->next;  // w is gone once its goroutine runs
    rt::ready(w->g);
    w = next;
  }
  rt::leave(m);
}

std::size_t chan_ref::size() const noexcept {
  return core_ == nullptr || core_->is_timer ? 0 : core_->count.load_relaxed();  // a figure
}

std::size_t chan_ref::capacity() const noexcept {
  return core_ == nullptr || core_->is_timer ? 0 : core_->capacity;
}

bool chan_ref::closed() const noexcept {
  return core_ != nullptr && core_->closed.load_acquire("CH-4");
}

}  // namespace detail

void block_forever() { sync::wait_for_ever(rt::wait::select_no_cases); }

}  // namespace sley
