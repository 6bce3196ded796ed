// Prepares the runtime before the first goroutine: the number of processors, the size of stacks,
// signal handlers, and the runtime's own threads.
#include "runtime/entry/boot.hpp"

#include "base/check.hpp"
#include "base/print.hpp"
#include "base/published.hpp"
#include "platform/context.hpp"
#include "platform/decisions.hpp"
#include "platform/fault.hpp"
#include "platform/keep_loaded.hpp"
#include "platform/malloc_arenas.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/main_exception.hpp"
#include "runtime/inspect/dump.hpp"
#include "runtime/inspect/fatal.hpp"
#include "runtime/inspect/last_words.hpp"
#include "runtime/inspect/process_ends.hpp"
#include "runtime/run/exit.hpp"
#include "runtime/source/poll_sets.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/preempt.hpp"
#include "runtime/watchdog/sysmon.hpp"
#include "runtime/watchdog/threads.hpp"
#include "runtime/watchdog/world.hpp"

#include <pthread.h>

#include <cerrno>

namespace sley::rt {

namespace {

detail::lock boot_lock{detail::lock_rank::boot};
base::published<bool> booted;

// Only the thread that called fork() goes on in the child, where locks of other threads may be
// taken.
void forbid_use_in_child() noexcept {
  sched.has_forked.store_relaxed(true);  // the only thread
  reset_last_words();
  machine* m = this_machine();
  if (m == nullptr) return;
  m->border.raise(parts::border::forked);
  m->signalled.store_relaxed(false);  // a signal on its way is not inherited
}

void check_lock_is_taken_inside() noexcept {
  SLEY_CHECK(!is_in_user_code(), "a runtime lock is taken inside the runtime");
}

std::uint64_t own_goroutine_id() noexcept {
  const machine* m = this_machine();
  return m == nullptr || m->g == nullptr ? 0 : m->g->id;
}

void end_own_slice() noexcept {
  if (machine* m = current_machine()) m->border.raise(parts::border::preempt);
}

void announce_fallback() noexcept {
  if (!detail::barriers_are_symmetric) return;
  base::line_writer()
      .text("sley: without membarrier(2): threads that block lose their processor by a signal\n")
      .flush(2);
}

void start_poller() noexcept {
  const int error = open_poll_sets();
  if (error == 0) return;
  base::fatal(error == EMFILE || error == ENFILE
                  ? "sley: can't open the poller: no file descriptors are left"
                  : "sley: can't open the poller: epoll or eventfd is refused");
}

// Runs while the object is loaded and not in boot(): a constructor may wait for a thread that
// boots, and holds the loader's lock meanwhile.
[[gnu::constructor]] void keep_threads_code() noexcept { platform::keep_loaded(); }

}  // namespace

void boot() noexcept {
  if (booted.read()) return;
  detail::lock_guard guard(boot_lock);
  if (booted.read_relaxed()) return;  // the lock orders it
  detail::check_lock = &check_lock_is_taken_inside;
  sched.booted_ns = platform::now_ns();
  read_debug_settings();
  if (debug_options().finds_sequential_races) platform::hide_scheduler();
  if (!debug_options().advises_guards) platform::never_advise_guards();
  announce_fallback();
  platform::show_runtime({.is_in_user_code = &is_in_user_code,
                          .goroutine = &own_goroutine_id,
                          .end_slice = &end_own_slice});
  sched.stacks.start(stack_bytes_option());
  sched.main.stack_bytes = main_stack_bytes(sched.stacks.default_bytes());
  sched.goroutine_main = &goroutine_main;
  const procs_setting procs = procs_option();
  // Of the CPUs, not of the processors, because threads that are not sley's allocate as well.
  platform::limit_malloc_arenas(platform::malloc_arenas_for(procs.automatic));
  make_processors(procs);
  platform::set_uncaught_hooks(&report_uncaught_exception, &end_unless_caught);
  platform::install_fault_handler(&report_stack_overflow);
  platform::install_failure_hooks(
      {.begin = &begin_last_words_of_failure, .report = &report_failure});
  install_preemption();
  install_dump_hooks();
  install_process_ends();
  pthread_atfork(nullptr, nullptr, &forbid_use_in_child);
  start_poller();
  start_template_thread();
  start_sysmon();
  booted.publish(true);
}

}  // namespace sley::rt
