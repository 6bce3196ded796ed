// A program that lowers RLIMIT_NOFILE once all is open, as sandboxes and daemons do: what is open
// works, goroutines are woken as before, and waiting costs no CPU. A program that closes
// descriptors of the library's is told so.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley::net::unix_stream;
using sley_test::run_child;
using namespace std::chrono_literals;

namespace {

std::atomic<int> waits = 0;  // for descriptors, of all threads

}  // namespace

// libc's, which the library calls, with a count.
extern "C" int ppoll(pollfd* descriptors, nfds_t count, const timespec* timeout,
                     const sigset_t* signals) {
  ++waits;
  timespec left = {};  // the kernel writes the time left
  if (timeout != nullptr) left = *timeout;
  return static_cast<int>(::syscall(SYS_ppoll, descriptors, count,
                                    timeout != nullptr ? &left : nullptr, signals, _NSIG / 8));
}

namespace {

bool allow_none() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 0;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

constexpr int bytes = 10;

// A byte takes a wait for its sleep and one for its reader. A wait that fails at once comes again
// after a millisecond: some fifty times between two bytes. The CPU time of both would depend on how
// busy the machine is.
constexpr int enough_waits = 20 * bytes;

// Bytes from one to the other, far apart; how often a thread waits for descriptors meanwhile.
template <class Stream>
int exchange_slowly(Stream& from, Stream& to) {
  int received = 0;
  sley::wait_group reader;
  reader.go([&] {
    std::array<std::byte, 16> buffer;
    while (to.read_some(buffer) != 0) ++received;
  });
  const int before = waits;
  for (int i = 0; i < bytes; ++i) {
    sley::this_goroutine::sleep_for(50ms);
    from.write_all(std::as_bytes(std::span("x", 1)));
  }
  sley::this_goroutine::sleep_for(50ms);
  const int used = waits - before;
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
    EXPECT_LT(exchange_slowly(a, b), enough_waits);
    EXPECT_LT(exchange_slowly(client, server), enough_waits);
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
