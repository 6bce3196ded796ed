

#include "runtime/inspect/process_ends.hpp"

#include "platform/sanitizer.hpp"
#include "runtime/inspect/fatal.hpp"
#include "runtime/inspect/last_words.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>

namespace sley::rt {

namespace {

std::terminate_handler former_handler = nullptr;  // [const] once installed

// An exception that has left a goroutine has been reported where it was thrown.
[[noreturn]] void on_terminate() {
  const bool is_reported = has_last_words();
  begin_last_words();
  const machine* m = this_machine();
  const bool is_goroutine = m != nullptr && m->g != nullptr && !m->g->is_foreign;
  if (!is_reported && is_goroutine) report_termination();
  complete_last_words();
  if (former_handler != nullptr) former_handler();
  std::abort();
}

// The leak checker would read the stacks that are free as well, and with them all pages that no
// goroutine has ever touched: a millisecond for each stack. A goroutine that calls exit() leaves
// them: it may be in the midst of anything.
[[maybe_unused]] void give_back_free_stacks() {
  const machine* m = this_machine();
  const bool is_goroutine = m != nullptr && !m->is_foreign;
  if (!is_goroutine && !sched.has_forked.load_relaxed()) sched.stacks.give_back(SIZE_MAX);
}

// The last act of exit(), after everything else that was registered for the end. A report has begun
// before, and is waited for, or does not begin any more.
[[gnu::destructor(101)]] void end_without_report() noexcept {
  if (sched.has_forked.load_relaxed()) return;
  begin_last_words();
}

}  // namespace

void install_process_ends() noexcept {
  former_handler = std::set_terminate(&on_terminate);
  // exit() calls the last of these first. Afterwards it destroys static objects that were made
  // before this.
  if constexpr (platform::sanitizer_finds_leaks) std::atexit(&give_back_free_stacks);
  std::atexit(&wait_for_last_words);
  std::at_quick_exit(&begin_last_words);
}

}  // namespace sley::rt
