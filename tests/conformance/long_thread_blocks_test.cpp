// on_thread_block: a thread that sleeps on is told, on a goroutine, with its place, and each place
// once. Method: goroutines that sleep in a read until the test has been told of them.
#include "support/blocking_calls.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using sley::debug::long_thread_block;
using sley_test::byte_pipe;
using sley_test::eventually;
using sley_test::let_others_run;
using namespace std::chrono_literals;

namespace {

constexpr auto threshold = 2ms;

// Collects what it is told while it lives.
class told_blocks {
 public:
  explicit told_blocks(sley::time_span least = threshold) {
    sley::debug::on_thread_block(least, [this](const long_thread_block& b) {
      EXPECT_NE(sley::this_goroutine::id(), 0u);
      sley::this_goroutine::yield();  // it is an ordinary goroutine
      const std::lock_guard guard(lock_);
      all_.push_back(b);
    });
  }
  ~told_blocks() { sley::debug::on_thread_block(0ns, nullptr); }
  told_blocks(const told_blocks&) = delete;
  told_blocks& operator=(const told_blocks&) = delete;

  std::vector<long_thread_block> of(std::string_view call) {
    const std::lock_guard guard(lock_);
    std::vector<long_thread_block> result;
    std::ranges::copy_if(all_, std::back_inserter(result),
                         [&](const auto& b) { return b.system_call == call; });
    return result;
  }

 private:
  sley::mutex lock_;
  std::vector<long_thread_block> all_;
};

bool is_in(std::string_view function, const long_thread_block& b) {
  return std::ranges::any_of(b.stack, [&](std::uintptr_t frame) {
    return sley::debug::function_name(frame - 1).find(function) != std::string::npos;
  });
}

}  // namespace

[[gnu::noinline]] void reads_at_one_place(const byte_pipe& pipe) { EXPECT_EQ(pipe.read(), 'x'); }

GO_TEST(long_thread_blocks, are_told_while_the_thread_sleeps) {
  told_blocks told;
  const byte_pipe pipe;
  sley::wait_group end;
  end.go([&] { reads_at_one_place(pipe); });
  EXPECT_TRUE(eventually([&] { return !told.of("read").empty(); }));
  pipe.write('x');
  end.wait();
  const long_thread_block b = told.of("read").front();
  EXPECT_GE(b.duration, threshold);
  if (sley_test::has_line_numbers() && !sley_test::under_sanitizer) {
    EXPECT_TRUE(is_in("reads_at_one_place", b));
  }
}

// A second goroutine at the same place sleeps for long, too, which the profile shows.
GO_TEST(long_thread_blocks, are_told_once_for_each_place_until_the_function_is_set_anew) {
  for (int round = 0; round < 2; ++round) {
    told_blocks told;
    const byte_pipe pipe;
    sley::wait_group end;
    for (int i = 0; i < 3; ++i) {
      end.go([&] { reads_at_one_place(pipe); });
    }
    EXPECT_TRUE(eventually([&] { return !told.of("read").empty(); }));
    sley::this_goroutine::sleep_for(20 * threshold);
    for (int i = 0; i < 3; ++i) pipe.write('x');
    end.wait();
    if (!sley_test::under_sanitizer) {
      EXPECT_EQ(told.of("read").size(), 1u);
    }
  }
}

GO_TEST(long_thread_blocks, below_the_threshold_are_not_told) {
  told_blocks told(1h);
  const auto count = [] {
    const auto all = sley::debug::thread_blocks();
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                           [](std::uint64_t n, const auto& b) { return n + b.count; });
  };
  const std::uint64_t before = count();
  const byte_pipe pipe;
  sley::wait_group end;
  end.go([&] { reads_at_one_place(pipe); });
  EXPECT_TRUE(eventually([&] { return count() != before; }));
  sley::this_goroutine::sleep_for(5 * threshold);
  pipe.write('x');
  end.wait();
  EXPECT_TRUE(told.of("read").empty());
}

GO_TEST(long_thread_blocks, end_with_the_function_and_take_no_threshold_of_zero) {
  for (int i = 0; i < sley_test::rounds(100); ++i) {
    const told_blocks told;
    if (i % 2 == 0) sley::this_goroutine::yield();
  }
  sley::debug::on_thread_block(0ns, nullptr);
  EXPECT_THROW(sley::debug::on_thread_block(0ns, [](const long_thread_block&) {}),
               std::invalid_argument);
}
