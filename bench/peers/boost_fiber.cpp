// Boost.Fiber: round robin on one thread, work stealing that sleeps when idle on several.
#include "peer.hpp"

#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/all.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace bench {

namespace {

namespace fibers = boost::fibers;
using int_chan = fibers::unbuffered_channel<std::int64_t>;

void join_all(std::vector<fibers::fiber>& all) {
  for (fibers::fiber& f : all) f.join();
  all.clear();
}

void chain_link(std::int64_t left, fibers::promise<void>& done) {
  if (left == 0) {
    done.set_value();
    return;
  }
  fibers::fiber([left, &done] { chain_link(left - 1, done); }).detach();
}

outcome create_chain(int n) {
  fibers::promise<void> done;
  return timed(n, [&] {
    chain_link(n, done);
    done.get_future().get();
  });
}

outcome spawn_join_batch(int n) {
  constexpr int batch = 1000;
  const int rounds = std::max(1, n / batch);
  return timed(std::int64_t{rounds} * batch, [&] {
    std::vector<fibers::fiber> all;
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < batch; ++i) all.emplace_back([] {});
      join_all(all);
    }
  });
}

outcome yield1000(int n) {
  constexpr int count = 1000;
  const int each = std::max(1, n / count);
  return timed(std::int64_t{count} * each, [&] {
    std::vector<fibers::fiber> all;
    for (int f = 0; f < count; ++f) {
      all.emplace_back([each] {
        for (int i = 0; i < each; ++i) boost::this_fiber::yield();
      });
    }
    join_all(all);
  });
}

outcome pingpong_unbuf(int n) {
  int_chan a, b;
  fibers::fiber other([&] {
    for (std::int64_t v : a) b.push(v + 1);
  });
  outcome o = timed(n, [&] {
    std::int64_t v = 0;
    for (int i = 0; i < n; ++i) {
      a.push(v);
      v = b.value_pop();
    }
    check(v == n, "pingpong count");
    a.close();
    other.join();
  });
  return o;
}

outcome chan_prodcons_buf128(int n) {
  fibers::buffered_channel<std::int64_t> c(128);
  return timed(n, [&] {
    fibers::fiber producer([&] {
      for (std::int64_t i = 0; i < n; ++i) c.push(i);
      c.close();
    });
    std::int64_t sum = 0;
    fibers::fiber consumer([&] {
      for (std::int64_t v : c) sum += v;
    });
    producer.join();
    consumer.join();
    check(sum == sum_below(n), "sum");
  });
}

outcome mutex_uncontended(int n) { return lock_and_unlock<fibers::mutex>(n); }

outcome threadring503(int n) {
  constexpr std::size_t size = 503;
  std::vector<std::unique_ptr<int_chan>> ring;
  for (std::size_t i = 0; i < size; ++i) ring.push_back(std::make_unique<int_chan>());
  int_chan done;
  std::vector<fibers::fiber> all;
  for (std::size_t i = 0; i < size; ++i) {
    all.emplace_back([i, &done, &in = *ring[i], &out = *ring[(i + 1) % size]] {
      for (std::int64_t token : in) {
        if (token == 0) {
          done.push(static_cast<std::int64_t>(i));
          return;
        }
        out.push(token - 1);
      }
    });
  }
  outcome o = timed(n, [&] {
    ring[0]->push(n);
    check(done.value_pop() == n % std::int64_t{size}, "ring position");
  });
  for (const auto& c : ring) c->close();
  join_all(all);
  return o;
}

std::int64_t fib(std::int64_t n) {
  if (n < 2) return n;
  fibers::future<std::int64_t> left = fibers::async([n] { return fib(n - 1); });
  const std::int64_t right = fib(n - 2);
  return right + left.get();
}

outcome fib_spawn(int n) {
  constexpr std::int64_t spawns = 121'392;
  return timed(n * spawns, [&] {
    for (int run = 0; run < n; ++run) check(fib(25) == 75025, "fib");
  });
}

constexpr workload rows[] = {
    {"create_chain", 1'000'000, 100'000, create_chain},
    {"spawn_join_batch", 200'000, 10'000, spawn_join_batch},
    {"yield1000", 5'000'000, 100'000, yield1000},
    {"pingpong_unbuf", 1'000'000, 50'000, pingpong_unbuf},
    {"chan_prodcons_buf128", 5'000'000, 500'000, chan_prodcons_buf128},
    {"mutex_uncontended", 50'000'000, 1'000'000, mutex_uncontended},
    {"threadring503", 2'000'000, 100'000, threadring503},
    {"fib_spawn", 1, 1, fib_spawn},
};

}  // namespace

std::span<const workload> peer_rows() { return rows; }

void run_on_peer(int threads, const std::function<void()>& body) {
  if (threads == 1) {
    body();
    return;
  }
  const auto steal = [threads] {
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(
        static_cast<std::uint32_t>(threads), true);
  };
  fibers::mutex mutex;
  fibers::condition_variable_any is_over;
  bool over = false;
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([&] {
      steal();
      std::unique_lock lock(mutex);
      is_over.wait(lock, [&] { return over; });
    });
  }
  steal();
  body();
  {
    std::unique_lock lock(mutex);
    over = true;
  }
  is_over.notify_all();
  for (std::thread& t : others) t.join();
}

}  // namespace bench
