// Aim: an event is noticed, and soon, whichever processor watches its descriptor: a busy one, an
// idle one or one that is gone. Method: goroutines that have been everywhere wait for a byte
// each, while the processors do something else.
#include "support/harness.hpp"

#include <sley/os.hpp>
#include <sley/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

using sley::os::pipe_ends;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr int readers = 32;
// Generous: an event that no machine looks for is never noticed, and the computer may be busy.
constexpr auto soon = 1s;

void send(const pipe_ends& to) { to.writer.write_all(std::as_bytes(std::span("x", 1))); }

// Readers that wait for a byte each, again and again, until their pipes are closed.
class waiting_readers {
 public:
  waiting_readers() : pipes_(readers), seen_(readers) {
    for (int i = 0; i < readers; ++i) {
      pipes_[static_cast<std::size_t>(i)] = sley::os::pipe();
      all_.go([this, i] { read(static_cast<std::size_t>(i)); });
    }
  }
  ~waiting_readers() {
    for (pipe_ends& p : pipes_) p.writer.close();
    all_.wait();
  }
  waiting_readers(const waiting_readers&) = delete;
  waiting_readers& operator=(const waiting_readers&) = delete;

  // Sends all a byte, from outside. How late the one in the middle sees its own.
  std::chrono::nanoseconds wake_all() {
    seen_count_ = 0;
    const auto start = steady::now();
    for (const pipe_ends& p : pipes_) send(p);
    while (seen_count_ < readers) std::this_thread::sleep_for(100us);
    std::vector<std::chrono::nanoseconds> late;
    for (const auto& at : seen_) late.push_back(at.load() - start);
    std::ranges::nth_element(late, late.begin() + readers / 2);
    return late[readers / 2];
  }

 private:
  void read(std::size_t i) {
    std::byte byte[1];
    while (pipes_[i].reader.read_some(byte) == 1) {
      seen_[i] = steady::now();
      ++seen_count_;
    }
  }

  std::vector<pipe_ends> pipes_;
  std::vector<std::atomic<steady::time_point>> seen_;
  std::atomic<int> seen_count_ = 0;
  sley::wait_group all_;
};

// From a thread of its own: the test's goroutine may be on the processor that is looked at.
std::chrono::nanoseconds wake_from_outside(waiting_readers& r) {
  std::chrono::nanoseconds late{};
  std::thread sender([&] { late = r.wake_all(); });
  sley::blocking([&] { sender.join(); });
  return late;
}

void spread(waiting_readers& r) {
  for (int i = 0; i < 20; ++i) wake_from_outside(r);
}

// The median of this many delays.
std::chrono::nanoseconds usual_delay(waiting_readers& r, std::ptrdiff_t times) {
  std::vector<std::chrono::nanoseconds> late;
  for (std::ptrdiff_t i = 0; i < times; ++i) late.push_back(wake_from_outside(r));
  const auto middle = late.begin() + times / 2;
  std::ranges::nth_element(late, middle);
  return *middle;
}

}  // namespace

GO_TEST(poll_sets, events_are_noticed_where_all_processors_are_idle) {
  waiting_readers r;
  spread(r);
  EXPECT_LT(usual_delay(r, 20), soon);
}

// One is left for the events, if there is more than one.
GO_TEST(poll_sets, events_are_noticed_beside_processors_that_compute) {
  waiting_readers r;
  spread(r);
  std::atomic<bool> stop = false;
  sley::wait_group hogs;
  for (int i = 1; i < std::max(2, sley::runtime::max_procs()); ++i) {
    hogs.go([&] {
      while (!stop) {
      }
    });
  }
  const auto late = usual_delay(r, 20);
  stop = true;
  hogs.wait();
  EXPECT_LT(late, soon);
}

// Processors that serve their own events all the time see to others' as well.
GO_TEST(poll_sets, events_are_noticed_beside_some_that_compute_and_some_that_serve) {
  waiting_readers r;
  spread(r);
  std::atomic<bool> stop = false;
  sley::wait_group others;
  others.go([&] {
    while (!stop) {
    }
  });
  for (int i = 1; i < std::max(2, sley::runtime::max_procs()); ++i) {
    others.go([&] {
      pipe_ends there = sley::os::pipe();
      sley::wait_group peer;
      peer.go([&] {
        std::byte byte[1];
        while (there.reader.read_some(byte) == 1) {
        }
      });
      while (!stop) send(there);
      there.writer.close();
      peer.wait();
    });
  }
  const auto late = usual_delay(r, 20);
  stop = true;
  others.wait();
  EXPECT_LT(late, soon);
}

GO_TEST(poll_sets, events_are_noticed_when_there_are_fewer_processors_than_before) {
  const int before = sley::runtime::set_max_procs(8);
  waiting_readers r;
  spread(r);
  for (const int procs : {1, 3, 8, 2, 1}) {
    sley::runtime::set_max_procs(procs);
    EXPECT_LT(usual_delay(r, 10), soon) << procs;
  }
  sley::runtime::set_max_procs(before);
}

// More processors than there are sets.
GO_TEST(poll_sets, processors_share_sets_where_there_are_many) {
  const int before = sley::runtime::set_max_procs(40);
  waiting_readers r;
  spread(r);
  EXPECT_LT(usual_delay(r, 10), soon);
  sley::runtime::set_max_procs(before);
}
