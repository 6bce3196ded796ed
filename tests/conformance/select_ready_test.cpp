// Aim: a descriptor is a case of select like a channel: chosen when it is ready, with equal chances
// among others, and for no event that is over. Method: each way to become ready, to end and to be a
// false alarm; and bytes over pipes and channels at once, whose accounts must balance.
#include "support/blocking_calls.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

using sley::on_receive;
using sley::on_send;
using sley::on_timeout;
using sley::otherwise;
using sley::select;
using sley::os::on_ready;
using sley::os::poll_events;
using sley_test::connect_tcp;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;
using sley_test::tcp_pair;
using namespace std::chrono_literals;

namespace {

constexpr auto readable = poll_events::readable;
constexpr auto writable = poll_events::writable;

// Waits in a goroutine for the object, or for `stop`. -1: neither has come.
struct waiting {
  std::atomic<int> chosen = -1;
  std::atomic<int> found = -1;
  sley::chan<void> stop;

  void start(const sley::io_object& object, poll_events wanted) {
    go_until_parked([this, &object, wanted] {
      chosen = static_cast<int>(
          select(on_ready(object, wanted, [this](poll_events e) { found = static_cast<int>(e); }),
                 on_receive(stop)));
    });
  }
  bool is_over() const { return chosen != -1; }
  void expect(poll_events events) const {
    EXPECT_TRUE(eventually([this] { return is_over(); }));
    EXPECT_EQ(chosen, 0);
    EXPECT_EQ(found, static_cast<int>(events));
  }
};

}  // namespace

GO_TEST(select_ready, a_case_is_chosen_when_its_event_comes) {
  const tcp_pair c = connect_tcp();
  waiting w;
  w.start(c.server, readable);
  c.client.write_all("x");
  w.expect(readable);
  EXPECT_EQ(sley_test::read_exactly(c.server, 1), "x");
}

GO_TEST(select_ready, a_case_that_is_ready_is_chosen_at_once) {
  const tcp_pair c = connect_tcp();
  const sley::chan<int> nothing;
  EXPECT_EQ(select(on_ready(c.server, writable), on_receive(nothing)), 0U);
  EXPECT_EQ(select(on_receive(nothing), on_ready(c.server, readable | writable), otherwise()), 1U);
  EXPECT_EQ(select(on_ready(c.server, readable), otherwise()), 1U);
  c.client.write_all("x");
  EXPECT_EQ(select(on_ready(c.server, readable), on_timeout(sley_test::patience)), 0U);
  poll_events found{};
  select(on_ready(c.server, readable | writable, [&](poll_events e) { found = e; }));
  EXPECT_EQ(found, readable | writable);
}

GO_TEST(select_ready, cases_that_are_ready_have_equal_chances) {
  const tcp_pair c = connect_tcp();
  c.client.write_all("x");
  sley::chan<int> full(1);
  full.send(1);
  std::array<int, 3> chosen{};
  const int count = rounds(3000);
  for (int i = 0; i < count; ++i) {
    const std::size_t n =
        select(on_ready(c.server, readable), on_receive(full), on_ready(c.client, writable));
    if (n == 1) full.send(1);
    ++chosen.at(n);
  }
  for (const int times : chosen) EXPECT_GT(times, count / 5);
}

GO_TEST(select_ready, accepts_until_it_is_told_to_stop) {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  const sley::chan<void> stop;
  std::atomic<int> accepted = 0;
  sley::wait_group group;
  group.go([&] {
    while (select(on_ready(listener, readable), on_receive(stop)) == 0) {
      EXPECT_TRUE(listener.accept().is_open());
      ++accepted;
    }
  });
  for (int i = 1; i <= 5; ++i) {
    sley::net::tcp_stream::connect(listener.local().to_string());
    EXPECT_TRUE(eventually([&] { return accepted == i; }));
  }
  stop.close();
  group.wait();
}

GO_TEST(select_ready, other_cases_end_the_wait) {
  const tcp_pair c = connect_tcp();
  waiting w;
  w.start(c.server, readable);
  w.stop.close();
  EXPECT_TRUE(eventually([&] { return w.is_over(); }));
  EXPECT_EQ(w.chosen, 1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(select(on_ready(c.server, readable), on_timeout(5ms)), 1U);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
}

// Every event alerts the case; it is chosen for its own alone, and its time-out is not put off.
GO_TEST(select_ready, an_event_that_is_not_wanted_changes_nothing) {
  const auto ends = sley::net::unix_stream::pair();
  const std::vector<std::byte> bytes(4096);
  const int fd = ends.first.native_handle();
  const auto fill = [&] {
    while (::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) continue;
  };
  std::vector<std::byte> room(1 << 20);
  const auto drain = [&] {
    while (::recv(ends.second.native_handle(), room.data(), room.size(), MSG_DONTWAIT) > 0)
      continue;
  };
  fill();
  waiting w;
  w.start(ends.first, readable);
  drain();
  let_others_run();
  EXPECT_FALSE(w.is_over());
  ends.second.write_all("x");
  w.expect(readable);
  std::byte b{};
  ends.first.read_some({&b, 1});

  std::atomic<bool> is_over = false;
  sley::wait_group group;
  group.go([&] {
    while (!is_over) {
      fill();
      drain();
      sley::this_goroutine::yield();
    }
  });
  auto value = std::make_unique<int>(7);
  const sley::chan<std::unique_ptr<int>> nobody;
  EXPECT_EQ(
      select(on_ready(ends.first, readable), on_send(nobody, std::move(value)), on_timeout(20ms)),
      2U);
  is_over = true;
  group.wait();
}

GO_TEST(select_ready, closing_a_deadline_and_a_context_end_it_with_none) {
  for (int how = 0; how < 4; ++how) {
    tcp_pair c = connect_tcp();
    const auto [ctx, cancel] = sley::with_cancel({});
    waiting w;
    if (how < 3) w.start(c.server, readable);
    if (how == 0) c.server.close();
    if (how == 1) c.server.set_read_deadline(sley_test::in(1ms));
    if (how >= 2) c.server.set_context(ctx);
    cancel();
    if (how < 3) {
      w.expect(poll_events::none);
    } else {  // before the select
      poll_events found = writable;
      EXPECT_EQ(select(on_ready(c.server, writable, [&](poll_events e) { found = e; })), 0U);
      EXPECT_EQ(found, poll_events::none);
    }
    const std::error_code error = sley_test::read_error(c.server);
    EXPECT_TRUE(error == std::errc::timed_out || error == std::errc::operation_canceled);
  }
  const sley::net::tcp_stream nothing;
  EXPECT_EQ(select(on_ready(nothing, readable)), 0U);
}

// Both see the object ready.
GO_TEST(select_ready, several_selects_wait_for_one_object) {
  const sley::os::pipe_ends p = sley::os::pipe();
  waiting a, b;
  a.start(p.reader, readable);
  b.start(p.reader, readable);
  p.writer.write_all("x");
  a.expect(readable);
  b.expect(readable);
}

GO_TEST(select_ready, waits_for_descriptors_of_other_libraries_and_for_files) {
  sley_test::two_ends s;
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, s.fds), 0);
  const sley::os::poll_fd end(s.fds[0]);
  waiting w;
  w.start(end, readable);
  ASSERT_EQ(::write(s.fds[1], "x", 1), 1);
  w.expect(readable);
  const auto file = sley::os::file::open("/proc/self/exe", 0);
  EXPECT_EQ(select(on_ready(file, readable), otherwise()), 0U);
}

GO_TEST(select_ready, is_a_case_of_sets) {
  tcp_pair c = connect_tcp();
  const sley::chan<int> values(1);
  sley::select_set set;
  poll_events found{};
  const std::size_t ready =
      set.add(on_ready(c.server, readable, [&](poll_events e) { found = e; }));
  const std::size_t value = set.add_receive(values);
  EXPECT_EQ(set.try_wait(), std::nullopt);
  values.send(1);
  EXPECT_EQ(set.wait(), value);
  c.client.write_all("x");
  EXPECT_EQ(set.wait(), ready);
  EXPECT_EQ(found, readable);
  sley_test::read_exactly(c.server, 1);
  EXPECT_EQ(set.try_wait(), std::nullopt);
  c.server.close();  // waits for no set that is not in a wait
  EXPECT_EQ(set.wait(), ready);
  EXPECT_EQ(found, poll_events::none);
}

// Bytes of several pipes and values of a channel, received by one goroutine.
GO_TEST(select_ready, nothing_is_missed_in_a_storm) {
  const int count = rounds(3000);
  const sley::os::pipe_ends a = sley::os::pipe(), b = sley::os::pipe();
  const sley::chan<int> values;
  sley::wait_group group;
  const auto write = [&](const sley::os::file& to) {
    for (int i = 0; i < count; ++i) {
      to.write_all("x");
      if (i % 7 == 0) sley::this_goroutine::yield();
    }
  };
  group.go([&] { write(a.writer); });
  group.go([&] { write(b.writer); });
  group.go([&] {
    for (int i = 0; i < count; ++i) values.send(i);
  });
  int got = 0;
  std::array<std::byte, 3> room;
  const auto read = [&](const sley::os::file& from) {
    got += static_cast<int>(from.read_some(room));
  };
  while (got < 3 * count) {
    select(on_ready(a.reader, readable, [&](poll_events) { read(a.reader); }),
           on_receive(values, [&](std::optional<int>) { ++got; }),
           on_ready(b.reader, readable, [&](poll_events) { read(b.reader); }));
  }
  group.wait();
  EXPECT_EQ(got, 3 * count);
}
