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
#include "runtime/watchdog/threads.hpp"

#include "base/check.hpp"
#include "base/print.hpp"
#include "platform/context.hpp"
#include "platform/exception_state.hpp"
#include "platform/fault.hpp"
#include "platform/interrupt.hpp"
#include "platform/os.hpp"
#include "platform/unseen.hpp"
#include "runtime/inspect/last_words.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/run/schedule.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/lasting_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
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
  sched.threads.machines.sub_relaxed(1);
  platform::set_current_machine(nullptr);
  m->border.leave();
  platform::reset_floating_point();  // the last goroutine's words are loaded
  platform::drop_alternate_signal_stack(std::exchange(m->signal_stack, nullptr));
  give_machine(m);
}

void run_machine(void* arg) noexcept {
  const platform::unseen unseen;
  auto* m = static_cast<machine*>(arg);
  m->border.enter();
  platform::set_current_machine(m);
  m->signal_stack = platform::use_alternate_signal_stack();
  platform::allow_interrupts();
  platform::adopt_thread_stack(m->fiber);
  m->variables.find();
  m->thread_exceptions = platform::thread_exception_state();
  platform::save_control(m->context.control);
  attach_thread(m);
  sched.threads.requests.arrive();
  take_up_search(m);  // TH-1: under the scheduler's lock
  schedule(m);
  end_machine(m);
}

// What follows may be destructors of thread_local objects, which goroutines have made.
void machine_main(void* arg) {
  run_machine(arg);
  platform::takes_order_of_thread();
}

[[noreturn]] void die_of_exhaustion() noexcept {
  begin_last_words();
  base::line_writer line;
  line.text("sley: program exceeds ").dec(std::uint64_t{sched.threads.limit.load_relaxed()});
  line.text("-thread limit\n").flush(2);
  base::fatal("thread exhaustion; see sley::runtime::set_max_threads");
}

}  // namespace

void check_thread_limit(std::uint32_t more) noexcept {
  const std::uint32_t threads = own_threads() + sched.threads.machines.load_relaxed();
  if (threads + more > sched.threads.limit.load_relaxed()) die_of_exhaustion();
}

namespace {

// No thread could be made for half a second. With other threads, work goes on more slowly.
void report_no_thread(int error) noexcept {
  base::line_writer line;
  line.text("sley: can't make another thread: ").text(std::strerror(error));
  line.text(" (threads made: ").dec(std::uint64_t{sched.threads.machines.load_relaxed()});
  line.text("; the limit may be RLIMIT_NPROC, the cgroup's pids.max or memory)");
  if (sched.threads.machines.load_relaxed() == 0) base::fatal(line.view());
  line.text("\n").flush(2);
}

// 0, or an errno value.
int make_machine() noexcept {
  machine* m = new_machine();
  if (m == nullptr) return ENOMEM;
  sched.threads.machines.add_relaxed(1);
  base::line_writer name;
  name.text("sley m").dec(m->id);
  const int error = platform::create_thread(&machine_main, m, name.view());
  if (error != 0) {
    sched.threads.machines.sub_relaxed(1);
    give_machine(m);
  }
  return error;
}

void make_thread() noexcept {
  check_thread_limit(1);
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
  const platform::unseen unseen;
  sched.threads.template_id.store_relaxed(platform::current_thread_id());
  for (;;) {
    sched.threads.template_note.sleep();
    sched.threads.template_note.restart();
    make_lasting_thread_if_wanted();
    while (sched.threads.requests.take()) make_thread();
  }
}

}  // namespace

void start_template_thread() noexcept {
  const int error = platform::create_thread(&template_main, nullptr, "sley template");
  if (error != 0) report_no_thread(error);
}

namespace {

constexpr std::uint32_t spare_threads = 2;  // idle ones that are kept
constexpr std::int64_t idle_period_ns = 5'000'000'000;

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

}  // namespace

void idle_threads::look(std::int64_t now_ns) noexcept {
  const std::uint32_t idle = sched.idle_machine_count.load_relaxed();
  least_ = std::min(least_, idle);
  if (now_ns < period_end_ns_) return;
  if (least_ > spare_threads) retire_threads(least_ - spare_threads);
  least_ = idle;
  period_end_ns_ = now_ns + idle_period_ns;
}

bool idle_threads::is_settled() const noexcept {
  return sched.idle_machine_count.load_relaxed() <= spare_threads;
}

}  // namespace sley::rt
