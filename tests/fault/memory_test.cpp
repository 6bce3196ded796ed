// No more memory from the system: mmap(2) is refused while the program runs. A call that needs more
// fails with std::bad_alloc or an error, a goroutine that has memory goes on, and all is as before
// once memory can be had. The mappings of the sanitizers would fail as well.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/scripted_calls.hpp"

#include <sley/context.hpp>
#include <sley/net.hpp>
#include <sley/time.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <deque>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

using sley::chan;
using sley::wait_group;
using sley_test::scripted_calls;
using sley_test::system_call;
using namespace std::chrono_literals;

namespace {

std::atomic<bool> is_short{false};

// Further arenas of malloc are mapped as the runtime's memory is.
const bool has_one_arena = ::mallopt(M_ARENA_MAX, 1) != 0;

// The mappings of the runtime; the mappings of malloc and of threads look otherwise.
constexpr sley_test::call_pattern runtime_mmap = {
    .number = SYS_mmap, .argument = 3, .bits = MAP_NORESERVE | MAP_STACK, .value = MAP_NORESERVE};

long answer_mmap(const system_call& call) { return is_short ? -ENOMEM : call.pass_on(); }

// Calls f again and again while there is no more memory. True: f has reported that at last.
template <class F>
bool runs_out(int at_most, F f) {
  is_short = true;
  bool is_out = false;
  for (int i = 0; i < at_most && !is_out; ++i) {
    try {
      f();
    } catch (const std::bad_alloc&) {
      is_out = true;
    } catch (const std::system_error& e) {
      is_out = e.code() == std::errc::not_enough_memory;
      EXPECT_TRUE(is_out) << e.what();
    }
  }
  is_short = false;
  return is_out;
}

}  // namespace

#define SKIP_WITHOUT(script)                                                            \
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers map memory of their own"; \
  if (!(script).works()) GTEST_SKIP() << "seccomp is refused"

GO_TEST(out_of_memory, timers_that_have_no_room_throw_and_the_others_fire) {
  const scripted_calls script({runtime_mmap}, &answer_mmap);
  SKIP_WITHOUT(script);
  ASSERT_TRUE(has_one_arena);
  const sley_test::processors one(1);
  std::atomic<int> fired{0};
  std::deque<sley::timer> timers;
  const auto add = [&] { timers.push_back(sley::after_func(1h, [&fired] { ++fired; })); };
  add();
  EXPECT_TRUE(runs_out(100'000, add));
  is_short = true;
  // Long ones: a time that has passed needs no timer.
  EXPECT_THROW(sley::this_goroutine::sleep_for(1h), std::bad_alloc);
  EXPECT_THROW(sley::after(1h), std::bad_alloc);
  EXPECT_THROW(sley::with_timeout(sley::context::background(), 1h), std::bad_alloc);
  EXPECT_THROW(sley::select(sley::on_timeout(1h)), std::bad_alloc);
  EXPECT_THROW((void)chan<void>().try_receive_for(1h), std::bad_alloc);
  sley::mutex m;
  m.lock();
  EXPECT_THROW((void)m.try_lock_for(1h), std::bad_alloc);
  m.unlock();
  EXPECT_TRUE(timers.front().stop());
  EXPECT_NO_THROW(timers.front().reset(1h)) << "there is room for one";
  EXPECT_THROW(add(), std::bad_alloc);
  for (sley::timer& t : timers) EXPECT_TRUE(t.reset(1ms));
  is_short = false;
  sley::this_goroutine::sleep_for(1ms);
  EXPECT_TRUE(sley_test::eventually([&] { return fired == static_cast<int>(timers.size()); }));
}

GO_TEST(out_of_memory, timers_that_cannot_be_set_again_say_so) {
  const scripted_calls script({runtime_mmap}, &answer_mmap);
  SKIP_WITHOUT(script);
  const sley_test::processors one(1);
  sley::timer function = sley::after_func(1h, [] {});
  sley::timer channel(1h);
  function.stop();
  channel.stop();
  std::deque<sley::timer> timers;
  EXPECT_TRUE(runs_out(100'000, [&] { timers.emplace_back(1h); }));
  is_short = true;
  EXPECT_THROW(function.reset(1ms), std::bad_alloc);
  EXPECT_THROW(channel.reset(1ms), std::bad_alloc);
  is_short = false;
  timers.clear();
  channel.reset(1ms);
  channel.channel().receive();
}

GO_TEST(out_of_memory, descriptors_that_have_no_record_are_an_error_and_closed) {
  const scripted_calls script({runtime_mmap}, &answer_mmap);
  SKIP_WITHOUT(script);
  std::vector<std::pair<sley::net::unix_stream, sley::net::unix_stream>> pairs;
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const bool is_out = runs_out(static_cast<int>(limit.rlim_cur / 2) - 50,
                               [&] { pairs.push_back(sley::net::unix_stream::pair()); });
  if (!is_out) GTEST_SKIP() << "descriptors run out first";
  EXPECT_NO_THROW(sley::net::unix_stream::pair());
  pairs.back().first.write_all(sley_test::bytes_of("x"));
  EXPECT_EQ(sley_test::read_exactly(pairs.back().second, 1), "x");
}

GO_TEST(out_of_memory, goroutines_that_have_no_record_are_not_started) {
  const scripted_calls script({runtime_mmap}, &answer_mmap);
  SKIP_WITHOUT(script);
  const chan<void> gate;
  wait_group group;
  std::atomic<int> ended{0};
  int started = 0;
  EXPECT_TRUE(runs_out(1'000'000, [&] {
    group.go([&] {
      gate.receive();
      ++ended;
    });
    ++started;
  }));
  gate.close();
  group.wait();
  EXPECT_EQ(ended, started);
  EXPECT_EQ(sley::async([] { return 5; }).get(), 5);
}
