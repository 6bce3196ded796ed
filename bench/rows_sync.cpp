// SPEC.md, "Synchronisation".
#include "rows.hpp"

#include <sley/sley.hpp>

#include <algorithm>
#include <cstdint>

namespace bench {

namespace {

// What do a lock and an unlock cost when nobody else wants the mutex?
outcome mutex_uncontended(int n) {
  sley::mutex mutex;
  int count = 0;
  outcome o = timed(n, [&] {
    for (int i = 0; i < n; ++i) {
      mutex.lock();
      ++count;
      mutex.unlock();
    }
  });
  check(count == n, "count");
  return o;
}

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

// What does a wait group cost when nobody has to wait?
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

constexpr workload rows[] = {
    {"mutex_uncontended", 100'000'000, 1'000'000, mutex_uncontended},
    {"mutex_contended", 8'000'000, 200'000, mutex_contended},
    {"waitgroup_addwait", 50'000'000, 1'000'000, waitgroup_addwait},
};

}  // namespace

std::span<const workload> sync_rows() { return rows; }

}  // namespace bench
