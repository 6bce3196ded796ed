// Where threads come from, and where they end.
//
// One thread, the template thread, makes them all, for two reasons. No other thread inherits what a
// goroutine has done to its own thread (signal mask, namespaces, working directory). And making a
// thread takes a lock of libc, which a goroutine that waits for a processor may hold. So a thread
// that holds a processor never makes a thread, and asks for it instead. From Go's newm and
// templateThread.
//
// A new thread is not reserved for the thread that asked: it takes an idle processor when it comes,
// or waits among the idle machines.
#include "base/check.hpp"
#include "base/print.hpp"
#include "platform/exception_state.hpp"
#include "platform/fault.hpp"
#include "platform/interrupt.hpp"
#include "platform/os.hpp"
#include "runtime/enter.hpp"
#include "runtime/idle.hpp"
#include "runtime/last_words.hpp"
#include "runtime/lasting_thread.hpp"
#include "runtime/records.hpp"
#include "runtime/scheduler.hpp"

#include <sley/runtime.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace sley::rt {

namespace {

constexpr std::int64_t first_pause_ns = 100'000;
constexpr std::int64_t longest_pause_ns = 100'000'000;
// With pauses that double, half a second.
constexpr int tries_before_report = 14;

// The machine's last act: signals find no thread, and the rest of the thread's life (destructors of
// thread_local objects) is that of a foreign thread.
void end_machine(machine* m) noexcept {
  if (m->p != nullptr) hand_off_p(release_p(m));
  detach_thread(m);
  sched.machine_count.add_relaxed(static_cast<std::uint32_t>(-1));
  platform::set_current_machine(nullptr);
  m->border.leave();
  platform::drop_alternate_signal_stack(std::exchange(m->signal_stack, nullptr));
  give_machine(m);
}

void machine_main(void* arg) {
  auto* m = static_cast<machine*>(arg);
  m->border.enter();
  platform::set_current_machine(m);
  m->signal_stack = platform::use_alternate_signal_stack();
  platform::allow_interrupts();
  platform::adopt_thread_stack(m->fiber);
  m->thread_exceptions = platform::thread_exception_state();
  attach_thread(m);
  sched.thread_requests.arrive();
  take_up_search(m);  // TH-1: under the scheduler's lock
  schedule(m);
  end_machine(m);
}

[[noreturn]] void die_of_exhaustion() noexcept {
  begin_last_words();
  base::line_writer line;
  line.text("sley: program exceeds ").dec(std::uint64_t{sched.thread_limit.load_relaxed()});
  line.text("-thread limit\n").flush(2);
  base::fatal("thread exhaustion; see sley::runtime::set_max_threads");
}

void check_limit(std::uint32_t threads) noexcept {
  if (threads > sched.thread_limit.load_relaxed()) die_of_exhaustion();
}

// No thread could be made for half a second. With other threads, work goes on more slowly.
void report_no_thread(int error) noexcept {
  base::line_writer line;
  line.text("sley: can't make another thread: ").text(std::strerror(error));
  line.text(" (threads made: ").dec(std::uint64_t{sched.machine_count.load_relaxed()});
  line.text("; the limit may be RLIMIT_NPROC, the cgroup's pids.max or memory)");
  if (sched.machine_count.load_relaxed() == 0) base::fatal(line.view());
  line.text("\n").flush(2);
}

// 0, or an errno value.
int make_machine() noexcept {
  machine* m = new_machine();
  if (m == nullptr) return ENOMEM;
  sched.machine_count.add_relaxed(1);
  const int error = platform::create_thread(&machine_main, m);
  if (error != 0) {
    sched.machine_count.add_relaxed(static_cast<std::uint32_t>(-1));
    give_machine(m);
  }
  return error;
}

void make_thread() noexcept {
  check_limit(own_threads() + sched.machine_count.load_relaxed() + 1);
  std::int64_t pause_ns = first_pause_ns;
  for (int tries = 1;; ++tries) {  // ends when a thread could be made
    const int error = make_machine();
    if (error == 0) return;
    if (tries == tries_before_report) report_no_thread(error);
    make_lasting_thread_if_wanted();  // its error is for its caller to hear
    platform::sleep_ns(pause_ns);
    pause_ns = std::min(2 * pause_ns, longest_pause_ns);
  }
}

void template_main(void*) {
  sched.template_thread_id.store_relaxed(platform::current_thread_id());
  for (;;) {
    sched.template_note.sleep();
    sched.template_note.restart();
    make_lasting_thread_if_wanted();
    while (sched.thread_requests.take()) make_thread();
  }
}

}  // namespace

void start_template_thread() noexcept {
  const int error = platform::create_thread(&template_main, nullptr);
  if (error != 0) report_no_thread(error);
}

void request_threads(std::uint32_t most) noexcept {
  const std::uint32_t threads = own_threads() + sched.machine_count.load_relaxed();
  if (threads + most > sched.thread_limit.load_relaxed()) most = 1;  // none ahead blows the fuse
  if (sched.thread_requests.add(most)) sched.template_note.wake();
}

void retire_threads(std::uint32_t count) noexcept {
  for (; count > 0; --count) {
    sched.lock.acquire();
    machine* m = pop_idle_machine();
    sched.lock.release();
    if (m == nullptr) return;
    m->ends = true;
    m->note.wake();
  }
}

}  // namespace sley::rt

namespace sley::runtime {

int set_max_threads(int n) {
  if (n < 1) throw std::invalid_argument("sley::runtime::set_max_threads: below 1");
  rt::boot();
  const std::uint32_t before = rt::sched.thread_limit.load_relaxed();
  rt::sched.thread_limit.store_relaxed(static_cast<std::uint32_t>(n));
  rt::check_limit(rt::own_threads() + rt::sched.machine_count.load_relaxed());
  return static_cast<int>(before);
}

}  // namespace sley::runtime
