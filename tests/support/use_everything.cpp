#include "support/use_everything.hpp"

#include "support/harness.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

namespace sley_test {

using sley::chan;
using sley::chan_status;
namespace this_goroutine = sley::this_goroutine;

void use_channels() {
  const chan<int> unbuffered;
  sley::go([unbuffered] {
    for (int i = 0; i < 3; ++i) unbuffered.send(i);
    unbuffered.close();
  });
  int next = 0;
  for (const int value : unbuffered) EXPECT_EQ(value, next++);
  EXPECT_EQ(next, 3);

  const chan<int> buffered(2);
  int value = 5;
  EXPECT_EQ(buffered.try_send(value), chan_status::ok);
  EXPECT_EQ(buffered.try_send_for(6, 1ms), chan_status::ok);
  EXPECT_EQ(buffered.try_send_for(7, 50us), chan_status::timeout);
  EXPECT_EQ(buffered.size(), 2u);
  EXPECT_EQ(buffered.try_receive(value), chan_status::ok);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(buffered.try_receive_for(value, 1ms), chan_status::ok);
  EXPECT_EQ(value, 6);
  EXPECT_EQ(buffered.try_receive_for(value, 50us), chan_status::timeout);
  buffered.close();
  EXPECT_TRUE(buffered.closed());
  EXPECT_THROW(buffered.send(1), sley::channel_closed);
}

void use_select() {
  const chan<int> c;
  const chan<int> never;
  sley::go([c] { EXPECT_EQ(c.receive(), 8); });
  EXPECT_EQ(sley::select(sley::on_receive(never), sley::on_send(c, 8)), 1u);
  EXPECT_EQ(sley::select(sley::on_receive(never), sley::on_timeout(50us)), 1u);
  EXPECT_EQ(sley::select(sley::on_receive(never), sley::otherwise()), 1u);
  sley::select_set set;
  int received = 0;
  set.add_receive(never);
  set.add_receive(c, [&](std::optional<int> v) { received = v.value_or(-1); });
  EXPECT_EQ(set.try_wait(), std::nullopt);
  sley::go([c] { c.send(9); });
  EXPECT_EQ(set.wait(), 1u);
  EXPECT_EQ(received, 9);
}

void use_time() {
  const auto start = std::chrono::steady_clock::now();
  this_goroutine::sleep_for(100us);
  this_goroutine::sleep_until(start + 200us);
  EXPECT_GE(std::chrono::steady_clock::now(), start + 200us);
  EXPECT_TRUE(sley::after(50us).receive());
  sley::timer timer(60s);
  EXPECT_TRUE(timer.reset(50us));
  EXPECT_TRUE(timer.channel().receive());
  EXPECT_FALSE(timer.stop());
  const chan<void> called(1);
  const sley::timer function = sley::after_func(50us, [called] { called.send(); });
  EXPECT_TRUE(called.receive());
  sley::ticker ticker(50us);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ticker.channel().receive());
  ticker.stop();
}

void use_locks_and_futures() {
  sley::mutex m;
  sley::wait_group group;
  int count = 0;
  for (int i = 0; i < 4; ++i) {
    group.go([&] {
      const std::lock_guard guard(m);
      ++count;
    });
  }
  group.wait();
  EXPECT_TRUE(m.try_lock());
  EXPECT_EQ(count, 4);
  m.unlock();
  EXPECT_EQ(sley::async([] { return std::string("result"); }).get(), "result");
  EXPECT_THROW(sley::async([] { throw std::runtime_error("result"); }).get(), std::runtime_error);
}

void use_the_runtime() {
  this_goroutine::yield();
  const sley::os_thread_lock lock;
  EXPECT_EQ(sley::blocking([] {
              usleep(50);
              return 3;
            }),
            3);
  EXPECT_EQ(sley::syscall(SYS_gettid), gettid());
  EXPECT_EQ(sley::syscall(SYS_close, -1), -1);
  const int procs = sley::runtime::max_procs();
  EXPECT_EQ(sley::runtime::set_max_procs(procs), procs);
  EXPECT_EQ(sley::runtime::set_max_threads(10'000), 10'000);
  EXPECT_GE(sley::runtime::num_cpu(), 1);
  EXPECT_EQ(sley::runtime::read_stats().procs, static_cast<std::uint64_t>(procs));
  EXPECT_LT(sley::runtime::num_goroutines(), 1000u);
}

void use_everything() {
  use_channels();
  use_select();
  use_time();
  use_locks_and_futures();
  use_the_runtime();
}

}  // namespace sley_test
