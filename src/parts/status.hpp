// What a goroutine is doing, and the only function that changes it.
//
// Legal transitions, and who makes them:
//   idle      -> runnable   spawn: the record has its task
//   runnable  -> running    execute: the machine that picked it
//   running   -> runnable   wait_for_turn: itself, when it stays on its thread
//   running   -> waiting    park, yield: its machine, once its context is saved and before its
//                           wakers can see it; or itself, when it stays on its thread
//   waiting   -> runnable   ready: whoever claimed its wake-up; yield: its machine
//   running   -> dead       exit: itself
//   dead      -> idle       spawn: the record is taken from a free list
//
// One side at a time may move the status (the machine that runs the goroutine, or the one waker
// that claimed it), and the goroutine is handed over through queues and locks that order it. So a
// plain store is enough; the field is atomic for those who only read it, for figures and dumps. It
// is a release store for one reader more: who sees `waiting` sees the saved context (TR-1).
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
  // For who shows the goroutine: what was done before it came to where it is, is seen.
  status get_acquire() const noexcept { return value_.load_acquire("TR-1"); }
  bool is_waiting() const noexcept { return value_.load_acquire("TR-1") == status::waiting; }

  // Aborts with both names if the goroutine is not in `from`, or (in builds with
  // debug checks) may not go from there to `to`.
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
