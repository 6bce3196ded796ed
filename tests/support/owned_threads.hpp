// Goroutines that are locked to their threads, and others that look whether they are left alone
// there. Which thread one is on, gettid(2) says; whether a thread is gone, /proc tells.
#pragma once

#include "support/harness.hpp"

#include <atomic>
#include <string_view>

#include <sys/types.h>
#include <unistd.h>

namespace sley_test {

// Which threads have an owner, by their number.
void add_owned_thread(pid_t tid);
void remove_owned_thread(pid_t tid);
bool is_owned_thread(pid_t tid);

// Goroutines that are locked to no thread and look, time and again, whether they are on one that
// has an owner. (Between the two steps of a look they stay where they are, and the owner is not
// there.)
class strangers {
 public:
  explicit strangers(int count = 8);
  ~strangers();
  strangers(const strangers&) = delete;
  strangers& operator=(const strangers&) = delete;
  int looks() const { return looks_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> looks_{0};
  std::atomic<int> trespasses_{0};
  sley::wait_group group_;
};

// Says that the calling goroutine, which is locked, owns its thread, and that it is still on it.
class owner {
 public:
  owner() { add_owned_thread(tid_); }
  ~owner() {
    expect_here("the last step");
    remove_owned_thread(tid_);
  }
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;

  void expect_here(std::string_view after) const {
    EXPECT_EQ(::gettid(), tid_) << "after " << after;
  }
  pid_t tid() const { return tid_; }

 private:
  pid_t tid_ = ::gettid();
};

// Waits in a few ways, on its thread.
void wait_a_little();

// Starts f in a goroutine that ends locked, and returns its thread, which f sees locked already.
template <class F>
pid_t end_locked(F f) {
  const sley::chan<pid_t> tid(1);
  sley::go([f, tid] {
    sley::this_goroutine::lock_os_thread();
    add_owned_thread(::gettid());
    tid.send(::gettid());
    f();
  });
  return *tid.receive();
}

// Waits for the end of a thread that had an owner, and has none any more.
[[nodiscard]] bool is_gone(pid_t tid);

}  // namespace sley_test
