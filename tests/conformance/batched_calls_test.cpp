// Calls that the kernel makes together (SLEYDEBUG=uring=1): they do what they do alone, they are
// made together where goroutines make many, and none waits for a goroutine that goes on for long.
// The kernel tells how many calls came in batches.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/memory.hpp"
#include "support/proc_figure.hpp"
#include "support/temporary_file.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

using sley::net::unix_stream;
using sley_test::bytes_of;
using sley_test::skipped;
using namespace std::chrono_literals;

namespace {

// The calls that batches of this process have made, as the kernel counts them.
std::uint64_t calls_in_batches() {
  std::uint64_t calls = 0;
  for (const int fd : sley_test::ring_descriptors()) {
    calls += sley_test::proc_figure("/proc/self/fdinfo/" + std::to_string(fd), "CqTail:");
  }
  return calls;
}

// Where a call takes more than the 20 us between two calls that goroutines wait for, there are no
// batches.
bool are_calls_slow() {
  const auto [one, other] = unix_stream::pair();
  constexpr int times = 100;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) one.write_all(bytes_of("x"));
  return std::chrono::steady_clock::now() - begin > times * 10us;
}

int run_with_batches(const std::function<void()>& body) {
  return sley::run([&] {
    if (sley_test::ring_descriptors().empty() || (!sley_test::under_chaos && are_calls_slow()))
      return skipped;
    body();
    return sley_test::verdict();
  });
}

void expect_works(const char* child_name, const char* procs) {
  const auto child =
      sley_test::run_child(child_name, {{"SLEYDEBUG", "uring=1"}, {"SLEY_MAXPROCS", procs}});
  if (child.status == skipped) GTEST_SKIP() << "no batches here: " << child.err;
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

// One byte there and back, by two goroutines.
void exchange(int times) {
  const auto [one, other] = unix_stream::pair();
  sley::wait_group group;
  group.go([&end = one, times] {
    for (int i = 0; i < times; ++i) {
      end.write_all(bytes_of("x"));
      EXPECT_EQ(sley_test::read_exactly(end, 1), "x");
    }
    end.shutdown_write();
  });
  sley_test::echo(other);
  group.wait();
}

void exchange_by(int pairs, int times) {
  sley::wait_group group;
  for (int i = 0; i < pairs; ++i) group.go([times] { exchange(times); });
  group.wait();
}

}  // namespace

// --- together ------------------------------------------------------------------------------------

CHILD_MAIN(many_goroutines_exchange) {
  return run_with_batches([] {
    constexpr int pairs = 32;
    constexpr int times = 200;
    exchange_by(pairs, times);
    const std::uint64_t calls = std::uint64_t{pairs} * times * 4;
    EXPECT_GT(calls_in_batches(), sley_test::under_chaos ? 0 : calls / 4);
  });
}

CHILD_MAIN(one_pair_exchanges) {
  return run_with_batches([] {
    exchange(200);
    EXPECT_LT(calls_in_batches(), 80U);  // of 800: an event may wake both
  });
}

TEST(batched_calls, of_many_goroutines_are_made) {
  expect_works("many_goroutines_exchange", "1");
  expect_works("many_goroutines_exchange", "4");
}
TEST(batched_calls, are_not_made_for_one_goroutine) {
  if (sley_test::under_chaos) GTEST_SKIP() << "goroutines that move are more than one";
  expect_works("one_pair_exchanges", "1");
}

// --- what holds up a batch -----------------------------------------------------------------------

namespace {

using clock = std::chrono::steady_clock;

// Writes and reads until a call was in a batch: then another goroutine has run meanwhile. Returns
// how long that call may have taken; nothing if there was none.
std::optional<clock::duration> exchange_beside(
    const std::function<void(const std::atomic<bool>& done)>& other) {
  const auto [one, end] = unix_stream::pair();
  std::atomic<bool> done{false};
  std::atomic<bool> has_ended{false};
  sley::wait_group group;
  const std::uint64_t before = calls_in_batches();
  const auto exchange_some = [&from = one, &to = end] {
    for (int i = 0; i < 50; ++i) {
      from.write_all(bytes_of("x"));
      EXPECT_EQ(sley_test::read_exactly(to, 1), "x");
    }
  };
  exchange_some();  // alone, in quick succession
  group.go([&] {
    other(done);
    has_ended = true;
  });
  std::optional<clock::duration> took;
  // The goroutine may run alone on its processor, while the other is in the global queue.
  for (int round = 0; round < 1000 && !took && !has_ended; ++round) {
    const auto begin = clock::now();
    exchange_some();
    if (calls_in_batches() != before) took = clock::now() - begin;
  }
  done = true;
  group.wait();
  return took;
}

// All times but one: a thread of the test may get no CPU for long.
void expect_soon(const std::function<void(const std::atomic<bool>& done)>& other) {
  int soon = 0;
  int late = 0;
  for (int i = 0; i < 100 && soon < 5 && late < 2; ++i) {
    if (const auto took = exchange_beside(other)) ++(*took < 500ms ? soon : late);
  }
  EXPECT_EQ(soon, 5) << late << " have taken half a second";
}

void compute_in_vain(const std::atomic<bool>& done) {
  const auto end = clock::now() + 2s;
  while (!done && clock::now() < end) {
  }
}

void wait_in_vain(const std::atomic<bool>& done) {
  for (int i = 0; i < 200 && !done; ++i) ::usleep(10'000);
}

}  // namespace

CHILD_MAIN(a_call_waits_beside_one_that_computes) {
  return run_with_batches([] { expect_soon(compute_in_vain); });
}
CHILD_MAIN(a_call_waits_beside_one_that_blocks) {
  return run_with_batches([] { expect_soon(wait_in_vain); });
}
CHILD_MAIN(a_call_waits_beside_one_that_says_so) {
  return run_with_batches([] {
    expect_soon([](const auto& done) { sley::blocking([&done] { wait_in_vain(done); }); });
  });
}
CHILD_MAIN(a_call_waits_beside_some_that_yield) {
  return run_with_batches([] {
    expect_soon([](const std::atomic<bool>& done) {
      sley::wait_group group;
      for (int i = 0; i < 8; ++i) {
        group.go([&done] {
          while (!done) sley::this_goroutine::yield();
        });
      }
      group.wait();
    });
  });
}
CHILD_MAIN(a_call_waits_beside_some_that_wake_each_other) {
  return run_with_batches([] {
    expect_soon([](const std::atomic<bool>& done) {
      const sley::chan<int> there;
      const sley::chan<int> back;
      sley::wait_group group;
      group.go([&] {
        while (there.receive()) back.send(0);
      });
      while (!done) {
        there.send(0);
        back.receive();
      }
      there.close();
      group.wait();
    });
  });
}

TEST(batched_calls, do_not_wait_for_a_goroutine_that_computes) {
  expect_works("a_call_waits_beside_one_that_computes", "1");
}
TEST(batched_calls, do_not_wait_for_a_goroutine_that_blocks_its_thread) {
  expect_works("a_call_waits_beside_one_that_blocks", "1");
  expect_works("a_call_waits_beside_one_that_says_so", "1");
}
TEST(batched_calls, do_not_wait_for_goroutines_that_are_always_runnable) {
  if (sley_test::under_chaos) GTEST_SKIP() << "they may stay in the global queue for long";
  expect_works("a_call_waits_beside_some_that_yield", "1");
  expect_works("a_call_waits_beside_some_that_yield", "2");
  expect_works("a_call_waits_beside_some_that_wake_each_other", "1");
}

// Its processor is taken out of use under a goroutine that computes.
CHILD_MAIN(a_call_waits_on_a_processor_that_goes) {
  return run_with_batches([] {
    expect_soon([](const std::atomic<bool>& done) {
      std::thread changes([] { sley::runtime::set_max_procs(1); });
      compute_in_vain(done);
      changes.join();
      sley::runtime::set_max_procs(4);
    });
  });
}

// The world is stopped while calls wait, and their processors are taken out of use.
CHILD_MAIN(processors_come_and_go) {
  return run_with_batches([] {
    std::atomic<bool> done{false};
    sley::wait_group group;
    group.go([&done] {
      for (int n = 1; !done; n = n % 4 + 1) sley::runtime::set_max_procs(n);
    });
    exchange_by(32, sley_test::rounds(300));
    done = true;
    group.wait();
  });
}
TEST(batched_calls, outlive_their_processor) {
  expect_works("a_call_waits_on_a_processor_that_goes", "4");
  expect_works("processors_come_and_go", "4");
}

// --- files ---------------------------------------------------------------------------------------

namespace {

constexpr std::size_t file_bytes = 100'000;

std::byte byte_at(std::size_t place) { return static_cast<std::byte>(place * 7 % 251); }

void expect_content(const sley::os::file& file, std::size_t from, std::size_t bytes) {
  std::vector<std::byte> got(bytes);
  const std::size_t n = file.read_at(got, from);
  ASSERT_EQ(n, std::min(bytes, file_bytes - std::min(from, file_bytes)));
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], byte_at(from + i)) << from << " " << i;
}

}  // namespace

CHILD_MAIN(many_goroutines_read_a_file) {
  return run_with_batches([] {
    const sley::os::file file = sley_test::temporary_file();
    std::vector<std::byte> content(file_bytes);
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = byte_at(i);
    file.write_all(content);
    file.sync();
    for (const bool is_in_memory : {true, false}) {
      sley::wait_group group;
      for (std::size_t reader = 0; reader < 8; ++reader) {
        group.go([&file, reader, is_in_memory] {
          for (std::size_t i = 0; i < 500; ++i) {
            if (!is_in_memory && i % 10 == 0) {
              ::posix_fadvise(file.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
            }
            expect_content(file, (reader * 977 + i * 4999) % (file_bytes + 10), 1 + i * 37 % 9000);
          }
        });
      }
      group.wait();
    }
  });
}
// A pipe has no places, even if the record of its descriptor was that of a file before.
CHILD_MAIN(many_goroutines_read_pipes_at_a_place) {
  return run_with_batches([] {
    sley::wait_group group;
    for (int reader = 0; reader < 8; ++reader) {
      group.go([] {
        sley_test::temporary_file();
        const auto [out, in] = sley::os::pipe();
        in.write_all(bytes_of("x"));
        std::byte byte{};
        for (int i = 0; i < 500; ++i) {
          std::error_code error;
          ASSERT_EQ(out.read_at({&byte, 1}, 0, error), 0U);
          ASSERT_EQ(error, std::errc::invalid_seek);
        }
        EXPECT_EQ(out.read_some({&byte, 1}), 1U);
      });
    }
    group.wait();
  });
}
TEST(batched_calls, read_no_pipe_at_a_place) {
  expect_works("many_goroutines_read_pipes_at_a_place", "1");
}
TEST(batched_calls, read_files_as_calls_alone_do) {
  expect_works("many_goroutines_read_a_file", "1");
  expect_works("many_goroutines_read_a_file", "4");
}
