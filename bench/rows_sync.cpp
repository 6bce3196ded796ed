// SPEC.md, "Synchronisation".
#include "rows.hpp"

#include <sley/sley.hpp>

#include <algorithm>
#include <chrono>
#include <atomic>
#include <cstdint>
#include <tuple>
#include <vector>

namespace bench {

namespace {

// What do a lock and an unlock cost when no other goroutine wants the mutex?
outcome mutex_uncontended(int n) { return lock_and_unlock<sley::mutex>(n); }

// What does a short critical section cost when eight goroutines want it all the time?
outcome mutex_contended(int n) {
  constexpr int goroutines = 8;
  const int each = std::max(1, n / goroutines);
  const std::int64_t total = std::int64_t{goroutines} * each;
  sley::mutex mutex;
  std::uint64_t shared = 88172645463325252;
  std::int64_t count = 0;
  outcome o = timed(total, [&] {
    sley::wait_group wg;
    for (int g = 0; g < goroutines; ++g) {
      wg.add(1);
      sley::go([&, g] {
        auto local = static_cast<std::uint64_t>(g + 1);
        for (int i = 0; i < each; ++i) {
          mutex.lock();
          ++count;
          shared = xorshift(shared, 8);
          mutex.unlock();
          local = xorshift(local, 8);
        }
        sink += local;
        wg.done();
      });
    }
    wg.wait();
  });
  check(count == total, "count");
  sink += shared;
  return o;
}

// What does a read lock cost when eight goroutines read all the time and none writes?
outcome rwmutex_read(int n) {
  constexpr int goroutines = 8;
  const int each = std::max(1, n / goroutines);
  const std::int64_t total = std::int64_t{goroutines} * each;
  sley::shared_mutex mutex;
  std::uint64_t value = 7;
  std::atomic<std::uint64_t> sum{0};
  outcome o = timed(total, [&] {
    sley::wait_group wg;
    for (int g = 0; g < goroutines; ++g) {
      wg.add(1);
      sley::go([&, each] {
        std::uint64_t local = 0;
        for (int i = 0; i < each; ++i) {
          mutex.lock_shared();
          local += value;
          mutex.unlock_shared();
        }
        sum += local;
        wg.done();
      });
    }
    wg.wait();
  });
  check(sum == 7 * static_cast<std::uint64_t>(total), "sum");
  return o;
}

// What does a wait group cost when no goroutine has to wait?
outcome waitgroup_addwait(int n) {
  sley::wait_group wg;
  return timed(n, [&] {
    for (int i = 0; i < n; ++i) {
      wg.add(1);
      wg.done();
      wg.wait();
    }
  });
}

// What does it cost to make 1,000 contexts and to end them by ending their parent, and how long is
// it until all their waiters have noticed?
constexpr int children = 1000;

double notify_us() {
  constexpr int rounds = 20;
  nanoseconds total{};
  for (int round = 0; round < rounds; ++round) {
    auto [parent, cancel] = sley::with_cancel(sley::context::background());
    sley::wait_group ready;
    sley::wait_group all;
    ready.add(children);
    for (int i = 0; i < children; ++i) {
      all.go([&ready, &above = parent] {
        auto [ctx, stop] = sley::with_cancel(above);
        ready.done();
        ctx.done().receive();
        stop();
      });
    }
    ready.wait();
    sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    const auto start = clock::now();
    cancel();
    all.wait();
    total += clock::now() - start;
  }
  return ns_each(total, rounds) / 1000;
}

outcome ctx_cancel_tree(int n) {
  std::vector<sley::context> below(children);
  std::vector<sley::cancel_function> stops(children);
  nanoseconds cancelling{};
  outcome o = timed(n, [&] {
    for (int i = 0; i < n; ++i) {
      auto [parent, cancel] = sley::with_cancel(sley::context::background());
      for (std::size_t k = 0; k < children; ++k) {
        std::tie(below[k], stops[k]) = sley::with_cancel(parent);
      }
      const auto start = clock::now();
      cancel();
      cancelling += clock::now() - start;
      for (const sley::context& ctx : below) {
        check(ctx.error() == sley::context_errc::canceled, "child cancelled");
      }
    }
  });
  o.add("cancel_us=%.2f notify_us=%.2f", ns_each(cancelling, n) / 1000, notify_us());
  return o;
}

// What does it cost to find that something has been done?
outcome once(int n) {
  return timed(n, [n] {
    sley::once_flag flag;  // here, where its address and the count need not be loaded each time
    const int times = n;
    int calls = 0;
    for (int i = 0; i < times; ++i) sley::call_once(flag, [&] { ++calls; });
    check(calls == 1, "once");
  });
}

constexpr workload rows[] = {
    {"mutex_uncontended", 100'000'000, 1'000'000, mutex_uncontended},
    {"mutex_contended", 8'000'000, 200'000, mutex_contended},
    {"ctx_cancel_tree", 1'000, 50, ctx_cancel_tree},
    {"rwmutex_read", 16'000'000, 200'000, rwmutex_read},
    {"waitgroup_addwait", 50'000'000, 1'000'000, waitgroup_addwait},
    {"once", 500'000'000, 1'000'000, once},
};

}  // namespace

std::span<const workload> sync_rows() { return rows; }

}  // namespace bench
