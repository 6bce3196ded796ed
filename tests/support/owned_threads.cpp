#include "support/owned_threads.hpp"

#include "support/threads.hpp"

#include <array>
#include <cstddef>

namespace sley_test {
namespace {

std::atomic<bool>& owned(pid_t tid) {
  static std::array<std::atomic<bool>, (1 << 22) + 1> all;  // the kernel's numbers are below that
  return all.at(static_cast<std::size_t>(tid));
}

}  // namespace

void add_owned_thread(pid_t tid) { owned(tid) = true; }
void remove_owned_thread(pid_t tid) { owned(tid) = false; }
bool is_owned_thread(pid_t tid) { return owned(tid); }

strangers::strangers(int count) {
  for (int i = 0; i < count; ++i) {
    group_.go([this] {
      while (!stop_) {
        if (is_owned_thread(::gettid())) ++trespasses_;
        ++looks_;
        sley::this_goroutine::yield();
      }
    });
  }
}

strangers::~strangers() {
  EXPECT_TRUE(eventually([this] { return looks_ > 0; })) << "no other goroutine runs";
  stop_ = true;
  group_.wait();
  EXPECT_EQ(trespasses_, 0) << "others run on the thread of a locked goroutine";
}

void wait_a_little() {
  const owner here;
  sley::this_goroutine::yield();
  here.expect_here("a yield");
  sley::this_goroutine::sleep_for(1ms);
  here.expect_here("a sleep");
  const sley::chan<int> c;
  sley::go([c] { c.send(1); });
  EXPECT_EQ(c.receive(), 1);
  here.expect_here("a receive");
}

bool is_gone(pid_t tid) {
  const bool gone = eventually([tid] { return !thread_exists(tid); });
  remove_owned_thread(tid);
  return gone;
}

}  // namespace sley_test
