// System calls that signals interrupt, connections that break in the middle of a call, and errors
// of accept(2). The test answers in the kernel's stead, because a kernel cannot be made to fail at
// the right moment.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/scripted_calls.hpp"
#include "support/temporary_file.hpp"
#include "support/use_everything.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using sley::wait_group;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::connect_tcp;
using sley_test::scripted_calls;
using sley_test::system_call;
using namespace std::chrono_literals;

namespace {

// Answers can't have state of their own: they are called in signal handlers.
std::atomic<std::uint64_t> calls{0};

// Every second call by chance, not by turns, in which threads could be caught.
bool heads() noexcept {
  std::uint64_t x = ++calls * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  return ((x >> 40) & 1) != 0;
}

std::string pattern(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 26) % 26);
  return text;
}

}  // namespace

// --- EINTR ---------------------------------------------------------------------------------------

namespace {

// connect(2) has begun all the same.
long interrupt_half_of_them(const system_call& call) {
  if (!heads()) return call.pass_on();
  if (call.number != SYS_connect) return -EINTR;
  const long result = call.pass_on();
  return result == -EINPROGRESS || result == -EALREADY ? -EINTR : result;
}

// In chunks that the buffers have no room for.
void expect_carries(const sley::net::stream& from, const sley::net::stream& to) {
  const std::string text = pattern(200'000);
  wait_group group;
  group.go([&] { from.write_all(bytes_of(text)); });
  EXPECT_EQ(sley_test::read_exactly(to, text.size()), text);
  group.wait();
}

}  // namespace

GO_TEST(interrupted_calls, lose_and_repeat_nothing) {
  const auto receiver = sley::net::udp_socket::bind("127.0.0.1:0");
  const auto sender = sley::net::udp_socket::connect(receiver.local().to_string());
  const scripted_calls script({{SYS_read},
                               {SYS_write},
                               {SYS_readv},
                               {SYS_writev},
                               {SYS_sendto},
                               {SYS_recvfrom},
                               {SYS_sendmsg},
                               {SYS_recvmsg},
                               {SYS_accept4},
                               {SYS_connect},
                               {SYS_epoll_pwait},
                               {SYS_ppoll}},
                              &interrupt_half_of_them);
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  const sley_test::tcp_pair tcp = connect_tcp();
  tcp.client.set_write_buffer(10'000);
  const auto [one, other] = sley::net::unix_stream::pair();
  wait_group all;
  all.go([&] { expect_carries(tcp.client, tcp.server); });
  all.go([&] { expect_carries(tcp.server, tcp.client); });
  all.go([&, &a = one, &b = other] { expect_carries(a, b); });
  sender.send(bytes_of("once"));
  std::array<std::byte, 10> buffer;
  EXPECT_EQ(receiver.receive(buffer), 4u);
  all.wait();
}

GO_TEST(interrupted_calls, of_a_copy_lose_and_repeat_nothing) {
  const scripted_calls script({{SYS_sendfile}, {SYS_splice}}, [](const system_call& call) -> long {
    if (heads()) return -EINTR;
    system_call shorter = call;  // the size is the fourth and the fifth argument
    unsigned long& size = shorter.arguments[call.number == SYS_splice ? 4 : 3];
    size = size > 1000 ? 999 : size;
    return shorter.pass_on();
  });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  const std::string text = pattern(50'000);
  sley::os::file file = sley_test::temporary_file();
  file.write_at(bytes_of(text), 0);
  const sley_test::tcp_pair first = connect_tcp();
  const sley_test::tcp_pair second = connect_tcp();
  wait_group group;
  group.go([&] {
    EXPECT_EQ(sley::net::copy(file, first.client, UINT64_MAX), text.size());
    first.client.shutdown_write();
  });
  group.go([&] {
    EXPECT_EQ(sley::net::copy(first.server, second.client, UINT64_MAX), text.size());
    second.client.shutdown_write();
  });
  EXPECT_EQ(sley_test::read_to_end(second.server), text);
  group.wait();
}

// Every sleep in the kernel may end for no reason.
GO_TEST(interrupted_calls, that_wait_wake_no_goroutine_early) {
  if (sley_test::under_tsan) GTEST_SKIP() << "the sanitizer sleeps with all signals blocked";
  const scripted_calls script(
      {{SYS_epoll_pwait}, {SYS_ppoll}, {SYS_futex}}, [](const system_call& call) -> long {
        const bool waits = call.number != SYS_futex || (static_cast<int>(call.arguments[1]) &
                                                        FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
        return waits && heads() ? -EINTR : call.pass_on();
      });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  for (int i = 0; i < 3; ++i) sley_test::use_everything();
}

namespace {

constexpr const char* fifo_name = "/tmp/sley-fault-interrupted-open";
std::atomic<int> interruptions{0};

}  // namespace

// open(2) of what it has to wait for, fsync(2), and connect(2) to a full queue of a Unix socket.
GO_TEST(interrupted_calls, that_may_block_are_made_again) {
  const scripted_calls script(
      {{SYS_openat}, {SYS_fsync}, {SYS_connect}}, [](const system_call& call) -> long {
        const auto* path = reinterpret_cast<const char*>(call.arguments[1]);
        const bool is_other = call.number == SYS_openat && std::string_view(path) != fifo_name;
        if (is_other || interruptions <= 0) return call.pass_on();
        const bool is_first_connect = call.number == SYS_connect && interruptions == 3;
        --interruptions;
        return is_first_connect ? -EAGAIN : -EINTR;
      });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  interruptions = 3;
  auto file = sley::os::file::open(fifo_name, O_CREAT | O_RDWR, 0600);
  EXPECT_EQ(interruptions, 0);
  ::unlink(fifo_name);
  interruptions = 3;
  EXPECT_NO_THROW(file.sync());
  EXPECT_EQ(interruptions, 0);
  const std::string name = "@sley-fault-" + std::to_string(::getpid());
  const auto listener = sley::net::unix_listener::listen(name);
  interruptions = 3;
  EXPECT_TRUE(sley::net::unix_stream::connect(name).is_open());
  EXPECT_EQ(interruptions, 0);
}

namespace {

std::atomic<int> watched_number{-1};
std::atomic<int> closes{0};

}  // namespace

// close(2) has closed it all the same.
GO_TEST(interrupted_calls, that_close_are_made_once) {
  const scripted_calls script({{SYS_close}}, [](const system_call& call) -> long {
    const bool is_watched = static_cast<int>(call.arguments[0]) == watched_number;
    if (is_watched) ++closes;
    const long result = call.pass_on();
    return is_watched ? -EINTR : result;
  });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  sley_test::tcp_pair c = connect_tcp();
  watched_number = c.client.native_handle();
  closes = 0;
  EXPECT_NO_THROW(c.client.close());
  c.client.close();
  EXPECT_EQ(closes, 1);
  watched_number = -1;
  EXPECT_EQ(sley_test::read_to_end(c.server), "");
}

// --- connections that break ----------------------------------------------------------------------

namespace {

std::atomic<int> sends_left{0};
std::atomic<int> error_of_send{0};

long fail_after_some(const system_call& call) {
  if (static_cast<int>(call.arguments[0]) != watched_number) return call.pass_on();
  if (sends_left-- > 0) {
    system_call shorter = call;
    if (call.number == SYS_sendto && call.arguments[2] > 1000) shorter.arguments[2] = 1000;
    return shorter.pass_on();
  }
  return -error_of_send;
}

}  // namespace

GO_TEST(broken_connections, are_reported_once_with_the_bytes_written_before) {
  const scripted_calls script({{SYS_sendto}, {SYS_sendmsg}}, &fail_after_some);
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  for (const int number : {ECONNRESET, EPIPE, ETIMEDOUT, ENOBUFS, ENOMEM}) {
    sley_test::tcp_pair c = connect_tcp();
    const std::string text = pattern(1000);
    error_of_send = number;
    watched_number = c.client.native_handle();
    sends_left = 1;
    std::error_code error;
    EXPECT_EQ(c.client.write_all(bytes_of(text), error), text.size()) << error.message();
    EXPECT_EQ(c.client.write_all(bytes_of(text), error), 0u);
    EXPECT_EQ(error, std::error_code(number, std::system_category()));
    sends_left = 1;  // another try is up to the caller
    EXPECT_EQ(c.client.write_all(bytes_of(text), error), text.size());
    EXPECT_FALSE(error) << "it is reported again";
    c.client.close();
    EXPECT_EQ(sley_test::read_to_end(c.server), text + text);
  }
  watched_number = -1;
}

// A peer that sends single bytes, resets in the middle, and no SIGPIPE that would end us.
GO_TEST(broken_connections, by_a_hostile_peer_end_no_other_connection) {
  for (int i = 0; i < 20; ++i) {
    sley_test::tcp_pair c = connect_tcp();
    c.client.set_linger(0s);
    wait_group group;
    group.go([&, i] {
      for (int n = 0; n < i; ++n) c.client.write_all(bytes_of("x"));
      c.client.close();
    });
    const std::string much = pattern(300'000);
    std::error_code error;
    while (!error) c.server.write_all(bytes_of(much), error);
    EXPECT_TRUE(error == std::errc::connection_reset || error == std::errc::broken_pipe)
        << error.message();
    group.wait();
  }
}

// --- accept(2) -----------------------------------------------------------------------------------

namespace {

// What accept4 answers, from the last to the first.
constexpr std::array accept_errors = {ENFILE,       EMFILE,      ENOBUFS,     ENOMEM,    EINTR,
                                      ENETDOWN,     EPROTO,      ENOPROTOOPT, EHOSTDOWN, ENONET,
                                      EHOSTUNREACH, ENETUNREACH, ECONNABORTED};
std::atomic<std::size_t> accept_errors_left{0};

}  // namespace

GO_TEST(accept, goes_on_after_a_transient_error) {
  const scripted_calls script({{SYS_accept4}}, [](const system_call& call) -> long {
    if (accept_errors_left == 0) return call.pass_on();
    return -accept_errors[--accept_errors_left];
  });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const tcp_stream client = tcp_stream::connect(listener.local().to_string());
  accept_errors_left = accept_errors.size();
  EXPECT_TRUE(listener.accept().is_open());
  EXPECT_EQ(accept_errors_left, 0u);
}

GO_TEST(accept, reports_a_lasting_error_and_works_after_it) {
  const scripted_calls script({{SYS_accept4}}, [](const system_call& call) -> long {
    return interruptions-- > 0 ? -EPERM : call.pass_on();
  });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const tcp_stream client = tcp_stream::connect(listener.local().to_string());
  interruptions = 1;
  std::error_code error;
  EXPECT_FALSE(listener.accept(error).is_open());
  EXPECT_EQ(error, std::errc::operation_not_permitted);
  EXPECT_TRUE(listener.accept(error).is_open());
  EXPECT_FALSE(error);
}

// While it pauses it can still be closed, and has deadlines.
GO_TEST(accept, ends_in_a_shortage_by_a_deadline_and_by_close) {
  const scripted_calls script({{SYS_accept4}}, [](const system_call&) -> long { return -EMFILE; });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const tcp_stream client = tcp_stream::connect(listener.local().to_string());
  std::error_code error;
  listener.set_deadline(sley::time_point::clock::now() + 20ms);
  EXPECT_FALSE(listener.accept(error).is_open());
  EXPECT_EQ(error, std::errc::timed_out);
  listener.set_deadline(sley::time_point::max());
  wait_group group;
  group.go([&] {
    EXPECT_FALSE(listener.accept(error).is_open());
    EXPECT_EQ(error, std::errc::operation_canceled);
  });
  sley_test::let_others_run();
  listener.close();
  group.wait();
}

// There is no memory for one more in epoll(7): that connection is lost, the next is accepted.
GO_TEST(accept, drops_a_connection_that_cannot_be_watched) {
  const scripted_calls script({{SYS_epoll_ctl}}, [](const system_call& call) -> long {
    return interruptions-- > 0 ? (heads() ? -ENOMEM : -ENOSPC) : call.pass_on();
  });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  interruptions = 0;
  const tcp_stream lost = tcp_stream::connect(listener.local().to_string());
  const tcp_stream client = tcp_stream::connect(listener.local().to_string());
  interruptions = 1;
  EXPECT_TRUE(listener.accept().is_open());
  EXPECT_EQ(sley_test::read_to_end(lost), "");
}
