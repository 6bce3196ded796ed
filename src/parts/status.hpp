// The status of a goroutine, and the only function that changes it.
//
// Legal transitions, the verb and the side that performs it:
//   idle      -> runnable   spawn: the record has its task
//   runnable  -> running    execute: the machine that picked it
//   running   -> runnable   wait_for_turn: the goroutine itself, when it stays on its thread
//   running   -> waiting    park, yield: its machine, after its context is saved and before a
//                           waker can see it; or the goroutine itself, when it stays on its thread
//   waiting   -> runnable   ready: the waker that claimed it; yield: its machine
//   running   -> dead       exit: the goroutine itself
//   dead      -> idle       spawn: the record is taken from a free list
//
// One side at a time may move the status: the machine that runs the goroutine, or the one waker
// that claimed it. The queues and locks that hand the goroutine over order these writes, so a plain
// store would be enough for them. The field is atomic because figures and dumps read it at any
// time. The store is a release because a reader that sees `waiting` must see the saved context
// (TR-1).
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/check.hpp"

#include <cstdint>

namespace sley::parts {

enum class status : std::uint8_t { idle, runnable, running, waiting, dead };

constexpr bool is_legal(status from, status to) noexcept {
  switch (from) {
    case status::idle: return to == status::runnable;
    case status::runnable: return to == status::running;
    case status::running:
      return to == status::runnable || to == status::waiting || to == status::dead;
    case status::waiting: return to == status::runnable;
    case status::dead: return to == status::idle;
  }
  return false;
}

constexpr const char* name_of(status s) noexcept {
  constexpr const char* names[] = {"idle", "runnable", "running", "waiting", "dead"};
  return names[static_cast<std::size_t>(s)];
}

class status_word {
 public:
  status get() const noexcept { return value_.load_relaxed(); }  // for figures and checks
  // For dumps and snapshots: the reader sees all that was done before this status was set.
  status get_acquire() const noexcept { return value_.load_acquire("TR-1"); }
  bool is_waiting() const noexcept { return value_.load_acquire("TR-1") == status::waiting; }

  // Aborts with both names if the goroutine is not in `from` or, in builds with debug checks, if
  // the transition is not legal.
  void transition(status from, status to) noexcept {
    if (__builtin_expect(value_.load_relaxed() != from, 0)) refuse(from, to);
    if (base::debug_checks && !is_legal(from, to)) refuse(from, to);
    value_.store_release(to, "TR-1");
  }

 private:
  [[noreturn]] void refuse(status from, status to) const noexcept;

  detail::atomic<status> value_;
};

}  // namespace sley::parts
