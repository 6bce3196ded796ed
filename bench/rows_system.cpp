// SPEC.md, "System calls and preemption".
#include "rows.hpp"

#include <sley/sley.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace bench {

namespace {

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
    {"wake_latency", 2'000, 0, wake_latency},
};

}  // namespace

std::span<const workload> system_rows() { return rows; }

}  // namespace bench
