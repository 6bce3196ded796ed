// Aim: a snapshot has the stacks of goroutines whose threads sleep in the kernel, and no frame that
// is not theirs. Method: functions with frames of many shapes call each other, and the last one
// remembers its callers as libgcc finds them, and sleeps. Stacks of frames whose size is fixed must
// be there; others may be missing.
#include "support/harness.hpp"

#include <sley/debug.hpp>

#include <alloca.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using sley::debug::goroutine_info;
using sley_test::eventually;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

using addresses = std::vector<std::uintptr_t>;

struct sleeper {
  unsigned shapes = 0;  // of the frames, by chance
  std::size_t shapes_count = 0;
  void (*sleep)(sleeper&) = nullptr;
  int pipe_end = -1;
  std::mutex held;
  addresses callers;
  std::atomic<bool> knows_callers{false};
  std::atomic<bool> stops{false};
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* arg) {
  if (const std::uintptr_t pc = _Unwind_GetIP(context); pc != 0) {
    static_cast<addresses*>(arg)->push_back(pc);
  }
  return _URC_NO_REASON;
}

void use(volatile char* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// ---- the ways to sleep ----

// Leaves the return addresses of calls in the memory that the next call's frames take.
[[gnu::noinline]] void leave_rests(int depth) {
  volatile char buffer[64];
  use(buffer);
  if (depth > 0) leave_rests(depth - 1);
  use(buffer);
}

template <class F>
[[gnu::noinline]] void sleep_in(sleeper& s, F f) {
  _Unwind_Backtrace(&add_frame, &s.callers);
  s.callers.erase(s.callers.begin());  // this function
  s.knows_callers = true;
  leave_rests(20);
  f();
  asm volatile("");
}

int read_byte(const sleeper& s) {
  char byte;
  return static_cast<int>(::read(s.pipe_end, &byte, 1));
}

void in_read(sleeper& s) {
  sleep_in(s, [&] { EXPECT_EQ(read_byte(s), 1); });
}
void in_poll(sleeper& s) {
  sleep_in(s, [&] {
    pollfd p = {.fd = s.pipe_end, .events = POLLIN, .revents = 0};
    int ready = 0;
    do {
      ready = ::poll(&p, 1, -1);
    } while (ready == -1 && errno == EINTR);  // a snapshot may ask just before the call
    EXPECT_EQ(ready, 1);
  });
}
void in_announced_read(sleeper& s) {
  sleep_in(s, [&] { EXPECT_EQ(sley::blocking([&] { return read_byte(s); }), 1); });
}
void in_std_mutex(sleeper& s) {
  sleep_in(s, [&] { const std::scoped_lock lock(s.held); });
}
pthread_mutex_t* mutex_of_small_frame = nullptr;
// Has neither arguments nor variables.
[[gnu::noinline]] void lock_in_a_small_frame() {
  pthread_mutex_lock(mutex_of_small_frame);
  asm volatile("");
}
void in_a_small_frame(sleeper& s) {
  mutex_of_small_frame = s.held.native_handle();
  sleep_in(s, &lock_in_a_small_frame);
  s.held.unlock();
}
void in_a_large_frame(sleeper& s) {
  sleep_in(s, [&] {
    volatile char buffer[4096];  // has what leave_rests left
    use(buffer);
    EXPECT_EQ(read_byte(s), 1);
    use(buffer);
  });
}
void in_a_frame_of_unknown_size(sleeper& s) {
  sleep_in(s, [&] {
    use(static_cast<char*>(alloca(s.shapes % 3000 + 1)));
    EXPECT_EQ(read_byte(s), 1);
  });
}
void in_short_sleeps(sleeper& s) {
  sleep_in(s, [&] {
    for (unsigned n = 0; !s.stops; ++n) {
      leave_rests(static_cast<int>(n % 8));
      ::usleep(n % 64 * 10);
    }
  });
}
constexpr std::array sleeps = {
    &in_read,          &in_poll,          &in_announced_read,         &in_std_mutex,
    &in_a_small_frame, &in_a_large_frame, &in_a_frame_of_unknown_size};
constexpr std::size_t with_known_frames = 6;  // the first ones

// ---- frames of many shapes ----

void go_deeper(sleeper& s, int depth);

[[gnu::noinline]] void plain(sleeper& s, int depth) {
  go_deeper(s, depth);
  asm volatile("");
}

[[gnu::noinline]] void by_pointer(sleeper& s, int depth) {
  void (*volatile call)(sleeper&, int) = &plain;
  call(s, depth);
  asm volatile("");
}

[[gnu::noinline]] void in_a_tail(sleeper& s, int depth) { go_deeper(s, depth); }

[[gnu::noinline]] void with_a_buffer(sleeper& s, int depth) {
  volatile char buffer[1000];
  use(buffer);
  go_deeper(s, depth);
  use(buffer);
}

[[gnu::noinline]] void with_alloca(sleeper& s, int depth) {
  use(static_cast<char*>(alloca(static_cast<std::size_t>(depth) * 24 + 1)));
  go_deeper(s, depth);
  asm volatile("");
}

[[gnu::noinline]] void aligned(sleeper& s, int depth) {
  alignas(64) char buffer[128];
  use(buffer);
  go_deeper(s, depth);
  use(buffer);
}

constexpr std::array frames = {&plain,         &by_pointer,  &in_a_tail,
                               &with_a_buffer, &with_alloca, &aligned};
constexpr std::size_t of_known_size = 4;  // the first ones

[[gnu::noinline]] void go_deeper(sleeper& s, int depth) {
  if (depth == 0) return s.sleep(s);
  s.shapes = s.shapes * 1103515245 + 12345;
  frames[(s.shapes >> 16) % s.shapes_count](s, depth - 1);
}

// ---- what snapshots say ----

struct seen {
  std::string state;
  addresses stack;
};

seen look_at(std::string_view name) {
  for (goroutine_info& g : sley::debug::goroutines()) {
    if (g.name == name) return {std::move(g.state), std::move(g.stack)};
  }
  ADD_FAILURE() << "no goroutine " << name;
  return {};
}

bool ends_with(const addresses& all, const addresses& end) {
  return all.size() > end.size() && std::equal(end.rbegin(), end.rend(), all.rbegin());
}

// Looks at a goroutine that sleeps in that way, below frames of such shapes.
template <class Check>
void look_at_sleeper(std::size_t way, unsigned shapes, std::size_t shapes_count, Check check) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  sleeper s;
  s.shapes = shapes;
  s.shapes_count = shapes_count;
  s.sleep = sleeps[way];
  s.pipe_end = ends[0];
  std::unique_lock held(s.held);
  sley::wait_group group;
  group.add(1);
  sley::go({.name = "sleeper"}, [&] {
    go_deeper(s, 8);
    group.done();
  });
  EXPECT_TRUE(eventually([&] { return s.knows_callers && look_at("sleeper").state == "syscall"; }));
  check(s);
  held.unlock();
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  group.wait();
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace

// A thread that the kernel has just put to sleep may still count as running.
GO_TEST(sleeping_stacks, are_whole_in_all_calls) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "its frames are of no fixed size";
  for (std::size_t way = 0; way < with_known_frames; ++way) {
    for (unsigned shapes = 0; shapes < 16; ++shapes) {
      look_at_sleeper(way, shapes, of_known_size, [&](const sleeper& s) {
        seen g;
        EXPECT_TRUE(eventually([&] {
          g = look_at("sleeper");
          return !g.stack.empty();
        })) << "way "
            << way << " shapes " << shapes;
        EXPECT_TRUE(ends_with(g.stack, s.callers))
            << "way " << way << " shapes " << shapes << ' ' << testing::PrintToString(g.stack)
            << testing::PrintToString(s.callers);
      });
    }
  }
}

GO_TEST(sleeping_stacks, have_no_wrong_frame_where_frames_have_any_size) {
  for (std::size_t way = 0; way < sleeps.size(); ++way) {
    for (unsigned shapes = 0; shapes < 32; ++shapes) {
      look_at_sleeper(way, shapes, frames.size(), [&](const sleeper& s) {
        const seen g = look_at("sleeper");
        EXPECT_TRUE(g.stack.empty() || ends_with(g.stack, s.callers))
            << "way " << way << " shapes " << shapes << ' ' << testing::PrintToString(g.stack)
            << testing::PrintToString(s.callers);
      });
    }
  }
}

// A stack that is read while its thread wakes is not shown.
GO_TEST(sleeping_stacks, have_no_wrong_frame_where_threads_wake_all_the_time) {
  std::array<sleeper, 3> sleepers;
  sley::wait_group group;
  for (unsigned i = 0; i < sleepers.size(); ++i) {
    sleepers[i].shapes = i;
    sleepers[i].shapes_count = of_known_size;
    sleepers[i].sleep = &in_short_sleeps;
    group.add(1);
    sley::go({.name = "sleeper " + std::to_string(i)}, [&, i] {
      go_deeper(sleepers[i], 5);
      group.done();
    });
  }
  EXPECT_TRUE(eventually([&] {
    return std::ranges::all_of(sleepers, [](const sleeper& s) { return s.knows_callers.load(); });
  }));
  int shown = 0;
  for (int i = 0; i < rounds(300); ++i) {
    for (std::size_t j = 0; j < sleepers.size(); ++j) {
      const seen g = look_at("sleeper " + std::to_string(j));
      if (g.stack.empty()) continue;
      ++shown;
      EXPECT_TRUE(ends_with(g.stack, sleepers[j].callers)) << testing::PrintToString(g.stack);
    }
  }
  EXPECT_TRUE(shown > 0 || sley_test::under_sanitizer);
  for (sleeper& s : sleepers) s.stops = true;
  group.wait();
}
