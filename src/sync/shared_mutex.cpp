// shared_mutex.
//
// A writer first gets its turn among writers, then shuts readers out, and then waits for the
// readers that are in. Such a reader is in state_'s count or in a slot of a processor, which its
// goroutine remembers. A goroutine that has its mark in a slot for another such lock is in the
// count.
//
// Slots come into use when several readers have come since the last writer, and go out of use when
// a writer comes. They stay out of use long enough that writers spend little of all time on looking
// for marks.
#include <sley/shared_mutex.hpp>

#include <sley/go.hpp>

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/lock_wait.hpp"
#include "sync/misuse.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/unlock_event.hpp"
#include "sync/wait_with_context.hpp"

namespace sley {

namespace {

// A reader in the count thinks about slots once in this many reads, and if another thread disturbs
// it.
constexpr std::uint32_t reads_per_thought = 64;
constexpr std::int64_t cost_factor = 9;  // times the time that closing the slots took

// Where writers wait for marks to go, by the lock's address. Each mark that goes from there wakes
// all of these writers, and they look again.
struct asking_place {
  detail::atomic<std::uint32_t> writers;  // [atomic SM-4]
  detail::wait_list list;
};

constexpr std::size_t asking_places = 64;
detail::static_table<asking_place, asking_places> asking;

asking_place& place_of(std::uintptr_t mark) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  return asking[(mark * odd) >> 58];
}

[[gnu::noinline]] void tell_writers(asking_place& place) noexcept {
  rt::machine* m = rt::enter();
  place.list.guard().acquire();
  const sync::unlock_event event(&place.list);
  place.list.wake_all_and_release();
  event.record();
  rt::leave(m);
}

std::uint64_t count_of(std::uint64_t state) noexcept { return state / 8; }

}  // namespace

// A writer that unlocks lets readers in before it gives its turn back, and one of these may be the
// last user of the lock. So the writer may still be on its way. It does not come if it is a
// goroutine while none runs: the program ends, and the lock's memory stays.
shared_mutex::~shared_mutex() {
  while (!writers_.is_given_back() && (state_.load_relaxed() & writer) == 0 &&
         !rt::sched.gate.is_halted()) {
    this_goroutine::yield();
  }
  if constexpr (base::debug_checks) {
    const bool is_free = state_.load_relaxed() == 0 && !is_any_slot_taken();
    if (!is_free) sync::destroyed_in_use("sley: a shared_mutex is destroyed while it is locked");
  }
}

void shared_mutex::check_not_held() const noexcept {
  owner_.check_not_caller(
      "sley: a shared_mutex is locked by the goroutine that has locked it already");
  if constexpr (base::debug_checks) {
    sync::check_no_shared_lock(
        this,
        "sley: a shared_mutex is locked by the goroutine that has locked it (shared) already");
  }
}

// ---- readers ----

bool shared_mutex::try_lock_shared() noexcept {
  detail::lock_report::attempt reported(report_, detail::lock_kind::shared, false);
  return reported.ends(share_if_free());
}

bool shared_mutex::share_if_free() noexcept {
  const bool may_use_slot = has_slots_.load_relaxed();  // a hint: enter_slot looks again
  const bool is_in = (may_use_slot && enter_slot()) || count_in();
  if (is_in) sync::note_shared_lock(this);
  return is_in;
}

void shared_mutex::unlock_shared() noexcept {
  sync::forget_shared_lock(this);
  report_.gives_back(detail::lock_kind::shared);
  if (!leave_slot()) count_out();
}

// False if slots must not or can't be used, for example by a thread without a processor.
inline bool shared_mutex::enter_slot() noexcept {
  rt::machine* m = rt::try_enter();
  if (m == nullptr) return false;
  rt::goroutine* g = m->g;
  const bool may_take = m->p != nullptr && g->reader_slot == nullptr;
  parts::reader_slot* s = may_take ? m->p->readers.take(mark()) : nullptr;
  if (s != nullptr) g->reader_slot = s;
  rt::leave(m);
  if (s == nullptr) return false;
  detail::light_barrier("SM-2");
  if (has_slots_.load_acquire("SM-2")) return true;
  leave_slot();
  return false;
}

// False if the goroutine has no slot for this lock. Does not touch the lock once it has left.
inline bool shared_mutex::leave_slot() noexcept {
  const rt::machine* m = rt::this_machine();
  if (m == nullptr) return false;
  rt::goroutine* g = m->g;
  parts::reader_slot* s = g->reader_slot;
  if (s == nullptr || s->load_relaxed() != mark()) return false;
  asking_place& place = place_of(mark());
  g->reader_slot = nullptr;
  s->store_release(0, "SM-3");
  detail::light_barrier("SM-4");
  if (__builtin_expect(place.writers.load_relaxed() != 0, 0)) tell_writers(place);
  return true;
}

bool shared_mutex::count_in() noexcept {
  std::uint64_t seen = state_.load_relaxed();  // the cas decides
  bool is_contended = false;
  while ((seen & writer) == 0) {  // ends: each failure means that another thread changed it
    if (state_.cas_acquire(seen, seen + reader, "SM-1")) {
      const std::uint32_t reads = reads_.load_relaxed() + 1;
      reads_.store_relaxed(reads);
      if (is_contended || platform::is_due(reads, reads_per_thought)) prefer_slots();
      return true;
    }
    is_contended = true;
  }
  return false;
}

// Called by a reader in the count: a writer looks at has_slots_ again once the count is zero.
void shared_mutex::prefer_slots() noexcept {
  if (has_slots_.load_relaxed() || (state_.load_relaxed() & writer) != 0) return;
  if (platform::now_ns() < no_slots_before_ns_.load_relaxed()) return;
  has_slots_.store_release(true, "SM-2");
}

void shared_mutex::count_out() noexcept {
  const std::uint64_t before = state_.sub_acq_rel(reader, "SM-1");
  if (count_of(before) == 0) base::fatal("sley: unlock_shared of an unlocked shared_mutex");
  if (count_of(before) > 1 || (before & drains) == 0) return;
  rt::machine* m = rt::enter();  // the writer waits for us, so the lock is there
  draining_.guard().acquire();
  state_.and_acq_rel(~drains, "SM-1");
  const sync::unlock_event event(&draining_);
  draining_.wake_one_and_release();
  event.record();
  rt::leave(m);
}

void shared_mutex::lock_shared(const context& ctx, std::error_code& error) {
  error = sync::error_of(ctx);
  if (error) return;
  detail::lock_report::attempt reported(report_, detail::lock_kind::shared, false);
  if (!share_if_free()) {
    sync::wait_with(ctx, error,
                    [this](detail::wait_limit limit) { return lock_shared_slow(limit); });
  }
  reported.ends(!error);
}
void shared_mutex::lock_shared(const context& ctx) {
  sync::throwing_with("sley: lock a shared_mutex",
                      [&](std::error_code& e) { lock_shared(ctx, e); });
}

// A chosen reader is in the count.
bool shared_mutex::lock_shared_slow(detail::wait_limit limit) {
  if (detail::checks_lock_owners && limit.is_none()) check_not_held();
  const sync::lock_wait measured;
  rt::enter();
  bool is_in;
  {
    sync::timed_waiter self(limit);
    readers_.guard().acquire();
    is_in = count_in_or_mark();
    if (is_in) {
      readers_.guard().release();
    } else {
      is_in = self.park(readers_, rt::wait::shared_mutex_lock_shared, this);
    }
  }
  rt::leave();
  if (is_in) sync::note_shared_lock(this);
  return is_in;
}

// Requires the readers' lock. True if the caller is counted, else there is a writer, which will see
// it.
bool shared_mutex::count_in_or_mark() noexcept {
  std::uint64_t seen = state_.load_relaxed();  // the cas decides
  for (;;) {                                   // ends: each failure means that it has changed
    if ((seen & writer) == 0) {
      if (state_.cas_acquire(seen, seen + reader, "SM-1")) return true;
    } else if (state_.cas_acquire(seen, seen | blocked, "SM-1")) {
      return false;
    }
  }
}

// ---- writers ----

void shared_mutex::lock(const context& ctx, std::error_code& error) {
  error = sync::error_of(ctx);
  if (error || try_lock()) return;
  sync::wait_with(ctx, error, [this](detail::wait_limit limit) { return lock_within(limit); });
}
void shared_mutex::lock(const context& ctx) {
  sync::throwing_with("sley: lock a shared_mutex", [&](std::error_code& e) { lock(ctx, e); });
}

bool shared_mutex::try_lock() noexcept {
  detail::lock_report::attempt reported(report_, detail::lock_kind::exclusive, false);
  return reported.ends(take_if_free());
}

bool shared_mutex::take_if_free() noexcept {
  if (!writers_.try_acquire()) return false;
  std::uint64_t free = 0;
  if (!state_.cas_acquire(free, writer, "SM-1")) {
    writers_.release_lock();
    return false;
  }
  if (has_slots_.load_relaxed() || is_asking_) {  // SM-1: readers set it in the count
    close_slots();
    is_asking_ = is_any_slot_taken();
  }
  if (is_asking_) {
    let_go();
    return false;
  }
  owner_.enter();
  return true;
}

void shared_mutex::unlock() noexcept {
  owner_.leave("sley: a shared_mutex is unlocked by a goroutine or thread that has not locked it");
  report_.gives_back(detail::lock_kind::exclusive);
  let_go();
}

void shared_mutex::let_go() noexcept {
  std::uint64_t seen = writer;
  if (state_.cas_release(seen, 0, "SM-1")) {
    writers_.release_lock();
    return;
  }
  if ((seen & writer) == 0) base::fatal("sley: unlock of an unlocked shared_mutex");
  end_turn();
}

void shared_mutex::end_turn() noexcept {
  let_readers_in();
  writers_.release_lock();
}

// The writer goes, and the waiting readers are counted at once, so that the next writer waits for
// them.
void shared_mutex::let_readers_in() noexcept {
  rt::machine* m = rt::enter();
  detail::chosen_waiters chosen;
  readers_.guard().acquire();
  const sync::unlock_event event(&readers_);
  const std::uint64_t let_in = readers_.choose(SIZE_MAX, chosen) * reader;
  std::uint64_t seen = state_.load_relaxed();  // the cas decides
  while (!state_.cas_release(seen, (seen & ~(writer | blocked)) + let_in, "SM-1")) {
  }
  readers_.release_and_wake(chosen);
  event.record();
  rt::leave(m);
}

// A writer that has its turn among writers and has shut readers out. It gives up if it goes before
// it has the lock, by an exception for example.
struct shared_mutex::turn {
  ~turn() {
    if (!has_lock) whose.end_turn();
  }
  shared_mutex& whose;
  bool has_lock = false;
};

bool shared_mutex::lock_within(detail::wait_limit limit) {
  static_assert(offsetof(shared_mutex, owner_) == 0, "rt::is_for_lock");
  if (detail::checks_lock_owners && limit.is_none()) check_not_held();
  detail::lock_report::attempt reported(report_, detail::lock_kind::exclusive, limit.is_none());
  const sync::lock_wait measured;
  if (!writers_.acquire_lock(limit, rt::wait::shared_mutex_lock, this)) return false;
  const std::uint64_t before = state_.or_acq_rel(writer, "SM-1");
  turn mine{.whose = *this};
  if (has_slots_.load_relaxed()) {  // no more slots, though some may come until the count is zero
    has_slots_.store_relaxed(false);
    is_asking_ = true;
  }
  mine.has_lock = (count_of(before) == 0 || drain_count(limit)) && drain_slots(limit);
  if (mine.has_lock) owner_.enter();
  return reported.ends(mine.has_lock);
}

// Waits until no reader is in the count. False: the time is up.
bool shared_mutex::drain_count(detail::wait_limit limit) {
  rt::enter();
  bool is_drained = true;
  {
    sync::timed_waiter self(limit);
    draining_.guard().acquire();
    std::uint64_t seen = state_.load_acquire("SM-1");
    while (count_of(seen) != 0 && !state_.cas_acq_rel(seen, seen | drains, "SM-1")) {
    }
    if (count_of(seen) == 0) {
      draining_.guard().release();
    } else {
      is_drained = self.park(draining_, rt::wait::shared_mutex_lock, this) || stop_draining();
    }
  }
  rt::leave();
  return is_drained;
}

// True if the last reader of the count has gone all the same. While `drains` is set, that reader is
// on its way to wake us.
bool shared_mutex::stop_draining() noexcept {
  draining_.guard().acquire();
  std::uint64_t seen = state_.load_acquire("SM-1");
  while (count_of(seen) != 0 && !state_.cas_acq_rel(seen, seen & ~drains, "SM-1")) {
  }
  if (count_of(seen) == 0 && (seen & drains) != 0) {
    draining_.park(rt::wait::shared_mutex_lock, this);
    return true;
  }
  draining_.guard().release();
  return count_of(seen) == 0;
}

// Waits until no reader is in a slot. No reader is in the count, so slots stay out of use.
bool shared_mutex::drain_slots(detail::wait_limit limit) {
  if (!is_asking_ && !has_slots_.load_relaxed()) return true;  // SM-1 orders it
  asking_place& place = place_of(mark());
  struct asking_writer {
    explicit asking_writer(asking_place& p) noexcept : place(p) { place.writers.add_relaxed(1); }
    ~asking_writer() { place.writers.sub_relaxed(1); }
    asking_place& place;
  };
  const asking_writer self(place);  // the barrier in close_slots orders it
  close_slots();
  while (is_asking_) {  // ends at the deadline, or with the readers: no more come
    rt::enter();
    bool is_in_time = true;
    {
      sync::timed_waiter waiter(limit);
      place.list.guard().acquire();
      is_asking_ = is_any_slot_taken();
      if (is_asking_) {
        is_in_time = waiter.park(place.list, rt::wait::shared_mutex_lock, this);
      } else {
        place.list.guard().release();
      }
    }
    rt::leave();
    if (!is_in_time) return false;
  }
  return true;
}

// Called by the writer. A mark that is in a slot from now on was there before, or goes at once.
void shared_mutex::close_slots() noexcept {
  const std::int64_t begin_ns = platform::now_ns();
  has_slots_.store_relaxed(false);
  is_asking_ = true;
  detail::heavy_barrier("SM-2");
  const std::int64_t end_ns = platform::now_ns();
  no_slots_before_ns_.store_relaxed(end_ns + cost_factor * (end_ns - begin_ns));
}

bool shared_mutex::is_any_slot_taken() const noexcept {
  const std::uint32_t procs = rt::sched.made_procs.read();
  for (std::uint32_t i = 0; i < procs; ++i) {
    if (rt::sched.processors[i].readers.has(mark())) return true;
  }
  return false;
}

}  // namespace sley
