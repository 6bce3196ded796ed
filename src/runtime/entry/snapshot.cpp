// From Go's goroutineProfileWithLabelsConcurrent: each goroutine is seen at a moment of its own.
#include "runtime/entry/snapshot.hpp"

#include "platform/os.hpp"
#include "platform/unwind/own_process.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/hold.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/sysmon.hpp"
#include "runtime/watchdog/world.hpp"

#include <sley/runtime.hpp>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

namespace sley::rt {

// Goroutines that wait are looked at first, each held for the moment of the look. A goroutine that
// can't be held is left: it is tried once more, because many that were runnable wait by then, and
// then looked at with the world stopped. Each record has one look at most, so no goroutine is there
// twice; a record that is free at the first try has none, because its next goroutine is too young.
struct snapshot::request : world_request {
  explicit request(snapshot& s) noexcept : world_request{&request::serve}, result(s) {}

  static void serve(world_request* r) noexcept {
    auto* self = static_cast<request*>(r);
    sched.is_snapshot_taken.store_relaxed(true);
    for (slab* s : slabs) {
      for (goroutine& g : s->records) self->try_to_hold(g);
    }
    self->look_at_held_ones();
    self->try_again();
    with_world_stopped(&request::look_at_left_ones, self);
    sched.is_snapshot_taken.store_relaxed(false);
  }

  void try_to_hold(goroutine& which) noexcept {
    if (!is_alive(which)) return;
    if (!may_hold || !hold_batch::may_be_held(which)) {
      leave(which);
      return;
    }
    batch.add(&which);
    if (batch.is_full()) look_at_held_ones();
  }

  void try_again() noexcept {
    const std::size_t count = std::exchange(left_count, 0);
    for (std::size_t i = 0; i < count; ++i) try_to_hold(*left[i]);  // no more are left than were
    look_at_held_ones();
  }

  void look_at_held_ones() noexcept {
    batch.look_at_all([this](goroutine& which, bool is_held) {
      if (is_held) {
        look_at_held(which);
      } else if (is_alive(which)) {
        leave(which);
      }
    });
    keep_watch();
  }

  void look_at_held(const goroutine& which) noexcept {
    if (!check_room()) return;
    look_at_waiting(&which, trace);
    result.add(view_with_labels(which, nullptr), trace.view());
  }

  void leave(goroutine& which) noexcept {
    if (left_count == most_left) {
      is_whole = false;
    } else {
      left[left_count++] = &which;
    }
  }

  // With the world stopped.
  static void look_at_left_ones(void* arg) {
    auto* self = static_cast<request*>(arg);
    for (std::size_t i = 0; i < self->left_count; ++i) {
      if (is_alive(*self->left[i])) self->look_at(*self->left[i]);
    }
  }

  void look_at(goroutine& which) noexcept {
    if (!check_room()) return;
    machine* thread = thread_of(which);
    const std::string_view state = state_of(which, thread);  // before a signal wakes its thread
    trace.size = 0;
    if (thread == nullptr) {
      look_at_waiting(&which, trace);
    } else if (is_in_call(*thread) || !ask_thread(thread, trace)) {
      look_at_one_in_call(which, thread);
    }
    // After the thread has answered: it has written the rest before.
    goroutine_view view = view_of(which, thread);
    view.state = state;
    result.add(view, trace.view());
  }

  void look_at_one_in_call(const goroutine& which, const machine* thread) noexcept {
    platform::sleeping_place place;
    if (!takes_no_lock || !look_at_sleeping(&which, thread, trace, place)) trace.size = 0;
  }

  // One that runs in user code may come to its end.
  static goroutine_view view_of(goroutine& g, const machine* thread) noexcept {
    if (g.status.get() != parts::status::running) return view_with_labels(g, thread);
    const held_extra kept(g);
    return view_with_labels(g, thread);
  }

  // With a reference to the labels.
  static goroutine_view view_with_labels(const goroutine& g, const machine* thread) noexcept {
    const goroutine_view view(g, thread);
    if (view.labels != nullptr) add_reference(*view.labels);
    return view;
  }

  bool check_room() noexcept {
    is_whole = is_whole && result.has_room();
    return is_whole;
  }

  snapshot& result;
  // sysmon takes no lock of libc: its holder may wait for a processor.
  const bool takes_no_lock = platform::finds_own_tables_without_lock();
  const bool may_hold = hold_batch::is_possible() && takes_no_lock;  // if not, all are left
  hold_batch batch;
  goroutine** left = nullptr;
  std::size_t most_left = 0;
  std::size_t left_count = 0;
  bool is_whole = true;
  stack_trace trace;
};

snapshot::snapshot() {
  constexpr std::size_t more = 4096;  // goroutines may start until sysmon comes to it
  for (std::size_t count = runtime::num_goroutines() + more;; count *= 2) {  // ends by bad_alloc
    make_room(count);
    request r(*this);
    r.left = reinterpret_cast<goroutine**>(memory_ + room_);
    r.most_left = count;
    enter();
    ask_sysmon(r, wait::snapshot);
    leave();
    if (r.is_whole) return;
    discard();
  }
}

snapshot::~snapshot() { discard(); }

void snapshot::discard() noexcept {
  for (const entry* e = first(); e != nullptr; e = after(e)) {
    if (e->goroutine.labels != nullptr) drop_reference(*e->goroutine.labels);
  }
  platform::unmap_memory(memory_, bytes_);
}

void snapshot::make_room(std::size_t goroutines) {
  const std::size_t page = platform::page_bytes();
  room_ = goroutines * largest_entry;
  bytes_ = (room_ + goroutines * sizeof(goroutine*) + page - 1) / page * page;
  memory_ = static_cast<std::byte*>(platform::map_memory(bytes_, true));
  used_ = 0;
  if (memory_ == nullptr) throw std::bad_alloc();
}

bool snapshot::has_room() const noexcept { return room_ - used_ >= largest_entry; }

void snapshot::add(const goroutine_view& g, std::span<const std::uintptr_t> frames) noexcept {
  auto* e = ::new (memory_ + used_) entry{g, frames.size()};
  std::copy(frames.begin(), frames.end(), reinterpret_cast<std::uintptr_t*>(e + 1));
  used_ += sizeof(entry) + frames.size_bytes();
}

}  // namespace sley::rt
