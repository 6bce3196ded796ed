// Calls that block their thread and are announced: blocking and syscall. Where there is one
// processor, a goroutine that kept it while its thread is asleep would stall the test, which ends
// only because another goroutine runs meanwhile.
#include "support/blocking_calls.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using sley::blocking;
using sley::chan;
using sley::runtime::read_stats;
using sley_test::byte_pipe;
using sley_test::eventually;
using sley_test::get_errno;
using sley_test::processors;
using sley_test::rounds;
using sley_test::set_errno;
using sley_test::sleep_in_the_kernel;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

GO_TEST(blocking, returns_the_value_of_the_call) {
  EXPECT_EQ(blocking([] { return 7; }), 7);
  EXPECT_EQ(*blocking([] { return std::make_unique<int>(8); }), 8);
  int x = 3;
  const auto reference = [&x]() -> int& { return x; };
  static_assert(std::is_same_v<decltype(blocking(reference)), int&>);
  EXPECT_EQ(&blocking(reference), &x);
  const auto moved = [&x]() -> int&& { return std::move(x); };
  static_assert(std::is_same_v<decltype(blocking(moved)), int&&>);
  const auto nothing = [&x] { ++x; };
  static_assert(std::is_void_v<decltype(blocking(nothing))>);
  blocking(nothing);
  EXPECT_EQ(x, 4);
  EXPECT_EQ(blocking([owned = std::make_unique<int>(5)]() mutable { return ++*owned; }), 6);
  EXPECT_EQ(blocking(::getpid), ::getpid());
}

GO_TEST(blocking, lets_exceptions_through_wherever_the_goroutine_goes_on) {
  sley::wait_group group;
  for (int g = 0; g < rounds(200); ++g) {
    group.go([g] {
      for (int number = g * 5; number < g * 5 + 5; ++number) {
        try {
          blocking([number] {
            sleep_in_the_kernel(500us);
            throw number;
          });
          ADD_FAILURE() << "nothing thrown";
        } catch (const int caught) {
          this_goroutine::yield();
          EXPECT_EQ(caught, number);
          EXPECT_EQ(std::uncaught_exceptions(), 0);
        }
        EXPECT_EQ(std::current_exception(), nullptr);
      }
    });
  }
  group.wait();
}

GO_TEST(blocking, may_be_left_by_exit) {
  sley::wait_group group;
  for (int i = 0; i < 20; ++i) {
    group.go([] {
      blocking([] {
        sleep_in_the_kernel(300us);
        this_goroutine::exit();
      });
      ADD_FAILURE() << "exit returned";
    });
  }
  group.wait();
}

GO_TEST(blocking, nests) {
  sley::wait_group group;
  for (int i = 0; i < 20; ++i) {
    group.go([i] {
      const int result = blocking([i] {
        const int inner = blocking([i] { return sleep_in_the_kernel(300us) ? i + 1 : -1; });
        EXPECT_EQ(sley::syscall(SYS_getpid), ::getpid());
        sleep_in_the_kernel(300us);
        return inner + 1;
      });
      EXPECT_EQ(result, i + 2);
    });
  }
  group.wait();
}

GO_TEST(blocking, lets_the_call_use_the_library_and_keeps_it_on_its_thread) {
  chan<int> there;
  chan<int> back;
  sley::go([=] {
    blocking([=] {
      const pid_t thread = ::gettid();
      for (const int value : there) {
        EXPECT_EQ(::gettid(), thread);
        back.send(value + 1);
      }
      EXPECT_EQ(::gettid(), thread);
    });
    back.close();
  });
  blocking([=] {
    const pid_t thread = ::gettid();
    for (int i = 0; i < rounds(200); ++i) {
      there.send(i);
      EXPECT_EQ(::gettid(), thread);
      EXPECT_EQ(back.receive(), i + 1);
      EXPECT_EQ(::gettid(), thread);
      this_goroutine::sleep_for(20us);
      EXPECT_EQ(sley::select(sley::on_receive(back), sley::on_timeout(20us)), 1u);
      EXPECT_EQ(::gettid(), thread);
      sley::wait_group group;
      group.go([] { this_goroutine::yield(); });
      group.wait();
      EXPECT_EQ(::gettid(), thread);
    }
    there.close();
    EXPECT_EQ(back.receive(), std::nullopt);
  });
}

GO_TEST(blocking, hands_the_only_processor_to_others) {
  const processors one(1);
  const auto moves = [] { return read_stats().hand_offs + read_stats().retakes; };
  const auto before = moves();
  const byte_pipe pipe;
  for (int i = 0; i < rounds(50); ++i) {
    std::atomic<bool> entered{false};
    sley::wait_group group;
    group.go([&] {
      entered = true;
      EXPECT_EQ(blocking([&] { return pipe.read(); }), 'x');
    });
    EXPECT_TRUE(eventually([&] { return entered.load(); }));
    pipe.write('x');
    group.wait();
  }
  EXPECT_GT(moves(), before);
}

GO_TEST(blocking, a_thousand_sleeps_take_a_small_part_of_their_sum) {
  sley_test::expect_sleeps_overlap(
      rounds(1000), sley_test::under_sanitizer ? 50ms : 10ms,
      [](nanoseconds d) { blocking([d] { sleep_in_the_kernel(d); }); });
}

GO_TEST(blocking, a_system_call_takes_and_returns_the_same_as_syscall_2) {
  EXPECT_EQ(sley::syscall(SYS_getpid), ::getpid());
  const long page = sley::syscall(SYS_mmap, nullptr, std::size_t{4096}, PROT_READ,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, off_t{0});
  ASSERT_NE(page, -1);
  EXPECT_EQ(sley::syscall(SYS_munmap, page, 4096), 0);
  const byte_pipe pipe;
  pipe.write('x');
  char byte = 0;
  EXPECT_EQ(sley::syscall(SYS_read, pipe.fds[0], &byte, sizeof byte), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(sley::syscall(SYS_close, -1), -1);
  EXPECT_EQ(get_errno(), EBADF);
  // Its constants are enumerators.
  EXPECT_EQ(sley::syscall(SYS_socket, -1, SOCK_STREAM, 0), -1);
  EXPECT_EQ(get_errno(), EAFNOSUPPORT);
}

namespace {

struct failing_call {
  int error;
  long (*call)();
};

// The first two fail after a while in the kernel.
const failing_call failing_calls[] = {
    {ETIMEDOUT,
     [] {
       const std::uint32_t word = 0;
       const timespec time = {0, 300'000};
       return sley::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0);
     }},
    {EAGAIN,
     [] {
       const std::uint64_t no_signals = 0;
       const timespec time = {0, 300'000};
       return sley::syscall(SYS_rt_sigtimedwait, &no_signals, nullptr, &time, sizeof no_signals);
     }},
    {EBADF, [] { return sley::syscall(SYS_close, -1); }},
    {ENOENT, [] { return sley::syscall(SYS_openat, AT_FDCWD, "/no such file", O_RDONLY); }},
    {EINVAL, [] { return sley::syscall(SYS_pipe2, nullptr, -1); }},
};

}  // namespace

GO_TEST(blocking, errno_belongs_to_the_call_on_any_thread) {
  sley::wait_group group;
  for (std::size_t g = 0; g < 100; ++g) {
    group.go([g] {
      for (std::size_t i = 0; i < static_cast<std::size_t>(rounds(20)); ++i) {
        const failing_call& f = failing_calls[(g + i) % std::size(failing_calls)];
        set_errno(0);
        EXPECT_EQ(f.call(), -1);
        EXPECT_EQ(get_errno(), f.error);
        const int mine = static_cast<int>(1000 + g);
        blocking([mine] {
          sleep_in_the_kernel(200us);
          set_errno(mine);
        });
        EXPECT_EQ(get_errno(), mine);
      }
    });
  }
  group.wait();
}

TEST(blocking, a_call_may_outlive_run) {
  const byte_pipe pipe;
  std::atomic<bool> entered{false};
  const chan<char> result(1);
  sley::run([&] {
    sley::go([&] {
      entered = true;
      result.send(blocking([&] { return pipe.read(); }));
    });
    EXPECT_TRUE(eventually([&] { return entered.load(); }));
  });
  pipe.write('x');
  sley::run([&] {
    EXPECT_EQ(result.receive(), 'x');
    EXPECT_TRUE(eventually([] { return sley::runtime::num_goroutines() == 1; }));
  });
}

FOREIGN_TEST(blocking, is_just_the_call_on_a_foreign_thread) {
  const pid_t thread = ::gettid();
  EXPECT_EQ(blocking(::gettid), thread);
  EXPECT_THROW(blocking([] { throw 1; }), int);
  EXPECT_EQ(sley::syscall(SYS_close, -1), -1);
  EXPECT_EQ(get_errno(), EBADF);
  const chan<int> c;
  sley::go([c] { c.send(blocking([] { return 5; })); });
  EXPECT_EQ(blocking([c] { return c.receive(); }), 5);
  EXPECT_EQ(::gettid(), thread);
}

CHILD_MAIN(blocks_before_anything_else) {
  return blocking([] { return sley::syscall(SYS_getpid) == ::getpid() ? 7 : 3; });
}

TEST(blocking, may_be_the_first_use_of_all) {
  const auto child = sley_test::run_child("blocks_before_anything_else");
  EXPECT_EQ(child.status, 7) << child;
}
