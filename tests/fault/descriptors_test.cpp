// Descriptors that run out at any place, and numbers that are used again at once.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/known_types.hpp"
#include "support/memory.hpp"
#include "support/refuse.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>
#include <sley/signal.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using sley::chan;
using sley::wait_group;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::open_descriptors;
using sley_test::rounds;
using sley_test::run_child;
using sley_test::skipped;
using namespace std::chrono_literals;

// --- running out of them -------------------------------------------------------------------------

namespace {

// Leaves `left` descriptor numbers while it lives: all free numbers below the highest one in use
// are taken.
class few_descriptors {
 public:
  explicit few_descriptors(int left) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int highest = 0;
    for (int fd = 0; fd < 4096; ++fd) {
      if (::fcntl(fd, F_GETFD) >= 0) highest = fd;
    }
    int filler;
    do {
      filler = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
      fillers_.push_back(filler);
    } while (filler < highest);
    const rlimit limit = {static_cast<rlim_t>(filler + 1 + left), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~few_descriptors() {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    for (const int fd : fillers_) ::close(fd);
  }
  few_descriptors(const few_descriptors&) = delete;
  few_descriptors& operator=(const few_descriptors&) = delete;

 private:
  rlimit before_ = {};
  std::vector<int> fillers_;
};

// Everything that makes descriptors, until something cannot be had. Returns how many things could.
int make_all(std::error_code& error) {
  int made = 0;
  const auto count = [&](auto&& thing) {
    if (!error) ++made;
    return std::move(thing);
  };
  const auto pipe = count(sley::os::pipe(error));
  if (error) return made;
  const auto file = count(sley::os::file::open("/proc/self/comm", O_RDONLY, 0, error));
  if (error) return made;
  const auto null = count(sley::os::file::open("/dev/null", O_WRONLY, 0, error));
  if (error) return made;
  const auto listener = count(tcp_listener::listen("127.0.0.1:0", {}, error));
  if (error) return made;
  const auto client = count(tcp_stream::connect(listener.local().to_string(), error));
  if (error) return made;
  listener.set_deadline(std::chrono::steady_clock::now() + 200ms);
  const auto server = count(listener.accept(error));
  if (error == std::errc::timed_out) error = std::make_error_code(std::errc::too_many_files_open);
  if (error) return made;
  const auto udp = count(sley::net::udp_socket::bind("127.0.0.1:0", error));
  if (error) return made;
  const auto pair = count(sley::net::unix_stream::pair(error));
  if (error) return made;
  client.write_all(bytes_of("x"));
  client.shutdown_write();
  const auto copied = sley::net::copy(server, pair.first, 1, error);
  if (!error) ++made;
  EXPECT_EQ(copied, error ? 0u : 1u);
  if (error) return made;
  auto process = count(
      sley::os::process::start({.program = "true", .output = sley::os::redirect::pipe()}, error));
  if (error) return made;
  process.wait();
  return made;
}

}  // namespace

GO_TEST(descriptors, that_run_out_are_an_error_wherever_it_is_and_none_is_lost) {
  EXPECT_EQ(std::error_code(EMFILE, std::system_category()), std::errc::too_many_files_open);
  sley_test::let_sanitizers_know_pauses();
  std::error_code error;
  const int all = make_all(error);
  ASSERT_FALSE(error) << error.message();
  const auto before = open_descriptors();
  int most_made = -1;
  for (int left = 0; most_made < all; ++left) {
    ASSERT_LT(left, 60);
    int made;
    {
      const few_descriptors limit(left);
      error.clear();
      made = make_all(error);
    }
    EXPECT_GE(made, most_made) << "with more descriptors";
    most_made = made;
    EXPECT_TRUE(sley_test::eventually([&] { return open_descriptors() <= before; }))
        << "with " << left;
    if (made == all) break;
    EXPECT_EQ(error, std::errc::too_many_files_open) << left << ": " << error.message();
  }
}

// --- numbers that are used again -----------------------------------------------------------------

namespace {

// Reads and writes that others end by closing, on numbers that new sockets get at once. Each pair
// has a letter of its own, and reads nothing else.
void close_under_way(char letter, int times) {
  const std::string text(100, letter);
  for (int i = 0; i < times; ++i) {
    auto ends = std::make_shared<std::pair<sley::net::unix_stream, sley::net::unix_stream>>(
        sley::net::unix_stream::pair());
    wait_group group;
    group.go([ends, letter] {
      std::array<char, 64> buffer;
      std::error_code error;
      for (;;) {  // ends when it is closed
        const auto n = ends->first.read_some(std::as_writable_bytes(std::span(buffer)), error);
        if (n == 0) break;
        for (const char c : std::span(buffer).first(n)) EXPECT_EQ(c, letter);
      }
      EXPECT_TRUE(!error || error == std::errc::operation_canceled) << error.message();
    });
    group.go([ends, &text] {
      std::error_code error;
      for (int n = 0; n < 20 && !error; ++n) ends->second.write_all(bytes_of(text), error);
      EXPECT_TRUE(!error || error == std::errc::operation_canceled ||
                  error == std::errc::broken_pipe || error == std::errc::connection_reset)
          << error.message();
    });
    for (int yields = i % 7; yields > 0; --yields) sley::this_goroutine::yield();
    if (i % 2 == 0) {
      ends->first.close();
      ends->second.close();
    } else {
      ends->second.close();
      ends->first.close();
    }
    group.wait();
  }
}

}  // namespace

GO_TEST(descriptors, with_reused_numbers_get_no_events_of_their_predecessors) {
  const auto before = open_descriptors();
  wait_group group;
  for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    group.go([letter] { close_under_way(letter, rounds(200)); });
  }
  group.wait();
  EXPECT_TRUE(sley_test::eventually([&] { return open_descriptors() <= before; }));
}

// The same for goroutines that accept a connection or make one.
GO_TEST(descriptors, of_listeners_are_closed_under_accept_and_connect) {
  wait_group all;
  for (int g = 0; g < 4; ++g) {
    all.go([] {
      for (int i = 0; i < rounds(100); ++i) {
        tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
        const std::string address = listener.local().to_string();
        wait_group group;
        group.go([&] {
          std::error_code error;
          while (!error) listener.accept(error);
          EXPECT_EQ(error, std::errc::operation_canceled) << error.message();
        });
        group.go([&] {
          std::error_code error;
          const auto s = tcp_stream::connect(address, error);
          EXPECT_TRUE(!error || error == std::errc::connection_refused ||
                      error == std::errc::connection_reset)
              << error.message();
        });
        for (int yields = i % 5; yields > 0; --yields) sley::this_goroutine::yield();
        listener.close();
        group.wait();
      }
    });
  }
  all.wait();
}

// --- none at the start ---------------------------------------------------------------------------

CHILD_MAIN(starts_without_descriptors) {
  const rlimit none = {3, 3};
  ::setrlimit(RLIMIT_NOFILE, &none);
  return sley::run([] { return 7; });
}

TEST(descriptors, that_are_missing_at_the_start_are_a_fatal_error_that_says_so) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers open files";
  const auto child = run_child("starts_without_descriptors");
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_NE(child.err.find("no file descriptors are left"), std::string::npos) << child;
}
