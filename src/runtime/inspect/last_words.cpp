#include "runtime/inspect/last_words.hpp"

#include "platform/os.hpp"
#include "runtime/run/pause.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>

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
  if (speaking.cas_relaxed(seen, me)) return true;
  if (seen == me) return true;
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

// The thread may have failed with a lock that the other report needs, such as malloc's.
bool begin_last_words_of_failure() noexcept {
  if (has_last_words()) return false;
  const speaker me = self();
  const std::int64_t until_ns = platform::monotonic_ns() + time_to_end_ns;
  while (!try_begin(me, me)) {
    if (platform::monotonic_ns() >= until_ns) return false;
    platform::sleep_ns(look_again_ns);
  }
  return true;
}

void announce_last_words() noexcept {
  speaker seen = no_one;
  speaking.cas_relaxed(seen, sysmon_soon);
}

void take_over_last_words() noexcept { speaking.store_relaxed(self()); }

bool has_last_words() noexcept { return speaking.load_relaxed() == self(); }

void complete_last_words() noexcept { said_ns.store_relaxed(platform::monotonic_ns()); }

namespace {

// Ends the pause between two run()s, as a use of the library does.
void end_pause() noexcept {
  machine* m = current_machine();
  const bool is_goroutine = m != nullptr && !m->is_foreign;
  if (is_goroutine) m->border.enter();  // runtime locks are taken inside
  resume();
  if (is_goroutine) m->border.leave();
}

}  // namespace

// The goroutine that speaks may have been stopped by the end of run(): what() may use the library.
void wait_for_last_words() noexcept {
  for (;;) {  // ends, as the process does
    const speaker seen = speaking.load_relaxed();
    if (seen == no_one || try_begin(self(), no_one)) return;
    if (sched.gate.is_paused()) end_pause();
    platform::sleep_ns(look_again_ns);
  }
}

void reset_last_words() noexcept { speaking.store_relaxed(no_one); }

}  // namespace sley::rt
