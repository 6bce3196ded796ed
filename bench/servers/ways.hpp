// The two ways to wait for many answers at the same time, goroutines and threads, and the workloads
// that compare them.
#pragma once

#include "harness.hpp"

#include <sley/sley.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

// How many tasks there are at the same time, how often each asks, and how many connections they
// share.
struct load {
  int tasks = 0;
  int rounds = 0;
  int connections = 0;

  int total() const noexcept { return tasks * rounds; }
};

// Each workload connects, runs the load and hands back its time. `server` is a connection string, a
// socket's path or a URL.
using servers_workload = outcome(const char* server, const load& what);

outcome postgres_waits_in_goroutines(const char* server, const load& what);
outcome postgres_waits_in_threads(const char* server, const load& what);
outcome postgres_selects(const char* server, const load& what);
outcome postgres_parameters(const char* server, const load& what);
outcome redis_waits_in_goroutines(const char* server, const load& what);
outcome redis_waits_in_threads(const char* server, const load& what);
outcome redis_sets(const char* server, const load& what);
outcome redis_gets(const char* server, const load& what);
outcome curl_waits_in_goroutines(const char* server, const load& what);
outcome curl_waits_in_threads(const char* server, const load& what);

// Runs f() in as many at the same time, and returns when all have ended.
template <class F>
void in_goroutines(int count, const F& f) {
  sley::wait_group all;
  for (int i = 0; i < count; ++i) all.go([&f] { f(); });
  all.wait();
}
template <class F>
void in_threads(int count, const F& f) {
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i) all.emplace_back([&f] { f(); });
  for (std::thread& t : all) t.join();
}

// Connections that threads share.
template <class Connection>
class thread_pool {
 public:
  explicit thread_pool(std::vector<Connection> connections) : idle_(std::move(connections)) {}

  // Calls f with a connection that no other thread has meanwhile. Blocks.
  template <class F>
  void with(const F& f) {
    Connection c = take();
    f(c);
    {
      const std::lock_guard guard(lock_);
      idle_.push_back(std::move(c));
    }
    is_back_.notify_one();
  }

 private:
  Connection take() {
    std::unique_lock guard(lock_);
    is_back_.wait(guard, [this] { return !idle_.empty(); });
    Connection c = std::move(idle_.back());
    idle_.pop_back();
    return c;
  }

  std::mutex lock_;
  std::condition_variable is_back_;
  std::vector<Connection> idle_;
};

// A pool of goroutines whose connections are there already.
template <class T>
void fill(sley::pool<T>& pool, int connections) {
  std::vector<typename sley::pool<T>::handle> all;
  for (int i = 0; i < connections; ++i) all.push_back(pool.acquire());
}

}  // namespace bench
