// SPEC.md, "System calls and preemption".
#include "rows.hpp"

#include <sley/sley.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bench {

namespace {

// What does it cost that a system call might have blocked? The two are measured in turn, piece by
// piece: the difference is much smaller than what either drifts.
outcome syscall_overhead(int n) {
  constexpr int pieces = 20;
  const int each = std::max(1, n / pieces);
  int bad = 0;
  outcome sum;
  nanoseconds raw{};
  for (int piece = 0; piece < pieces; ++piece) {
    const outcome o = timed(each, [&] {
      for (int i = 0; i < each; ++i) {
        if (sley::syscall(SYS_getppid) == -1) ++bad;
      }
    });
    sum.ops += o.ops;
    sum.wall += o.wall;
    sum.cpu += o.cpu;
    sum.cost += o.cost;
    raw += timed(each, [&] {
             for (int i = 0; i < each; ++i) {
               if (::syscall(SYS_getppid) == -1) ++bad;
             }
           }).wall;
  }
  check(bad == 0, "getppid");
  sum.add("raw_ns=%.2f overhead_ns=%.2f", ns_each(raw, sum.ops), ns_each(sum.wall - raw, sum.ops));
  return sum;
}

// All threads of this process, whatever made them.
int thread_count() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  check(file != nullptr, "open status");
  int threads = 0;
  char line[256];
  while (threads == 0 && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "Threads: %d", &threads) != 1) threads = 0;
  }
  std::fclose(file);
  check(threads > 0, "Threads line");
  return threads;
}

// 0 or the error. Not inlined: the goroutine may go on on another thread, and compilers remember in
// a loop where errno was.
[[gnu::noinline]] int nanosleep_error(timespec& left) {
  return sley::syscall(SYS_nanosleep, &left, &left) == 0 ? 0 : errno;
}

// How long do a thousand calls take that block for 10 ms each, and how many threads are there for
// it?
outcome blocking_syscalls(int n) {
  std::atomic<bool> stop{false};
  std::atomic<int> peak{0};
  sley::chan<void> sampled;
  const int before = thread_count();
  sley::go([&, sampled] {
    while (!stop) {
      peak = std::max(peak.load(), thread_count());
      sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    }
    sampled.close();
  });
  outcome o = timed(n, [&] {
    sley::wait_group wg;
    wg.add(n);
    for (int i = 0; i < n; ++i) {
      sley::go([&wg] {
        timespec left = {.tv_sec = 0, .tv_nsec = 10'000'000};
        int error = nanosleep_error(left);
        while (error == EINTR) error = nanosleep_error(left);
        check(error == 0, "nanosleep");
        wg.done();
      });
    }
    wg.wait();
  });
  stop = true;
  sampled.receive();
  const int after = thread_count();
  o.add("threads_before=%d peak_threads=%d threads_after=%d", before, std::max(peak.load(), after),
        after);
  return o;
}

struct alignas(128) padded {
  std::atomic<std::uint64_t> v{0};
};

// Goroutines that count without a call until they are told to stop.
class hogs {
 public:
  explicit hogs(int count) : counts_(static_cast<std::size_t>(count)) {
    group_.add(count);
    for (padded& mine : counts_) {
      sley::go([this, &mine] {
        std::uint64_t x = 0;
        while (!stop_.load(std::memory_order_relaxed)) ++x;
        mine.v = x;
        group_.done();
      });
    }
  }

  void stop() {
    stop_ = true;
    group_.wait();
  }

  const std::vector<padded>& counts() const { return counts_; }

 private:
  std::atomic<bool> stop_{false};
  std::vector<padded> counts_;
  sley::wait_group group_;
};

// How late does a sleeper wake when goroutines that never call anything hold all Ps?
outcome preempt_latency(int n) {
  constexpr nanoseconds pause = std::chrono::milliseconds(1);
  const int procs = sley::runtime::max_procs();
  hogs spinning(procs);
  std::vector<nanoseconds> late(static_cast<std::size_t>(n));
  nanoseconds sum{};
  sley::chan<void> done;
  outcome o = timed(n, [&] {
    sley::go([&, done] {
      for (nanoseconds& l : late) {
        const clock::time_point start = clock::now();
        sley::this_goroutine::sleep_for(pause);
        l = clock::now() - start - pause;
        sum += l;
      }
      done.close();
    });
    done.receive();
  });
  spinning.stop();
  o.add("hogs=%d", procs);
  o.cost = sum;  // one op costs its lateness
  o.add_latencies("late_", late);
  return o;
}

// How equally do four goroutines that never call anything share the Ps?
outcome preempt_fairness(int seconds) {
  constexpr int count = 4;
  hogs spinning(count);
  outcome o = timed(1, [&] {
    sley::this_goroutine::sleep_for(std::chrono::seconds(seconds));
    spinning.stop();
  });
  std::uint64_t least = UINT64_MAX, most = 0, total = 0;
  for (const padded& hog : spinning.counts()) {
    least = std::min(least, hog.v.load());
    most = std::max(most, hog.v.load());
    total += hog.v;
  }
  auto ratio = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a) / static_cast<double>(std::max<std::uint64_t>(b, 1));
  };
  std::string shares;
  for (const padded& hog : spinning.counts()) {
    char share[16];
    std::snprintf(share, sizeof share, "%s%.3f", shares.empty() ? "" : ",", ratio(hog.v, total));
    shares += share;
  }
  o.ops = static_cast<std::int64_t>(total);
  o.add("hogs=%d max_min=%.3f shares=%s", count, ratio(most, least), shares.c_str());
  return o;
}

// For how long does no goroutine run when, at one P, the slice of one hog ends and the slice of the
// next begins? Each hog says all the time that it runs.
outcome preempt_gap(int n) {
  constexpr std::size_t count = 4;
  sley::runtime::set_max_procs(1);
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> last_runner{count};
  std::vector<std::atomic<clock::rep>> last_seen(count);
  std::vector<nanoseconds> gaps;
  gaps.reserve(static_cast<std::size_t>(n));
  const auto say_to_run = [&](std::size_t me) {
    const clock::rep now = clock::now().time_since_epoch().count();
    if (last_runner != me) {
      clock::rep before = 0;
      for (const auto& seen : last_seen) before = std::max(before, seen.load());
      last_runner = me;
      // Otherwise it was stopped right after it had read the clock.
      if (now > before && before != 0 && !stop) gaps.emplace_back(now - before);
      if (gaps.size() == gaps.capacity()) stop = true;
    }
    last_seen[me] = now;
  };
  outcome o = timed(n, [&] {
    sley::wait_group group;
    for (std::size_t i = 0; i < count; ++i) {
      group.go([&stop, &say_to_run, i] {
        while (!stop) say_to_run(i);
      });
    }
    group.wait();
  });
  o.cost = std::accumulate(gaps.begin(), gaps.end(), nanoseconds{});  // one op costs its gap
  o.add("hogs=%zu", count);
  o.add_latencies("gap_", gaps);
  return o;
}

// Context switches of the whole process, voluntary and involuntary.
std::int64_t context_switches() {
  rusage usage;
  check(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

// What does a process cost in which ten thousand goroutines wait and one wakes up each second?
outcome idle_cpu(int seconds) {
  constexpr int parked = 10'000;
  sley::chan<void> gate;
  sley::wait_group ready, wg;
  ready.add(parked);
  wg.add(parked);
  for (int i = 0; i < parked; ++i) {
    sley::go([&ready, &wg, gate] {
      ready.done();
      gate.receive();
      wg.done();
    });
  }
  ready.wait();
  sley::this_goroutine::sleep_for(std::chrono::milliseconds(200));  // the last ones park
  sley::ticker tick(std::chrono::seconds(1));
  const std::int64_t switches_before = context_switches();
  outcome o = timed(seconds, [&] {
    for (int i = 0; i < seconds; ++i) check(tick.channel().receive().has_value(), "tick");
  });
  const std::int64_t switches = context_switches() - switches_before;
  tick.stop();
  gate.close();
  wg.wait();
  o.add("parked=%d ctxsw=%lld", parked, static_cast<long long>(switches));
  o.cost = o.cpu;  // one op is one second of idling; it costs CPU time
  return o;
}

// How old is a message when a goroutine in an otherwise idle process has woken up for it?
outcome wake_latency(int n) {
  constexpr nanoseconds pause = std::chrono::milliseconds(1);
  const auto size = static_cast<std::size_t>(n);
  std::vector<nanoseconds> ages(size), sleep_late(size);
  nanoseconds sum{};
  sley::chan<clock::time_point> c;
  sley::chan<void> done;
  sley::go([&ages, &sum, c, done] {
    std::size_t i = 0;
    for (clock::time_point sent : c) {
      ages[i] = clock::now() - sent;
      sum += ages[i];
      ++i;
    }
    done.close();
  });
  outcome o = timed(n, [&] {
    for (std::size_t i = 0; i < size; ++i) {
      const clock::time_point start = clock::now();
      sley::this_goroutine::sleep_for(pause);
      const clock::time_point now = clock::now();
      sleep_late[i] = now - start - pause;
      c.send(now);
    }
    c.close();
    done.receive();
  });
  o.cost = sum;  // one op costs its wake-up latency
  o.add_latencies("", ages);
  o.add_latencies("sleep_late_", sleep_late);
  return o;
}

constexpr workload rows[] = {
    {"syscall_overhead", 5'000'000, 100'000, syscall_overhead},
    {"blocking_syscalls", 1'000, 0, blocking_syscalls},
    {"preempt_latency", 300, 0, preempt_latency},
    {"preempt_fairness", 2, 0, preempt_fairness},
    {"preempt_gap", 200, 0, preempt_gap},
    {"idle_cpu", 3, 0, idle_cpu},
    {"wake_latency", 2'000, 0, wake_latency},
};

}  // namespace

std::span<const workload> system_rows() { return rows; }

}  // namespace bench
