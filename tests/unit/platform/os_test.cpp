// Aim: the operating system keeps the contracts of os.hpp. Method: each function once, on real
// threads and memory.
#include "platform/os.hpp"

#include "platform/placement.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include <sley/detail/atomic.hpp>

#include "support/threads.hpp"

namespace platform = sley::platform;
using sley_test::spin_until;

namespace {

constexpr std::int64_t ms = 1'000'000;

std::uint32_t count_threads() {
  return platform::count_threads(1000, []() noexcept { return true; });
}

TEST(os_time, the_clock_is_that_of_steady_clock_and_never_goes_back) {
  const auto ns_of = [](std::chrono::steady_clock::time_point t) {
    return std::chrono::nanoseconds(t.time_since_epoch()).count();
  };
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t before = ns_of(std::chrono::steady_clock::now());
    const std::int64_t now = platform::monotonic_ns();
    const std::int64_t after = ns_of(std::chrono::steady_clock::now());
    ASSERT_LE(before, now);
    ASSERT_LE(now, after);
  }
}

TEST(os_time, the_cycle_counter_grows_with_the_time) {
  const std::uint64_t before = platform::cycle_counter();
  platform::sleep_ns(ms);
  EXPECT_GT(platform::cycle_counter(), before);
}

TEST(os_time, a_sleep_is_not_shorter_than_asked) {
  const std::int64_t start = platform::monotonic_ns();
  platform::sleep_ns(2 * ms);
  EXPECT_GE(platform::monotonic_ns() - start, 2 * ms);
  platform::sleep_until_ns(start + 4 * ms);
  EXPECT_GE(platform::monotonic_ns(), start + 4 * ms);
  platform::sleep_until_ns(start);  // over already
}

TEST(os_time, a_signal_does_not_shorten_a_sleep) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  struct sigaction before;
  sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> over{false};
  std::int64_t slept = 0;
  std::thread sleeper([&] {
    const std::int64_t start = platform::monotonic_ns();
    platform::sleep_ns(20 * ms);
    slept = platform::monotonic_ns() - start;
    over = true;
    while (over) platform::yield_thread();  // the handle stays valid while signals are sent
  });
  while (!over) pthread_kill(sleeper.native_handle(), SIGUSR1);
  over = false;
  sleeper.join();
  EXPECT_GE(slept, 20 * ms);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(os_futex, a_wait_on_another_value_returns_at_once) {
  std::uint32_t word = 1;
  platform::futex_wait(&word, 0, INT64_MAX);
}

TEST(os_futex, a_wait_ends_at_its_deadline_and_keeps_errno) {
  std::uint32_t word = 1;
  const std::int64_t deadline = platform::monotonic_ns() + 5 * ms;
  errno = ENOTTY;
  while (platform::monotonic_ns() < deadline) platform::futex_wait(&word, 1, deadline);
  EXPECT_EQ(errno, ENOTTY);
}

TEST(os_futex, a_wake_ends_a_wait) {
  sley::detail::atomic<std::uint32_t> word(1);
  std::thread waker([&] {
    word.store_relaxed(0);
    platform::futex_wake(word.address(), 1);
  });
  while (word.load_relaxed() == 1) platform::futex_wait(word.address(), 1, INT64_MAX);
  waker.join();
}

TEST(os_threads, a_thread_runs_with_the_mask_of_its_maker) {
  sigset_t wanted;
  sigset_t before;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &wanted, &before);
  struct shared {
    sigset_t mask;
    std::atomic<bool> done{false};
  } s;
  const auto entry = [](void* arg) {
    auto* there = static_cast<shared*>(arg);
    pthread_sigmask(SIG_SETMASK, nullptr, &there->mask);
    there->done = true;
  };
  ASSERT_EQ(platform::create_thread(entry, &s, "of this test"), 0);
  while (!s.done) platform::yield_thread();
  EXPECT_EQ(sigismember(&s.mask, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&s.mask, SIGUSR1), 0);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(sigismember(&after, SIGUSR2), 1) << "the maker's own mask is restored";
  EXPECT_EQ(sigismember(&after, SIGUSR1), 0);
}

TEST(os_threads, a_thread_has_the_first_15_bytes_of_its_name) {
  std::thread([] {
    platform::name_this_thread("sixteen bytes...");
    char name[16];
    ASSERT_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    EXPECT_STREQ(name, "sixteen bytes..");
    platform::name_this_thread("short");
    ASSERT_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    EXPECT_STREQ(name, "short");
  }).join();
}

// A thread that sleeps in the kernel from its beginning to its end, or computes all that time.
class busy_or_asleep {
 public:
  explicit busy_or_asleep(bool asleep)
      : thread_([this, asleep] {
          id_ = platform::current_thread_id();
          char byte = 0;
          if (asleep) {
            EXPECT_EQ(read(ends_[0], &byte, 1), 0);
          } else {
            while (!stop_) {
            }
          }
        }) {
    while (id_ == 0) platform::yield_thread();
  }
  ~busy_or_asleep() {
    stop_ = true;
    close(ends_[1]);
    thread_.join();
    close(ends_[0]);
  }
  busy_or_asleep(const busy_or_asleep&) = delete;
  busy_or_asleep& operator=(const busy_or_asleep&) = delete;
  std::int32_t id() const { return id_; }

 private:
  struct pipe_ends : std::array<int, 2> {
    pipe_ends() { EXPECT_EQ(pipe(data()), 0); }
  };
  pipe_ends ends_;
  std::atomic<bool> stop_{false};
  std::atomic<std::int32_t> id_{0};
  std::thread thread_;
};

std::int32_t id_of_a_thread_that_has_ended() {
  std::int32_t id = 0;
  std::thread([&id] { id = platform::current_thread_id(); }).join();
  // A moment after its join.
  EXPECT_TRUE(spin_until([id] { return platform::thread_cpu_ns(id) == -1; }));
  return id;
}

TEST(os_threads, each_has_a_number_of_its_own_which_is_the_kernels) {
  EXPECT_EQ(platform::current_thread_id(), gettid());
  const busy_or_asleep other(true);
  EXPECT_NE(other.id(), 0);
  EXPECT_NE(other.id(), platform::current_thread_id());
}

TEST(os_threads, the_cpu_time_of_one_grows_while_it_computes) {
  const busy_or_asleep other(false);
  for (const std::int32_t id : {other.id(), platform::current_thread_id()}) {
    const std::int64_t before = platform::thread_cpu_ns(id);
    EXPECT_GE(before, 0);
    EXPECT_TRUE(spin_until([&] { return platform::thread_cpu_ns(id) >= before + 10 * ms; }));
  }
}

TEST(os_threads, the_cpu_time_of_one_stands_still_while_it_sleeps) {
  const busy_or_asleep other(true);
  EXPECT_TRUE(spin_until([&] { return platform::is_thread_asleep(other.id()); }));
  platform::sleep_ns(ms);  // so that it is off its CPU as well
  const std::int64_t before = platform::thread_cpu_ns(other.id());
  const std::int64_t own_before = platform::thread_cpu_ns(platform::current_thread_id());
  platform::sleep_ns(50 * ms);
  EXPECT_EQ(platform::thread_cpu_ns(other.id()), before);
  EXPECT_LT(platform::thread_cpu_ns(platform::current_thread_id()), own_before + 10 * ms);
}

TEST(os_threads, one_is_asleep_while_it_is_in_the_kernel_for_long_and_not_while_it_computes) {
  const busy_or_asleep sleeper(true);
  EXPECT_TRUE(spin_until([&] { return platform::is_thread_asleep(sleeper.id()); }));
  const busy_or_asleep worker(false);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(platform::is_thread_asleep(platform::current_thread_id()));
    ASSERT_FALSE(platform::is_thread_asleep(worker.id())) << "it may have to wait for a CPU";
    ASSERT_TRUE(platform::is_thread_asleep(sleeper.id()));
  }
}

TEST(os_threads, nothing_is_known_of_one_that_has_ended_and_errno_is_kept) {
  const std::int32_t id = id_of_a_thread_that_has_ended();
  errno = EBUSY;
  EXPECT_EQ(platform::thread_cpu_ns(id), -1);
  EXPECT_FALSE(platform::is_thread_asleep(id));
  EXPECT_EQ(errno, EBUSY);
}

TEST(os_threads, all_of_the_process_are_counted) {
  id_of_a_thread_that_has_ended();  // the last of the tests before
  const std::uint32_t before = count_threads();
  EXPECT_GE(before, 1U);
  {
    const busy_or_asleep one(true);
    EXPECT_EQ(count_threads(), before + 1);
    const busy_or_asleep two(false);
    EXPECT_EQ(count_threads(), before + 2);
  }
  EXPECT_TRUE(spin_until([=] { return count_threads() == before; }));
}

TEST(os_threads, exact_timers_belong_to_the_calling_thread) {
  std::thread([] {
    platform::set_exact_timers();
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1);
  }).join();
  EXPECT_NE(prctl(PR_GET_TIMERSLACK), 1);
}

TEST(os_threads, short_slices_are_a_mere_wish) {
  std::thread([] {
    const int before = sched_getscheduler(0);
    errno = EBUSY;
    platform::ask_for_short_slices();
    EXPECT_EQ(errno, EBUSY);
    EXPECT_EQ(sched_getscheduler(0), before);
  }).join();
}

TEST(os_threads, available_cpus_follows_the_affinity_of_the_process) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  EXPECT_EQ(platform::available_cpus(), CPU_COUNT(&all));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(platform::available_cpus(), 1);
  sched_setaffinity(0, sizeof(all), &all);
}

TEST(os_threads, a_thread_moves_to_a_cpu_and_may_run_everywhere_afterwards) {
  platform::cpu_set allowed;
  ASSERT_GT(platform::allowed_cpus(0, allowed), 0);
  std::thread([&allowed] {
    const std::uint32_t* place = platform::place_of_this_thread();
    for (int round = 0; round < 100; ++round) {
      const std::uint32_t cpu = allowed.nth(round % allowed.size());
      EXPECT_TRUE(platform::move_this_thread(cpu));
      // It is there unless the kernel has moved it since, which it does seldom.
      if (place != nullptr && round % 10 == 0) {
        EXPECT_TRUE(spin_until([&] {
          platform::move_this_thread(cpu);
          return *static_cast<const volatile std::uint32_t*>(place) == cpu;
        }));
      }
      platform::cpu_set after;
      platform::allowed_cpus(0, after);
      ASSERT_TRUE(after == allowed);
    }
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGUSR1), 0);
  }).join();
}

TEST(os_threads, a_thread_does_not_move_to_a_cpu_that_it_may_not_run_on) {
  platform::cpu_set allowed;
  ASSERT_GT(platform::allowed_cpus(0, allowed), 0);
  std::uint32_t other = 0;
  while (allowed.has(other)) ++other;
  EXPECT_FALSE(platform::move_this_thread(other));
  platform::cpu_set after;
  platform::allowed_cpus(0, after);
  EXPECT_TRUE(after == allowed);
}

TEST(os_threads, timers_are_exact_for_as_long_as_they_are_to_be) {
  std::thread([] {
    const int before = prctl(PR_GET_TIMERSLACK);
    ASSERT_GT(before, 1);
    {
      const platform::exact_timers exact;
      EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1);
    }
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), before);
  }).join();
}

TEST(os_memory, mapped_memory_is_zeroed_aligned_and_writable) {
  const std::size_t bytes = 4 * platform::page_bytes();
  for (const bool small_pages : {false, true}) {
    auto* start = static_cast<char*>(platform::map_memory(bytes, small_pages));
    ASSERT_NE(start, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % platform::page_bytes(), 0U);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(start[i], 0);
    std::memset(start, 1, bytes);
    platform::unmap_memory(start, bytes);
  }
}

TEST(os_memory, memory_of_huge_pages_is_zeroed_writable_and_at_a_multiple_of_them) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  auto* start = static_cast<char*>(platform::map_huge_pages(2 * huge));
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % huge, 0U);
  for (std::size_t i = 0; i < 2 * huge; i += 512) ASSERT_EQ(start[i], 0);
  std::memset(start, 1, 2 * huge);
  platform::unmap_memory(start, 2 * huge);
}

TEST(os_memory, more_than_there_can_be_is_null) {
  const std::size_t bytes = SIZE_MAX / 2 / platform::page_bytes() * platform::page_bytes();
  EXPECT_EQ(platform::map_memory(bytes, false), nullptr);
  EXPECT_EQ(platform::map_huge_pages(bytes), nullptr);
}

TEST(os_memory, discarded_pages_are_zero_when_they_are_touched_again_and_their_neighbours_stay) {
  const std::size_t page = platform::page_bytes();
  auto* start = static_cast<char*>(platform::map_memory(4 * page, true));
  ASSERT_NE(start, nullptr);
  std::memset(start, 1, 4 * page);
  errno = EBUSY;
  platform::discard_memory(start + page, 2 * page);
  EXPECT_EQ(errno, EBUSY);
  unsigned char resident[4] = {};
  ASSERT_EQ(mincore(start, 4 * page, resident), 0);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(resident[i] & 1, i == 0 || i == 3) << i;
  for (std::size_t i = 0; i < 4 * page; ++i) {
    ASSERT_EQ(start[i], i < page || i >= 3 * page ? 1 : 0) << i;
  }
  std::memset(start, 2, 4 * page);
  platform::unmap_memory(start, 4 * page);
}

TEST(os_memory_death_test, a_guard_faults_and_its_neighbours_do_not) {
  const std::size_t page = platform::page_bytes();
  auto* start = static_cast<volatile char*>(platform::map_memory(3 * page, true));
  ASSERT_NE(platform::install_guard(const_cast<char*>(start) + page, page), platform::guard::none);
  start[page - 1] = 1;
  start[2 * page] = 1;
  EXPECT_DEATH(start[page] = 1, "");
  EXPECT_DEATH(start[2 * page - 1] = 1, "");
  platform::unmap_memory(const_cast<char*>(start), 3 * page);
}

// Whether the kernel faults when it reads there: as a path.
bool faults(const char* address) { return access(address, F_OK) != 0 && errno == EFAULT; }

TEST(os_memory, guards_of_many_ranges_are_where_they_were_asked_for_and_nowhere_else) {
  const std::size_t page = platform::page_bytes();
  constexpr std::size_t ranges = 64;
  auto* start = static_cast<char*>(platform::map_memory(3 * ranges * page, true));
  ASSERT_NE(start, nullptr);
  constexpr std::uint64_t which = 0x8000'0000'f00d'0001;
  errno = EBUSY;
  const std::uint64_t done = platform::install_guards(start, 3 * page, 2 * page, which);
  EXPECT_EQ(errno, EBUSY);
  if (done == 0) GTEST_SKIP() << "the kernel has no such call";
  EXPECT_EQ(done, which);
  for (std::size_t i = 0; i < ranges; ++i) {
    const bool has_guard = (which >> i & 1) != 0;
    EXPECT_EQ(faults(start + 3 * i * page), has_guard) << i;
    EXPECT_EQ(faults(start + (3 * i + 2) * page - 1), has_guard) << i;
    EXPECT_FALSE(faults(start + (3 * i + 2) * page)) << i;
  }
  platform::unmap_memory(start, 3 * ranges * page);
}

// Store-buffer litmus: with one side light and the other heavy, they never both miss the other's
// store.
TEST(os_barriers, a_light_and_a_heavy_barrier_order_like_two_fences) {
  using sley::detail::atomic;
  constexpr int rounds = 3000;
  atomic<int> x;
  atomic<int> y;
  std::atomic<int> light_round{0};
  std::atomic<int> heavy_round{0};
  int seen_by_light = 0;
  int missed = 0;
  std::thread light([&] {
    for (int round = 1; round <= rounds; ++round) {
      while (heavy_round.load() < round) {
      }
      x.store_relaxed(round);
      sley::detail::light_barrier("LK-2");
      seen_by_light = y.load_relaxed();
      light_round.store(round);
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    heavy_round.store(round);
    y.store_relaxed(round);
    sley::detail::heavy_barrier("LK-2");
    const int seen = x.load_relaxed();
    while (light_round.load() < round) {
    }
    if (seen < round && seen_by_light < round) ++missed;
  }
  light.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
