// A program that lowers RLIMIT_NOFILE once all is open, as sandboxes and daemons do: what is open
// works, goroutines are woken as before, and waiting costs no CPU. A program that closes
// descriptors of the library's is told so.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <utility>

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley::net::unix_stream;
using sley_test::run_child;
using namespace std::chrono_literals;

namespace {

std::chrono::nanoseconds cpu_time() {
  timespec t;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

bool allow_none() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 0;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// Bytes from one to the other, far apart; the CPU time that this takes.
template <class Stream>
std::chrono::nanoseconds exchange_slowly(Stream& from, Stream& to) {
  constexpr int bytes = 10;
  int received = 0;
  sley::wait_group reader;
  reader.go([&] {
    std::array<std::byte, 16> buffer;
    while (to.read_some(buffer) != 0) ++received;
  });
  const auto before = cpu_time();
  for (int i = 0; i < bytes; ++i) {
    sley::this_goroutine::sleep_for(50ms);
    from.write_all(std::as_bytes(std::span("x", 1)));
  }
  sley::this_goroutine::sleep_for(50ms);
  const auto used = cpu_time() - before;
  from.close();
  reader.wait();
  EXPECT_EQ(received, bytes);
  return used;
}

}  // namespace

CHILD_MAIN(lowers_its_limit_to_nothing) {
  return sley::run([] {
    auto [a, b] = unix_stream::pair();
    const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
    tcp_stream client = tcp_stream::connect(listener.local().to_string());
    tcp_stream server = listener.accept();
    sley::this_goroutine::sleep_for(1ms);
    EXPECT_TRUE(allow_none());
    EXPECT_LT(exchange_slowly(a, b), 150ms);
    EXPECT_LT(exchange_slowly(client, server), 150ms);
    return sley_test::verdict();
  });
}

// A foreign descriptor is looked at by poll(2), too.
CHILD_MAIN(waits_for_a_foreign_descriptor_under_no_limit) {
  return sley::run([] {
    const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const sley::os::poll_fd watched(fd);
    sley::this_goroutine::sleep_for(1ms);
    EXPECT_TRUE(allow_none());
    sley::go([fd] {
      sley::this_goroutine::sleep_for(20ms);
      const std::uint64_t one = 1;
      EXPECT_EQ(::write(fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    });
    watched.wait_readable();
    watched.wait_writable();
    const auto found = watched.wait(sley::os::poll_events::readable);
    EXPECT_EQ(found, sley::os::poll_events::readable);
    return sley_test::verdict();
  });
}

TEST(descriptor_limit, may_be_lowered_to_zero_while_open_descriptors_are_used) {
  for (const char* name :
       {"lowers_its_limit_to_nothing", "waits_for_a_foreign_descriptor_under_no_limit"}) {
    const auto child = run_child(name);
    EXPECT_EQ(child.status, 7) << name << ": " << child;
    EXPECT_EQ(child.err, "") << name << ": " << child;
  }
}

CHILD_MAIN(closes_all_descriptors) {
  return sley::run([] {
    auto [a, b] = unix_stream::pair();
    sley::go([&r = a] {
      std::array<std::byte, 1> byte;
      std::error_code error;
      r.read_some(byte, error);
    });
    sley::this_goroutine::sleep_for(1ms);
    ::closefrom(3);
    sley::this_goroutine::sleep_for(20s);
    return 3;
  });
}

TEST(descriptor_limit, descriptors_of_the_library_that_are_closed_end_the_process_with_the_reason) {
  const auto child = run_child("closes_all_descriptors");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_NE(child.err.find("has closed a descriptor of the library's"), std::string::npos) << child;
}
