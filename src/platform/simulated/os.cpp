// Time, futexes, threads and SIGURG of os.hpp and interrupt.hpp as the simulation has them, and the
// calls of libc that a program reads the clock and sleeps with.
#include "platform/os.hpp"

#include <sley/detail/config.hpp>

#include "base/peek.hpp"
#include "platform/cpu_limit.hpp"
#include "platform/interrupt.hpp"
#include "platform/malloc_arenas.hpp"
#include "platform/placement.hpp"
#include "platform/poller_wait.hpp"
#include "platform/simulated/simulation.hpp"
#include "platform/simulated/thread.hpp"
#include "platform/timespec.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef SLEY_TSAN
#include <link.h>

extern "C" void AnnotateBenignRaceSized(const char* file, int line, const volatile void* start,
                                        std::size_t bytes, const char* why) noexcept;
#endif

#include <algorithm>
#include <cerrno>

namespace sley::platform {

using simulated::self;
using simulated::state;

// ---- thread_local variables ----

namespace simulated {

#ifdef SLEY_TSAN
namespace {

int ignore_races_in(dl_phdr_info* object, std::size_t, void*) noexcept {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_TLS || object->dlpi_tls_data == nullptr) continue;
    AnnotateBenignRaceSized(__FILE__, __LINE__, object->dlpi_tls_data, part.p_memsz,
                            "thread_local variables of the one thread that plays all");
  }
  return 0;
}

}  // namespace

void share_thread_locals() noexcept { dl_iterate_phdr(&ignore_races_in, nullptr); }
#else
void share_thread_locals() noexcept {}
#endif

}  // namespace simulated

// ---- time ----

std::int64_t monotonic_ns() noexcept { return simulated::now_ns(); }

void sleep_until_ns(std::int64_t when_ns) noexcept {
  while (simulated::now_ns() < when_ns) simulated::sleep_as(state::asleep, nullptr, when_ns);
}

void sleep_ns(std::int64_t ns) noexcept {
  std::int64_t until_ns = 0;
  if (__builtin_add_overflow(monotonic_ns(), ns, &until_ns)) until_ns = INT64_MAX;
  sleep_until_ns(until_ns);
}

void yield_thread() noexcept { simulated::yield(); }

// ---- futex ----

void futex_wait(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) noexcept {
  if (base::peek(*word) != expected) return;
  if (deadline_ns <= simulated::now_ns()) return;
  simulated::sleep_as(state::asleep, word, deadline_ns);
}

void futex_wake(std::uint32_t* word, int count) noexcept { simulated::wake(word, count); }

// ---- threads ----

// The same on every machine, so that a seed means the same.
int available_cpus(std::int32_t) noexcept { return 8; }

// No cgroup limits them.
std::uint32_t automatic_procs(std::int32_t thread_id) noexcept {
  return static_cast<std::uint32_t>(available_cpus(thread_id));
}

// One thread plays them all, and one thread needs no more than the first arena.
void limit_malloc_arenas(std::uint32_t) noexcept {}

bool visit_own_stacks(void (*)(void*, std::uintptr_t, std::uintptr_t) noexcept, void*) noexcept {
  return false;
}

int create_thread(void (*entry)(void*), void* arg, std::string_view) noexcept {
  return simulated::create(entry, arg) == nullptr ? EAGAIN : 0;
}

void name_this_thread(std::string_view) noexcept {}

std::int32_t current_thread_id() noexcept { return self().id; }

const std::uint32_t* place_of_this_thread() noexcept { return nullptr; }

std::int64_t thread_cpu_ns(std::int32_t thread_id) noexcept {
  constexpr std::int64_t ns_per_step = 50;
  const simulated::thread* t = simulated::find(thread_id);
  return t == nullptr ? -1 : static_cast<std::int64_t>(t->steps) * ns_per_step;
}

cpu_times thread_cpu_times(std::int32_t) noexcept { return {}; }

bool where_thread_sleeps(std::int32_t, sleeping_place&) noexcept { return false; }

thread_state state_of_thread(std::int32_t thread_id) noexcept {
  const simulated::thread* t = simulated::find(thread_id);
  if (t == nullptr) return thread_state::unknown;
  return t->state == state::runnable ? thread_state::runs : thread_state::sleeps;
}

std::uint32_t count_threads(std::uint32_t, bool (*)() noexcept) noexcept {
  return simulated::count();
}

void ask_for_short_slices() noexcept {}
void set_exact_timers() noexcept {}
exact_timers::exact_timers() noexcept = default;
exact_timers::~exact_timers() = default;

// ---- SIGURG ----

void install_interrupt_handler(interrupt_hook hook) noexcept {
  simulated::set_interrupt_hook(hook);
}

void allow_interrupts() noexcept {}
interruptible_wait::interruptible_wait() noexcept = default;
interruptible_wait::~interruptible_wait() = default;

bool is_told_of_urgent_data() noexcept { return false; }

bool interrupt_thread(std::int32_t thread_id) noexcept {
  simulated::thread* t = simulated::find(thread_id);
  if (t == nullptr) return false;
  t->is_interrupted = true;
  t->state = state::runnable;
  return true;
}

// ---- events ----

void wait_for_any(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept {
  simulated::note_awaited(descriptors);
  const auto count = static_cast<nfds_t>(descriptors.size());
  if (::poll(descriptors.data(), count, 0) == 0 && deadline_ns > simulated::now_ns()) {
    simulated::sleep_as(state::polling, nullptr, deadline_ns);
    ::poll(descriptors.data(), count, 0);
  }
  simulated::note_waited();
}

}  // namespace sley::platform

// ---- libc ----

namespace {

using sley::platform::to_ns;
using sley::platform::to_timespec;

// A time that is too far away to count never comes.
std::int64_t ns_of(const timespec& t) noexcept {
  constexpr std::int64_t most_seconds = INT64_MAX / sley::platform::ns_per_s;
  return t.tv_sec >= most_seconds ? INT64_MAX : to_ns(t);
}

// A thread sleeps in the kernel unannounced.
int sleep_unannounced(std::int64_t ns) noexcept {
  if (sley::platform::simulated::has_begun()) {
    sley::platform::sleep_ns(ns);
  } else {
    const timespec t = to_timespec(ns);
    syscall(SYS_nanosleep, &t, nullptr);
  }
  return 0;
}

}  // namespace

// Visible, so that shared libraries find these and not libc's.
extern "C" {

// The day of the wall clock is of no account, as long as it is always the same.
SLEY_API int clock_gettime(clockid_t clock, timespec* t) noexcept {
  const bool is_of_cpu =
      clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
  if (is_of_cpu || !sley::platform::simulated::has_begun()) {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, t));
  }
  *t = to_timespec(sley::platform::simulated::now_ns());
  return 0;
}

SLEY_API int nanosleep(const timespec* wanted, timespec*) {
  return sleep_unannounced(ns_of(*wanted));
}

SLEY_API int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec*) {
  timespec now = {};
  if ((flags & TIMER_ABSTIME) != 0) clock_gettime(clock, &now);
  return sleep_unannounced(ns_of(*wanted) - to_ns(now));
}

SLEY_API int usleep(useconds_t us) { return sleep_unannounced(std::int64_t{us} * 1000); }

SLEY_API unsigned sleep(unsigned seconds) {
  sleep_unannounced(std::int64_t{seconds} * sley::platform::ns_per_s);
  return 0;
}

SLEY_API int sched_yield() noexcept {
  if (sley::platform::simulated::has_begun()) sley::platform::simulated::yield();
  return 0;
}
}
