// The contracts of os.hpp on Linux.
#include "platform/os.hpp"

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/check.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <memory>
#include <new>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace sley::platform {

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

timespec to_timespec(std::int64_t ns) noexcept {
  return {.tv_sec = ns / ns_per_s, .tv_nsec = ns % ns_per_s};
}

}  // namespace

// ---- time ----

std::int64_t monotonic_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * ns_per_s + t.tv_nsec;
}

void sleep_until_ns(std::int64_t when_ns) noexcept {
  const timespec until = to_timespec(when_ns);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void sleep_ns(std::int64_t ns) noexcept { sleep_until_ns(monotonic_ns() + ns); }

void yield_thread() noexcept { sched_yield(); }

// ---- futex ----

void futex_wait(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) noexcept {
  const int saved = errno;
  const timespec deadline = to_timespec(deadline_ns);
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
          deadline_ns == INT64_MAX ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
  errno = saved;
}

void futex_wake(std::uint32_t* word, int count) noexcept {
  const int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
  errno = saved;
}

// ---- threads ----

namespace {

struct thread_start {
  void (*entry)(void*);
  void* arg;
  sigset_t mask;
};

void* start_thread(void* arg) {
  const std::unique_ptr<thread_start> start(static_cast<thread_start*>(arg));
  pthread_sigmask(SIG_SETMASK, &start->mask, nullptr);
  start->entry(start->arg);
  return nullptr;
}

}  // namespace

int create_thread(void (*entry)(void*), void* arg) noexcept {
  std::unique_ptr<thread_start> start(new (std::nothrow) thread_start{entry, arg, {}});
  if (!start) return ENOMEM;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &start->mask);
  const sigset_t mask = start->mask;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, &start_thread, start.get());
  pthread_attr_destroy(&attributes);
  if (error == 0) static_cast<void>(start.release());  // the thread owns it now
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return error;
}

int available_cpus() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
  return n > 0 ? n : 1;
}

void set_exact_timers() noexcept { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

// ---- memory ----

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void* map_memory(std::size_t bytes, bool small_pages) noexcept {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  // Advice: a kernel without huge pages refuses it, and that is as well.
  if (small_pages) madvise(start, bytes, MADV_NOHUGEPAGE);
  return start;
}

void unmap_memory(void* start, std::size_t bytes) noexcept { munmap(start, bytes); }

namespace {

// A guard made by mprotect splits a mapping in two. The process must keep room for mappings of its
// own: without any left, malloc fails and no thread can be made. So guards take four fifths at
// most.
std::uint32_t most_split_mappings() noexcept {
  constexpr std::uint32_t kernel_default = 65530;
  std::uint32_t mappings = kernel_default;
  if (const int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC); fd >= 0) {
    char text[32];
    const ssize_t n = read(fd, text, sizeof(text));
    if (n > 0) std::from_chars(text, text + n, mappings);
    close(fd);
  }
  return mappings / 5 * 4 / 2;
}

}  // namespace

bool install_guard(void* start, std::size_t bytes) noexcept {
  // EINVAL: a kernel before 6.13, or memory that is locked.
  if (madvise(start, bytes, MADV_GUARD_INSTALL) == 0) return true;
  static const std::uint32_t most = most_split_mappings();
  static detail::atomic<std::uint32_t> made;
  if (made.add_relaxed(1) >= most) {  // only a count
    made.add_relaxed(static_cast<std::uint32_t>(-1));
    errno = ENOMEM;
    return false;
  }
  return mprotect(start, bytes, PROT_NONE) == 0;
}

}  // namespace sley::platform

// ---- the asymmetric barrier of <sley/detail/atomic.hpp> ----

namespace sley::detail {

bool barriers_are_symmetric = true;
constinit atomic_table<std::uint32_t, sleeper_places> lock_sleepers;

namespace {

// Decided once, before main() and any thread of ours: a process that changed its mind while threads
// are at it would have pairs of barriers of which neither is full.
[[gnu::constructor(101)]] void register_for_membarrier() noexcept {
  const int saved = errno;
  barriers_are_symmetric =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
  if (barriers_are_symmetric) {
    for (std::size_t i = 0; i < sleeper_places; ++i) lock_sleepers[i].store_relaxed(1);  // LK-2
  }
  errno = saved;
}

}  // namespace

void heavy_barrier_syscall() noexcept {
  if (barriers_are_symmetric) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return;
  }
  const int saved = errno;
  const long result = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  SLEY_CHECK(result == 0, "LK-2: membarrier works once the process is registered");
  errno = saved;
}

}  // namespace sley::detail
