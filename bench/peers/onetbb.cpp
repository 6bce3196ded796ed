// oneTBB: tasks without a stack, which can be joined and can't wait for anything else. Results go
// by memory, because there are no channels.
#include "peer.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace bench {

namespace {

void chain_link(std::int64_t left, tbb::task_group& group) {
  if (left > 0) group.run([left, &group] { chain_link(left - 1, group); });
}

outcome create_chain(int n) {
  return timed(n, [&] {
    tbb::task_group group;
    chain_link(n, group);
    group.wait();
  });
}

outcome spawn_join_batch(int n) {
  constexpr int batch = 1000;
  const int rounds = std::max(1, n / batch);
  return timed(std::int64_t{rounds} * batch, [&] {
    tbb::task_group group;
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < batch; ++i) group.run([] {});
      group.wait();
    }
  });
}

std::int64_t fib(std::int64_t n) {
  if (n < 2) return n;
  std::int64_t left = 0;
  tbb::task_group group;
  group.run([&left, n] { left = fib(n - 1); });
  const std::int64_t right = fib(n - 2);
  group.wait();
  return left + right;
}

outcome fib_spawn(int n) {
  constexpr std::int64_t spawns = 121'392;
  return timed(n * spawns, [&] {
    for (int run = 0; run < n; ++run) check(fib(25) == 75025, "fib");
  });
}

std::int64_t skynet_node(std::int64_t first, std::int64_t size) {
  if (size == 1) return first;
  const std::int64_t part = size / 10;
  std::array<std::int64_t, 10> sums{};
  tbb::task_group group;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    group.run([&sum = sums[i], first, part, i] {
      sum = skynet_node(first + static_cast<std::int64_t>(i) * part, part);
    });
  }
  group.wait();
  return std::accumulate(sums.begin(), sums.end(), std::int64_t{0});
}

outcome skynet(int n) {
  constexpr std::int64_t leaves = 1'000'000;
  return timed(n, [&] {
    for (int run = 0; run < n; ++run) check(skynet_node(0, leaves) == sum_below(leaves), "sum");
  });
}

constexpr workload rows[] = {
    {"create_chain", 2'000'000, 100'000, create_chain},
    {"spawn_join_batch", 2'000'000, 100'000, spawn_join_batch},
    {"fib_spawn", 10, 1, fib_spawn},
    {"skynet", 3, 1, skynet},
};

}  // namespace

std::span<const workload> peer_rows() { return rows; }

void run_on_peer(int threads, const std::function<void()>& body) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  tbb::task_arena(threads).execute(body);
}

}  // namespace bench
