// G: a goroutine. A small record until it first runs; then a stack is bound to it.
//
// Records come from slabs and are never given back to the system, so a pointer to one is always
// readable. A note behind each field says which threads may touch it. The "owner" is the machine
// that runs the goroutine, or the thread that took it off the queue or list that handed it over.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/spawn.hpp>

#include "base/cut_text.hpp"
#include "base/intrusive_queue.hpp"
#include "parts/reader_slots.hpp"
#include "parts/stack_pool.hpp"
#include "parts/status.hpp"
#include "platform/context.hpp"
#include "platform/cpu.hpp"
#include "platform/lock_order.hpp"
#include "platform/sanitizer.hpp"
#include "runtime/state/label_ref.hpp"
#include "runtime/state/wait_reason.hpp"

#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sley::rt {

// Values of goroutine_local variables, see goroutine_local.cpp in sync.
struct local_values;

inline constexpr std::uint64_t main_goroutine_id = 1;

// What a goroutine, or a foreign thread, passes on to the goroutines that it starts.
struct heritage {
  bool is_any() const noexcept { return family != 0 || labels.get() != nullptr; }

  std::uint64_t family = 0;  // see state/family.hpp; 0: none
  label_ref labels;
};

// Properties that few goroutines have.
struct goroutine_extra {
  std::string_view name() const noexcept { return {name_bytes, name_size}; }
  void set_name(std::string_view s) noexcept {
    name_size = static_cast<std::uint8_t>(base::bytes_kept(s, max_name));
    std::copy_n(s.data(), name_size, name_bytes);
  }

  static constexpr std::size_t max_name = 31;
  char name_bytes[max_name] = {};
  std::uint8_t name_size = 0;
  std::size_t stack_bytes = 0;  // 0: the default
  heritage passed_on;
  local_values* locals = nullptr;
  void (*destroy_locals)(local_values*) noexcept = nullptr;
  bool exit_arrived = false;        // exit(): the stack has been unwound
  _Unwind_Exception exit_unwind{};  // exit(): the unwinder's object
};

struct machine;
struct goroutine;

// What must be seen to before a goroutine runs. A machine looks at all of it with one load.
enum need : std::uint8_t {
  needs_stack = 1,    // it has not begun, and has none yet
  needs_machine = 2,  // its own machine waits for it, and gets the processor of its picker
  held = 4,           // by sysmon, for a moment, see hold.hpp
  timed = 8,          // it can: its wait to run is measured, from its next wake on: sched_meter.hpp
};

struct alignas(platform::cache_line_bytes) goroutine {
  // The fields that a switch touches, in one cache line.
  platform::context context;      // [owner] valid while it is not running
  goroutine* next = nullptr;      // [owner] link in the one queue or list that it is on
  parts::stack* stack = nullptr;  // [owner] null until it first runs, and if a thread's own is used
  // [owner] while waiting: what it waits for, see state/waited.hpp; null: nothing that has a name.
  const void* waits_for = nullptr;
  parts::status_word status;  // see parts/status.hpp
  bool is_foreign = false;    // [const] stands for a thread that the runtime did not make
  detail::atomic<std::uint8_t> needs{needs_stack};  // [owner], but sysmon sets `held` (TR-1)
  wait reason{};                                    // [owner] while waiting
  detail::atomic<std::uint32_t> parked_s;  // [owner] while waiting: since when, in coarse_s

  std::uint64_t id = 0;          // [owner]
  void (*run)(void*) = nullptr;  // [owner] the task's code; its bytes are below
  // Null if it has neither name nor stack size nor heritage nor values of its own. [owner,
  // snapshots read it: EX-1]
  detail::atomic<goroutine_extra*> extra;
  machine* bound_to = nullptr;  // [owner] with needs_machine, or foreign: whose it is
  alignas(std::max_align_t) std::byte task[detail::task_bytes];  // [owner]
  std::uint64_t created_by = 0;      // [owner] the id of the goroutine that started it, 0: a thread
  const void* created_at = nullptr;  // [owner] where
  // [owner] Where its mark is if it holds a shared_mutex shared and is not in the mutex's count.
  parts::reader_slot* reader_slot = nullptr;
  std::uint32_t trimmed_s = 0;       // [sysmon] in which wait its stack was trimmed: see trim.cpp
  std::uint32_t runnable_since = 0;  // [owner] with `timed`: see sched_meter.cpp
  [[no_unique_address]] platform::strand strand;            // [owner] from its start to its end
  [[no_unique_address]] platform::noted_locks noted_locks;  // [owner] that it holds

  // The stack size that it asked for, 0 for the default.
  std::size_t own_stack_bytes() const noexcept {
    const goroutine_extra* e = extra.load_relaxed();
    return e == nullptr ? 0 : e->stack_bytes;
  }
  bool has_heritage() const noexcept {
    const goroutine_extra* e = extra.load_relaxed();
    return e != nullptr && e->passed_on.is_any();
  }
  std::uint64_t own_family() const noexcept {
    const goroutine_extra* e = extra.load_relaxed();
    return e == nullptr ? 0 : e->passed_on.family;
  }
  std::string_view name() const noexcept {
    const goroutine_extra* e = extra.load_acquire("EX-1");
    return e == nullptr ? std::string_view() : e->name();
  }
  std::uint64_t family() const noexcept {
    const goroutine_extra* e = extra.load_acquire("EX-1");
    return e == nullptr ? 0 : e->passed_on.family;
  }
  // Null if it has none.
  const label_set* labels() const noexcept {
    const goroutine_extra* e = extra.load_acquire("EX-1");
    return e == nullptr ? nullptr : e->passed_on.labels.get();
  }
};

// Has the goroutine begun, or will it begin, and has it not ended? Any thread. The answer may be
// outdated at once; the caller sees the goroutine's writes before it.
inline bool is_alive(const goroutine& g) noexcept {
  const parts::status s = g.status.get_acquire();
  return !g.is_foreign && s != parts::status::idle && s != parts::status::dead;
}

static_assert(offsetof(goroutine, id) == 64, "what a switch touches is one line");
static_assert(sizeof(goroutine) == 192 || platform::is_thread_sanitizer,
              "a million of them are 192 MB; think before it grows");

using goroutine_list = base::intrusive_queue<goroutine, &goroutine::next>;

// Must the machine that picks g hand its processor to the thread that g is bound to? The thread
// waits for that.
inline bool waits_on_its_thread(const goroutine* g) noexcept {
  return (g->needs.load_relaxed() & needs_machine) != 0;  // set before g is queued
}

// Is its next wait to run measured, or the present one?
inline bool is_timed(const goroutine* g) noexcept {
  return (g->needs.load_relaxed() & timed) != 0;  // set before g leaves its processor
}

}  // namespace sley::rt
