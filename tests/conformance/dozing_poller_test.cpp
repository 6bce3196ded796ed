// Aim: while goroutines find events by looking for them, the poller dozes; and no event and no
// timer is late because of that when they turn to something else. The same while there are events
// that no goroutine waits for. Method: two goroutines send a byte to and fro, and then compute,
// sleep or end; one opens and closes pipes.
#include "support/harness.hpp"
#include "support/proc_figure.hpp"
#include "support/threads.hpp"

#include <sley/os.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using sley::os::pipe_ends;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr int rounds = 20;  // in every build: a median of a few says nothing on a busy machine

void send(const pipe_ends& to) { to.writer.write_all(std::as_bytes(std::span("x", 1))); }
void take(const pipe_ends& from) {
  std::byte byte[1];
  EXPECT_EQ(from.reader.read_some(byte), 1U);
}

// Waits for one byte, which must be sent before this is destroyed.
class reading_goroutine {
 public:
  reading_goroutine() {
    group_.go([this] {
      take(pipe_);
      has_it_ = true;
    });
  }
  ~reading_goroutine() { group_.wait(); }
  reading_goroutine(const reading_goroutine&) = delete;
  reading_goroutine& operator=(const reading_goroutine&) = delete;

  void send_byte() const { send(pipe_); }
  bool has_it() const { return has_it_; }

 private:
  const pipe_ends pipe_ = sley::os::pipe();
  std::atomic<bool> has_it_{false};
  sley::wait_group group_;
};

void to_and_fro(int times) {
  const pipe_ends there = sley::os::pipe();
  const pipe_ends back = sley::os::pipe();
  sley::wait_group other;
  other.go([&] {
    for (int i = 0; i < times; ++i) {
      take(there);
      send(back);
    }
  });
  for (int i = 0; i < times; ++i) {
    send(there);
    take(back);
  }
  other.wait();
}

}  // namespace

// With one processor it is the end of the slice that lets the others run.
GO_TEST(dozing_poller, events_are_noticed_beside_one_that_computes) {
  for (int i = 0; i < rounds; ++i) {
    reading_goroutine reader;
    to_and_fro(50);
    std::thread writer([&] {
      std::this_thread::sleep_for(3ms);
      reader.send_byte();
    });
    EXPECT_TRUE(sley_test::spin_until([&] { return reader.has_it(); }));
    writer.join();
  }
}

GO_TEST(dozing_poller, timers_are_noticed_beside_one_that_computes) {
  for (int i = 0; i < rounds; ++i) {
    std::atomic<bool> is_noticed{false};
    sley::wait_group sleeper;
    sleeper.go([&] {
      const auto due = steady::now() + 10ms;
      sley::this_goroutine::sleep_until(due);
      EXPECT_GE(steady::now(), due);
      is_noticed = true;
    });
    to_and_fro(50);
    EXPECT_TRUE(sley_test::spin_until([&] { return is_noticed.load(); }));
    sleeper.wait();
  }
}

namespace {

using times = std::vector<std::chrono::nanoseconds>;

std::chrono::nanoseconds median(times all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

std::chrono::nanoseconds mean(const times& all) {
  return std::accumulate(all.begin(), all.end(), 0ns) / all.size();
}

// How late a thread reads a byte that another one writes: what this machine takes to wake it.
std::chrono::nanoseconds lateness_of_a_thread() {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  std::atomic<steady::time_point> sent;
  std::thread writer([&] {
    std::this_thread::sleep_for(1ms);
    sent = steady::now();
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
  });
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  const auto late = steady::now() - sent.load();
  writer.join();
  ::close(ends[0]);
  ::close(ends[1]);
  return late;
}

}  // namespace

// The last one to go idle leaves the watch to a poller that dozes.
GO_TEST(dozing_poller, events_are_noticed_when_all_have_gone_idle) {
  times late;
  times late_threads;
  for (int i = 0; i < 5 * rounds; ++i) {
    const pipe_ends p = sley::os::pipe();
    std::atomic<steady::time_point> sent;
    to_and_fro(20);
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(20 * i));
      sent = steady::now();
      send(p);
    });
    take(p);
    late.push_back(steady::now() - sent.load());
    writer.join();
    late_threads.push_back(lateness_of_a_thread());
  }
  // sysmon would notice them after 10 ms. A few threads are woken for each, one by the other.
  EXPECT_LT(median(late), 5ms + 4 * mean(late_threads));
}

namespace {

// Each registers two ends. That of the writer is an event at once. They stay open for a while: an
// event that is gone before the poller's thread runs sends it to sleep again inside of the kernel.
void open_and_close_pipes(std::size_t count) {
  constexpr std::size_t at_a_time = 64;
  std::vector<pipe_ends> open;
  open.reserve(at_a_time);
  for (std::size_t i = 0; i < count; ++i) {
    if (open.size() == at_a_time) open.clear();
    open.push_back(sley::os::pipe());
  }
}

// How often the threads of machines have slept. sysmon looks around meanwhile, and is none. The
// caller's thread is left out, because it sleeps on locks of the kernel.
std::size_t sleeps_of_other_machines() {
  std::size_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (!name.starts_with("sley m")) continue;
    sum += sley_test::proc_figure(task.path() / "status", "voluntary_ctxt_switches:");
  }
  return sum;
}

}  // namespace

// A poller that each of the events woke would sleep about as many times.
GO_TEST(dozing_poller, events_that_no_goroutine_waits_for_wake_it_seldom) {
  constexpr std::size_t pipes = 5'000;
  constexpr auto between_wakes = 200us;  // a doze is four times as long by and by
  reading_goroutine reader;
  const sley::os_thread_lock stays;
  const auto begin = steady::now();
  const std::size_t before = sleeps_of_other_machines();
  open_and_close_pipes(pipes);
  const std::size_t slept = sleeps_of_other_machines() - before;
  const auto dozes = static_cast<std::size_t>((steady::now() - begin) / between_wakes);
  EXPECT_LT(slept, pipes / 10 + dozes);
  reader.send_byte();
}

GO_TEST(dozing_poller, events_are_noticed_beside_events_in_vain) {
  for (int i = 0; i < rounds; ++i) {
    reading_goroutine reader;
    open_and_close_pipes(100);
    std::thread writer([&] { reader.send_byte(); });
    EXPECT_TRUE(sley_test::spin_until([&] {
      open_and_close_pipes(1);
      return reader.has_it();
    }));
    writer.join();
  }
}
