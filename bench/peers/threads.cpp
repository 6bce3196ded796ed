// Plain threads of the system, with std::mutex and std::condition_variable. The workload sets their
// number. The process is pinned to as many CPUs as it may use.
#include "peer.hpp"

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace bench {

namespace {

// A bounded queue. Without room for a value, a sender waits until its value has been taken.
class channel {
 public:
  explicit channel(std::size_t capacity = 0) : capacity_(capacity) {}

  void send(std::int64_t v) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return values_.size() < std::max(capacity_, std::size_t{1}); });
    values_.push_back(v);
    const std::uint64_t mine = ++sent_;
    changed_.notify_all();
    if (capacity_ == 0) changed_.wait(lock, [&] { return received_ >= mine; });
  }

  std::optional<std::int64_t> receive() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !values_.empty() || closed_; });
    if (values_.empty()) return std::nullopt;
    const std::int64_t v = values_.front();
    values_.pop_front();
    ++received_;
    changed_.notify_all();
    return v;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::int64_t> values_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  bool closed_ = false;
};

outcome spawn_join_batch(int n) {
  constexpr int batch = 1000;
  const int rounds = std::max(1, n / batch);
  return timed(std::int64_t{rounds} * batch, [&] {
    std::vector<std::thread> all;
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < batch; ++i) all.emplace_back([] {});
      for (std::thread& t : all) t.join();
      all.clear();
    }
  });
}

outcome pingpong_unbuf(int n) {
  channel a, b;
  std::thread other([&] {
    while (const auto v = a.receive()) b.send(*v + 1);
  });
  return timed(n, [&] {
    std::int64_t v = 0;
    for (int i = 0; i < n; ++i) {
      a.send(v);
      v = b.receive().value();
    }
    check(v == n, "pingpong count");
    a.close();
    other.join();
  });
}

outcome chan_prodcons_buf128(int n) {
  channel c(128);
  return timed(n, [&] {
    std::thread producer([&] {
      for (std::int64_t i = 0; i < n; ++i) c.send(i);
      c.close();
    });
    std::int64_t sum = 0;
    while (const auto v = c.receive()) sum += *v;
    producer.join();
    check(sum == sum_below(n), "sum");
  });
}

outcome mutex_uncontended(int n) { return lock_and_unlock<std::mutex>(n); }

outcome threadring503(int n) {
  constexpr std::size_t size = 503;
  std::vector<std::unique_ptr<channel>> ring;
  for (std::size_t i = 0; i < size; ++i) ring.push_back(std::make_unique<channel>());
  channel done;
  std::vector<std::thread> all;
  for (std::size_t i = 0; i < size; ++i) {
    all.emplace_back([i, &done, &in = *ring[i], &out = *ring[(i + 1) % size]] {
      while (const auto token = in.receive()) {
        if (*token == 0) {
          done.send(static_cast<std::int64_t>(i));
          return;
        }
        out.send(*token - 1);
      }
    });
  }
  outcome o = timed(n, [&] {
    ring[0]->send(n);
    check(done.receive().value() == n % std::int64_t{size}, "ring position");
  });
  for (const auto& c : ring) c->close();
  for (std::thread& t : all) t.join();
  return o;
}

constexpr workload rows[] = {
    {"spawn_join_batch", 20'000, 1'000, spawn_join_batch},
    {"pingpong_unbuf", 50'000, 1'000, pingpong_unbuf},
    {"chan_prodcons_buf128", 500'000, 50'000, chan_prodcons_buf128},
    {"mutex_uncontended", 100'000'000, 1'000'000, mutex_uncontended},
    {"threadring503", 50'000, 1'000, threadring503},
};

}  // namespace

std::span<const workload> peer_rows() { return rows; }

void run_on_peer(int threads, const std::function<void()>& body) {
  cpu_set_t allowed, used;
  check(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
  CPU_ZERO(&used);
  for (int cpu = 0, left = threads; cpu < CPU_SETSIZE && left > 0; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CPU_SET(cpu, &used);
    --left;
  }
  check(sched_setaffinity(0, sizeof used, &used) == 0, "sched_setaffinity");
  std::thread([] {}).join();  // with one thread alone, std::mutex would not lock
  body();
}

}  // namespace bench
