// SPEC.md, "Creation and yielding".
#include "rows.hpp"

#include <sley/sley.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace bench {

namespace {

// Starts the next link of the chain; the last one closes the channel.
void chain_link(std::int64_t left, sley::chan<void> done) {
  if (left == 0) {
    done.close();
    return;
  }
  sley::go(chain_link, left - 1, std::move(done));
}

// What does a goroutine cost from start to end when its record and stack can be used again at once?
outcome create_chain(int n) {
  sley::chan<void> done;
  return timed(n, [&] {
    sley::go(chain_link, n - 1, done);
    done.receive();
  });
}

// What does a goroutine cost when its starter does not wait and very many may exist at once?
outcome spawn_join(int n) {
  sley::wait_group wg;
  return timed(n, [&] {
    wg.add(n);
    for (int i = 0; i < n; ++i) sley::go([&wg] { wg.done(); });
    wg.wait();
  });
}

// What does a goroutine cost when they are started and joined a thousand at a time?
outcome spawn_join_batch(int n) {
  constexpr int batch = 1000;
  const int rounds = std::max(1, n / batch);
  sley::wait_group wg;
  return timed(std::int64_t{rounds} * batch, [&] {
    for (int round = 0; round < rounds; ++round) {
      wg.add(batch);
      for (int i = 0; i < batch; ++i) sley::go([&wg] { wg.done(); });
      wg.wait();
    }
  });
}

// What does a way through the scheduler cost when nothing else is runnable?
outcome yield1(int n) {
  sley::chan<void> done;
  return timed(n, [&] {
    sley::go([done, n] {
      for (int i = 0; i < n; ++i) sley::this_goroutine::yield();
      done.close();
    });
    done.receive();
  });
}

// What does a yield cost among a thousand goroutines that do nothing else?
outcome yield1000(int n) {
  constexpr int goroutines = 1000;
  const int each = std::max(1, n / goroutines);
  sley::wait_group wg;
  return timed(std::int64_t{goroutines} * each, [&] {
    for (int g = 0; g < goroutines; ++g) {
      wg.add(1);
      sley::go([&wg, each] {
        for (int i = 0; i < each; ++i) sley::this_goroutine::yield();
        wg.done();
      });
    }
    wg.wait();
  });
}

constexpr workload rows[] = {
    {"create_chain", 2'000'000, 100'000, create_chain},
    {"spawn_join", 1'000'000, 100'000, spawn_join},
    {"spawn_join_batch", 2'000'000, 100'000, spawn_join_batch},
    {"yield1", 5'000'000, 100'000, yield1},
    {"yield1000", 5'000'000, 100'000, yield1000},
};

}  // namespace

std::span<const workload> spawn_rows() { return rows; }

}  // namespace bench
