// Plain threads for tests of goroutines.
#pragma once

#include <sley/sley.hpp>

#include <thread>
#include <vector>

namespace sley_test {

// A wait_group of threads, for tests that run on goroutines and on threads. Its end waits, and
// waits in the library before it joins: a mere join would block the thread, and a goroutine that
// joins would block others.
class thread_group {
 public:
  template <class F>
  void go(F f) {
    running_.add(1);
    threads_.emplace_back([this, f] {
      f();
      running_.done();
    });
  }
  void wait() {
    running_.wait();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }
  thread_group() = default;
  ~thread_group() { wait(); }
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;

 private:
  sley::wait_group running_;
  std::vector<std::thread> threads_;
};

}  // namespace sley_test
