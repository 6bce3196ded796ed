// SPEC.md, "Memory".
#include "rows.hpp"

#include <sley/sley.hpp>

#include <chrono>
#include <cstdint>

namespace bench {

namespace {

// What do a million parked goroutines hold, and what does it cost to make and to release them?
outcome parked_mem(int n) {
  sley::wait_group ready, done;
  ready.add(n);
  done.add(n);
  sley::chan<void> gate;
  const std::int64_t resident_before = resident_bytes();
  const outcome create = timed(n, [&] {
    for (int i = 0; i < n; ++i) {
      sley::go([&ready, &done, &gate] {
        ready.done();
        gate.receive();
        done.done();
      });
    }
    ready.wait();
  });
  sley::this_goroutine::sleep_for(std::chrono::milliseconds(200));  // let the last ones park
  const std::int64_t resident_parked = resident_bytes();
  const outcome release = timed(n, [&] {
    gate.close();
    done.wait();
  });
  const nanoseconds wall = create.wall + release.wall;
  outcome o{.ops = n, .wall = wall, .cpu = create.cpu + release.cpu, .cost = wall};
  o.add("rss_per_g=%.0f create_ns=%.2f release_ns=%.2f",
        static_cast<double>(resident_parked - resident_before) / n, ns_each(create.wall, n),
        ns_each(release.wall, n));
  return o;
}

constexpr workload rows[] = {
    {"parked_mem", 1'000'000, 0, parked_mem},
};

}  // namespace

std::span<const workload> memory_rows() { return rows; }

}  // namespace bench
