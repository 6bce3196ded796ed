#include "runtime/last_words.hpp"

#include "platform/os.hpp"
#include "runtime/enter.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>

namespace sley::rt {

namespace {

using speaker = std::uintptr_t;  // the address of a goroutine, or the number of a thread
constexpr speaker no_one = 0;
constexpr speaker sysmon_soon = 1;

detail::atomic<speaker> speaking;      // relaxed: first come, first served
detail::atomic<std::int64_t> said_ns;  // relaxed: when the report was complete; 0: it is not

constexpr std::int64_t look_again_ns = 1'000'000;
// A terminate handler may take its time, and must not be waited for if it waits for the caller.
constexpr std::int64_t time_to_end_ns = 10'000'000'000;

speaker self() noexcept {
  const machine* m = this_machine();
  if (m != nullptr && m->g != nullptr && !m->g->is_foreign) return reinterpret_cast<speaker>(m->g);
  return static_cast<speaker>(platform::current_thread_id());
}

bool try_begin(speaker me, speaker announced) noexcept {
  speaker seen = no_one;
  if (speaking.cas_relaxed(seen, me) || seen == me) return true;
  const std::int64_t at_ns = said_ns.load_relaxed();
  const bool is_overdue = at_ns != 0 && platform::monotonic_ns() - at_ns > time_to_end_ns;
  if (!is_overdue && seen != announced) return false;
  if (!speaking.cas_relaxed(seen, me)) return false;
  said_ns.store_relaxed(0);
  return true;
}

}  // namespace

void begin_last_words() noexcept {
  const speaker me = self();
  while (!try_begin(me, me)) platform::sleep_ns(look_again_ns);  // ends, as the process does
}

bool try_begin_last_words() noexcept { return try_begin(self(), sysmon_soon); }

void announce_last_words() noexcept {
  speaker seen = no_one;
  static_cast<void>(speaking.cas_relaxed(seen, sysmon_soon));
}

void take_over_last_words() noexcept { speaking.store_relaxed(self()); }

bool has_last_words() noexcept { return speaking.load_relaxed() == self(); }

void complete_last_words() noexcept { said_ns.store_relaxed(platform::monotonic_ns()); }

// The goroutine that speaks may have been stopped by the end of run(): what() may use the library.
void wait_for_last_words() noexcept {
  for (;;) {  // ends, as the process does
    const speaker seen = speaking.load_relaxed();
    if (seen == no_one || try_begin(self(), no_one)) return;
    if (sched.gate.is_paused()) {
      const inside ends_the_pause;
    }
    platform::sleep_ns(look_again_ns);
  }
}

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

// The last act of exit(), after everything else that was registered for the end. A report has begun
// before, and is waited for, or does not begin any more.
[[gnu::destructor(101)]] void end_without_report() noexcept {
  if (sched.has_forked.load_relaxed()) return;
  begin_last_words();
}

}  // namespace

void install_last_words() noexcept {
  former_handler = std::set_terminate(&on_terminate);
  // Runs before the destruction of static objects that were made before this.
  std::atexit(&wait_for_last_words);
  std::at_quick_exit(&begin_last_words);
}

void reset_last_words() noexcept { speaking.store_relaxed(no_one); }

}  // namespace sley::rt
