// From Go's goroutineProfileWithLabels, in its older form, which stops the world.
#include "runtime/entry/snapshot.hpp"

#include "platform/os.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/world.hpp"

#include <sley/runtime.hpp>

#include <algorithm>
#include <new>
#include <string_view>

namespace sley::rt {

namespace {

// A thread that sleeps in a system call of the user's is left alone, because some calls return
// EINTR. An interrupted sleep inside the runtime disturbs no user code.
bool may_be_asked(const machine* thread) noexcept {
  if (thread->border.call() != 0) return false;
  return !thread->border.is_outside() ||
         !platform::is_thread_asleep(thread->thread_id.load_relaxed());
}

}  // namespace

struct snapshot::request : world_request {
  explicit request(snapshot& s) noexcept : world_request{&request::serve}, result(s) {}

  static void serve(world_request* r) noexcept {
    sched.is_snapshot_taken.store_relaxed(true);
    with_world_stopped(&request::look, r);
    sched.is_snapshot_taken.store_relaxed(false);
  }

  static void look(void* arg) {
    auto* self = static_cast<request*>(arg);
    for (slab* s : slabs) {
      for (goroutine& g : s->records) {
        if (!is_alive(g)) continue;
        if (!self->result.has_room()) {
          self->is_whole = false;
          return;
        }
        self->look_at(g);
      }
    }
  }

  void look_at(goroutine& which) noexcept {
    machine* thread = thread_of(which);
    const std::string_view state = state_of(which, thread);  // before a signal wakes its thread
    trace.size = 0;
    if (thread == nullptr) {
      look_at_waiting(&which, trace);
    } else if (!may_be_asked(thread) || !ask_thread(thread, trace)) {
      trace.size = 0;
    }
    // After the thread has answered: it has written the rest before.
    goroutine_view view(which, thread);
    view.state = state;
    result.add(view, trace.view());
  }

  snapshot& result;
  bool is_whole = true;
  stack_trace trace;
};

snapshot::snapshot() {
  constexpr std::size_t more = 4096;  // goroutines may start until the world has stopped
  for (std::size_t count = runtime::num_goroutines() + more;; count *= 2) {  // ends by bad_alloc
    make_room(count);
    request r(*this);
    enter();
    ask_sysmon(r, wait::snapshot);
    leave();
    if (r.is_whole) return;
    platform::unmap_memory(memory_, bytes_);
  }
}

snapshot::~snapshot() { platform::unmap_memory(memory_, bytes_); }

void snapshot::make_room(std::size_t count) {
  const std::size_t page = platform::page_bytes();
  bytes_ = (count * largest_entry + page - 1) / page * page;
  memory_ = static_cast<std::byte*>(platform::map_memory(bytes_, true));
  used_ = 0;
  if (memory_ == nullptr) throw std::bad_alloc();
}

bool snapshot::has_room() const noexcept { return bytes_ - used_ >= largest_entry; }

void snapshot::add(const goroutine_view& g, std::span<const std::uintptr_t> frames) noexcept {
  auto* e = ::new (memory_ + used_) entry{g, frames.size()};
  std::copy(frames.begin(), frames.end(), reinterpret_cast<std::uintptr_t*>(e + 1));
  used_ += sizeof(entry) + frames.size_bytes();
}

}  // namespace sley::rt
