// Events are looked for by machines that run out of work. Here goroutines and threads wait for a
// descriptor without any machine having run out of work: on threads of their own. Each must be
// woken as soon as something comes, not only when the runtime looks round, or never.
//
// No other test runs before, because it would leave a machine that polls.
#include "support/harness.hpp"

#include <sley/os.hpp>

#include <chrono>
#include <cstddef>
#include <thread>

using sley::os::pipe_ends;
using namespace std::chrono_literals;

namespace {

void expect_bytes_without_delay(int count) {
  const auto start = std::chrono::steady_clock::now();
  const pipe_ends p = sley::os::pipe();
  std::thread writer([&] {
    for (int i = 0; i < count; ++i) {
      std::this_thread::sleep_for(10ms);  // until all are idle
      p.writer.write_all(std::as_bytes(std::span("x", 1)));
    }
  });
  std::byte byte[1];
  for (int i = 0; i < count; ++i) EXPECT_EQ(p.reader.read_some(byte), 1U);
  writer.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

}  // namespace

FOREIGN_TEST(without_a_poller, a_thread_of_the_user_waits_first_of_all) {
  expect_bytes_without_delay(10);
}

GO_TEST(without_a_poller, a_locked_goroutine_waits) {
  const sley::os_thread_lock lock;
  expect_bytes_without_delay(10);
}

// Its processor is in its hand alone, and idle then.
GO_TEST(without_a_poller, a_locked_goroutine_waits_for_another_that_waits) {
  const sley::os_thread_lock lock;
  for (int i = 0; i < sley_test::rounds(50); ++i) {
    const pipe_ends p = sley::os::pipe();
    const sley::chan<void> done;
    sley::go([&] {
      std::byte byte[1];
      EXPECT_EQ(p.reader.read_some(byte), 1U);
      done.close();
    });
    std::thread writer([&] { p.writer.write_all(std::as_bytes(std::span("x", 1))); });
    done.receive();
    writer.join();
  }
}
