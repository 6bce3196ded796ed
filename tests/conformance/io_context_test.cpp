// Aim: a context ends every wait for a descriptor, with its error, whether it is an argument of the
// operation or bound to the object; no byte, connection or datagram is lost or doubled by that.
// Method: each kind of wait with a context that has ended before, that ends meanwhile, by
// cancellation and by its deadline, and that does not end; and what binding promises: one context
// at a time, both sides, closing, moving, and records that are used again. Go has no such function:
// its users set a deadline when a context ends. The storms are in io_context_storm_test.cpp.
#include "support/harness.hpp"
#include "support/io_waits.hpp"

#include <sley/buffered.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using sley::context;
using sley::context_errc;
using sley_test::connect_tcp;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::io_wait;
using sley_test::io_world;
using sley_test::let_others_run;
using sley_test::read_error;
using sley_test::read_exactly;
using sley_test::rounds;
using sley_test::tcp_pair;
using namespace std::chrono_literals;

namespace {

// A context that a test ends.
class endable {
 public:
  explicit endable(bool by_deadline = false)
      : made_(by_deadline ? sley::with_timeout({}, 5ms) : sley::with_cancel({})),
        by_deadline_(by_deadline) {}
  ~endable() { made_.second(); }
  endable(const endable&) = delete;
  endable& operator=(const endable&) = delete;

  const context& get() const noexcept { return made_.first; }
  void end() const {
    if (!by_deadline_) made_.second();
    EXPECT_TRUE(eventually([this] { return static_cast<bool>(get().error()); }));
  }
  context_errc code() const noexcept {
    return by_deadline_ ? context_errc::deadline_exceeded : context_errc::canceled;
  }

 private:
  std::pair<context, sley::cancel_function> made_;
  bool by_deadline_;
};

// The end of an operation in a goroutine of its own.
struct outcome {
  std::error_code error;
  std::atomic<bool> is_over = false;

  void wait() const {
    EXPECT_TRUE(eventually([this] { return is_over.load(); }));
  }
};
void start(outcome& o, const std::function<void(std::error_code&)>& operation) {
  go_until_parked([&o, operation] {
    operation(o.error);
    o.is_over = true;
  });
}

std::error_code error_of(const std::function<void(std::error_code&)>& operation) {
  std::error_code error;
  operation(error);
  return error;
}
std::error_code error_thrown_by(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}

// Calls f(world, wait) for each kind of wait, which has a world to itself.
template <class F>
void for_each_wait(F f) {
  const std::size_t kinds = io_world().waits().size();
  for (std::size_t i = 0; i < kinds; ++i) {
    io_world w;
    const io_wait one = w.waits()[i];
    f(one);
  }
}

}  // namespace

// ---- as an argument ----

GO_TEST(io_context, ends_a_wait_that_it_was_given_to) {
  for (const bool by_deadline : {false, true}) {
    for_each_wait([&](const io_wait& one) {
      const endable ctx(by_deadline);
      outcome parked;
      sley::wait_group group;
      std::error_code thrown;
      group.go([&] { thrown = error_thrown_by([&] { one.begin_throwing(ctx.get()); }); });
      group.go([&] { one.begin_with(ctx.get(), parked.error); });
      let_others_run();
      ctx.end();
      group.wait();
      EXPECT_EQ(parked.error, ctx.code()) << one.name;
      EXPECT_EQ(thrown, ctx.code()) << one.name;
    });
  }
}

GO_TEST(io_context, an_operation_succeeds_if_the_event_comes_first) {
  for_each_wait([](const io_wait& one) {
    const endable ctx;
    outcome o;
    start(o, [&](std::error_code& e) { one.begin_with(ctx.get(), e); });
    one.let();
    o.wait();
    EXPECT_FALSE(o.error) << one.name << ": " << o.error.message();
    ctx.end();
  });
}

GO_TEST(io_context, nothing_is_done_once_the_context_has_ended) {
  const endable ctx;
  ctx.end();
  for_each_wait([&](const io_wait& one) {
    EXPECT_EQ(error_of([&](std::error_code& e) { one.begin_with(ctx.get(), e); }), ctx.code())
        << one.name;
  });
  const tcp_pair c = connect_tcp();
  c.client.write_all("x");
  std::error_code error;
  std::byte b{};
  EXPECT_EQ(c.server.read_some({&b, 1}, ctx.get(), error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(c.server.read_some(std::span<std::byte>(), ctx.get(), error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(c.server.write_all("y", ctx.get(), error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(read_exactly(c.server, 1), "x");
  sley::net::tcp_stream nothing;
  nothing.read_some({&b, 1}, ctx.get(), error);
  EXPECT_EQ(error, context_errc::canceled);
  nothing.read_some({&b, 1}, context(), error);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
}

// One wait ends, and others of the same side go on: the reader's, or the waits in line behind it.
GO_TEST(io_context, ends_one_wait_of_several) {
  for (int ended = 0; ended < 3; ++ended) {
    const tcp_pair c = connect_tcp();
    const endable contexts[3];
    outcome outcomes[3];
    for (int i = 0; i < 3; ++i) {
      start(outcomes[i], [&, i](std::error_code& e) {
        std::byte b{};
        c.server.read_some({&b, 1}, contexts[i].get(), e);
      });
    }
    contexts[ended].end();
    outcomes[ended].wait();
    EXPECT_EQ(outcomes[ended].error, context_errc::canceled);
    let_others_run();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(outcomes[i].is_over, i == ended);
    c.client.write_all("xy");
    for (int i = 0; i < 3; ++i) {
      outcomes[i].wait();
      EXPECT_EQ(static_cast<bool>(outcomes[i].error), i == ended);
    }
  }
}

GO_TEST(io_context, a_line_without_its_last_waiter_takes_others) {
  const tcp_pair c = connect_tcp();
  const endable last;
  outcome first, second, third, fourth;
  const auto read = [&](std::error_code& e) {
    std::byte b{};
    c.server.read_some({&b, 1}, e);
  };
  start(first, read);
  start(second, read);
  start(third, [&](std::error_code& e) {
    std::byte b{};
    c.server.read_some({&b, 1}, last.get(), e);
  });
  last.end();
  third.wait();
  start(fourth, read);
  c.client.write_all("abc");
  for (const outcome* o : {&first, &second, &fourth}) {
    o->wait();
    EXPECT_FALSE(o->error);
  }
}

GO_TEST(io_context, a_connection_is_left_for_the_next_accept) {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  const endable ctx;
  outcome o;
  start(o, [&](std::error_code& e) { listener.accept(ctx.get(), e); });
  ctx.end();
  o.wait();
  EXPECT_EQ(o.error, context_errc::canceled);
  const auto client = sley::net::tcp_stream::connect(listener.local().to_string());
  std::error_code error;
  EXPECT_FALSE(listener.accept(ctx.get(), error).is_open());
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_TRUE(listener.accept().is_open());
}

GO_TEST(io_context, read_exactly_tells_how_much_it_has_read) {
  const tcp_pair c = connect_tcp();
  const endable ctx;
  outcome o;
  std::size_t got = 0;
  start(o, [&](std::error_code& e) {
    std::array<std::byte, 5> room;
    got = c.server.read_exactly(room, ctx.get(), e);
  });
  c.client.write_all("abc");
  let_others_run();
  ctx.end();
  o.wait();
  EXPECT_EQ(o.error, context_errc::canceled);
  c.client.write_all("defgh");
  const std::string rest = read_exactly(c.server, 8 - got);
  EXPECT_EQ(rest, std::string("abcdefgh").substr(got));
  std::array<std::byte, 2> room;
  c.client.write_all("ij");
  c.server.read_exactly(room, context());
  EXPECT_EQ(room[1], std::byte{'j'});
}

GO_TEST(io_context, write_all_tells_how_much_it_has_written) {
  for (const bool is_bound : {false, true}) {
    const tcp_pair c = connect_tcp();
    const endable ctx;
    outcome o;
    std::size_t written = 0;
    if (is_bound) c.client.set_context(ctx.get());
    const std::vector<std::byte> bytes(64 << 20);  // more than both buffers can grow to
    start(o, [&](std::error_code& e) {
      written = is_bound ? c.client.write_all(bytes, e) : c.client.write_all(bytes, ctx.get(), e);
    });
    ctx.end();
    o.wait();
    EXPECT_EQ(o.error, context_errc::canceled);
    c.client.shutdown_write();
    EXPECT_EQ(sley_test::read_to_end(c.server).size(), written);
    EXPECT_LT(written, bytes.size());
  }
}

// It ends the wait for bytes, and the wait for room.
GO_TEST(io_context, ends_copies) {
  for (const bool waits_for_room : {false, true}) {
    const tcp_pair c = connect_tcp();
    const sley::os::pipe_ends pipe = sley::os::pipe();
    const auto zeros = sley::os::file::open("/dev/zero", O_RDONLY);
    const endable ctx;
    outcome o;
    std::uint64_t copied = 0;
    start(o, [&](std::error_code& e) {
      if (waits_for_room) {
        copied = sley::net::copy(zeros, c.client, UINT64_MAX, ctx.get(), e);
      } else {
        copied = sley::net::copy(pipe.reader, c.client, UINT64_MAX, ctx.get(), e);
      }
    });
    if (!waits_for_room) {
      pipe.writer.write_all("abc");
      EXPECT_EQ(read_exactly(c.server, 3), "abc");
    }
    ctx.end();
    o.wait();
    EXPECT_EQ(o.error, context_errc::canceled);
    std::error_code error;
    EXPECT_EQ(sley::net::copy(pipe.reader, c.client, 1, ctx.get(), error), 0U);
    EXPECT_EQ(error, context_errc::canceled);
    c.client.shutdown_write();
    const std::size_t rest = sley_test::read_to_end(c.server).size();
    EXPECT_EQ(copied, waits_for_room ? rest : 3U);
  }
}

GO_TEST(io_context, ends_sending_a_file) {
  const tcp_pair c = connect_tcp();
  c.client.set_write_buffer(16 << 10);
  c.server.set_read_buffer(16 << 10);
  const auto f = sley::os::file::open("/proc/self/exe", O_RDONLY);
  const endable ctx;
  outcome o;
  std::uint64_t sent = 0;
  start(o, [&](std::error_code& e) { sent = c.client.send_file(f, 0, f.size(), ctx.get(), e); });
  ctx.end();
  o.wait();
  EXPECT_EQ(o.error, context_errc::canceled);
  EXPECT_THROW(c.client.send_file(f, 0, 1, ctx.get()), std::system_error);
  c.client.shutdown_write();
  EXPECT_EQ(sley_test::read_to_end(c.server).size(), sent);
}

GO_TEST(io_context, nothing_is_opened_once_it_has_ended) {
  const endable ctx;
  ctx.end();
  std::error_code error;
  EXPECT_FALSE(sley::net::tcp_listener::listen("127.0.0.1:0", {}, ctx.get(), error).is_open());
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_FALSE(sley::net::udp_socket::bind("127.0.0.1:0", ctx.get(), error).is_open());
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_FALSE(sley::net::udp_socket::connect("127.0.0.1:9", ctx.get(), error).is_open());
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_THROW(sley::net::udp_socket::bind("127.0.0.1:0", ctx.get()), std::system_error);
  EXPECT_TRUE(sley::net::udp_socket::bind("127.0.0.1:0", context()).is_open());
}

// ---- bound to the object ----

GO_TEST(io_context, a_bound_one_ends_a_wait_and_all_that_follow) {
  for (const bool by_deadline : {false, true}) {
    for_each_wait([&](const io_wait& one) {
      const endable ctx(by_deadline);
      one.bind(ctx.get());
      outcome o;
      sley::wait_group group;
      group.go([&] { one.begin(o.error); });
      let_others_run();
      ctx.end();
      group.wait();
      EXPECT_EQ(o.error, ctx.code()) << one.name;
      EXPECT_EQ(error_of(one.begin), ctx.code()) << one.name;
      one.set_deadline(sley::time_point::max());  // a deadline changes nothing of it
      EXPECT_EQ(error_of(one.begin), ctx.code()) << one.name;
      one.set_deadline(sley_test::in(1h));
      EXPECT_EQ(error_of(one.begin), ctx.code()) << one.name;
      one.set_deadline(sley::time_point::min());
      EXPECT_EQ(error_of(one.begin), ctx.code()) << one.name;
      one.set_deadline(sley::time_point::max());
      one.bind({});
      outcome again;
      group.go([&] { one.begin(again.error); });
      one.let();
      group.wait();
      EXPECT_FALSE(again.error) << one.name << ": " << again.error.message();
    });
  }
}

GO_TEST(io_context, a_bound_one_that_has_ended_fails_all_at_once) {
  const endable ctx;
  ctx.end();
  for_each_wait([&](const io_wait& one) {
    one.bind(ctx.get());
    EXPECT_EQ(error_of(one.begin), context_errc::canceled) << one.name;
  });
}

// After cancel() has returned no operation begins, though no other goroutine has run since.
GO_TEST(io_context, no_operation_succeeds_after_cancel_has_returned) {
  for (int i = 0; i < rounds(200); ++i) {
    const tcp_pair c = connect_tcp();
    c.client.write_all("x");
    const auto [ctx, cancel] = sley::with_cancel({});
    c.server.set_context(ctx);
    c.client.set_context(ctx);
    cancel();
    ASSERT_EQ(read_error(c.server), context_errc::canceled);
    std::error_code error;
    EXPECT_EQ(c.client.write_all("y", error), 0U);
    ASSERT_EQ(error, context_errc::canceled);
    c.server.set_context({});
    c.client.set_context({});
    ASSERT_EQ(read_exactly(c.server, 1), "x");
  }
}

GO_TEST(io_context, a_bound_one_ends_both_sides_and_the_line_behind_them) {
  const tcp_pair c = connect_tcp();
  const endable ctx;
  const std::vector<std::byte> bytes(64 << 20);
  outcome outcomes[4];
  for (int i = 0; i < 4; ++i) {
    start(outcomes[i], [&, i](std::error_code& e) {
      std::byte b{};
      if (i % 2 == 0) {
        c.server.read_some({&b, 1}, e);
      } else {
        c.server.write_all(bytes, e);
      }
    });
  }
  c.server.set_context(ctx.get());
  ctx.end();
  for (const outcome& o : outcomes) {
    o.wait();
    EXPECT_EQ(o.error, context_errc::canceled);
  }
}

GO_TEST(io_context, the_last_bound_one_counts) {
  const tcp_pair c = connect_tcp();
  const endable first, second, third;
  c.server.set_context(first.get());
  outcome o;
  start(o, [&](std::error_code& e) { e = read_error(c.server); });
  c.server.set_context(second.get());
  first.end();
  let_others_run();
  EXPECT_FALSE(o.is_over);
  second.end();
  o.wait();
  EXPECT_EQ(o.error, context_errc::canceled);
  c.client.write_all("x");
  c.server.set_context(third.get());
  EXPECT_EQ(read_exactly(c.server, 1), "x");
  c.server.set_context({});
  third.end();
  c.client.write_all("y");
  EXPECT_EQ(read_exactly(c.server, 1), "y");
}

GO_TEST(io_context, the_error_tells_a_deadline_from_a_context) {
  const tcp_pair c = connect_tcp();
  const auto [ctx, cancel] = sley::with_timeout({}, 20ms);
  c.server.set_context(ctx);
  c.server.set_deadline(sley_test::in(1ms));
  EXPECT_EQ(read_error(c.server), std::make_error_code(std::errc::timed_out));
  c.server.set_deadline(sley::time_point::max());
  EXPECT_EQ(read_error(c.server), context_errc::deadline_exceeded);
  c.server.set_deadline(sley_test::in(-1ms));
  EXPECT_EQ(read_error(c.server), context_errc::deadline_exceeded);
  c.server.set_context({});
  EXPECT_EQ(read_error(c.server), std::make_error_code(std::errc::timed_out));
  EXPECT_EQ(ctx.error(), std::errc::timed_out);  // of that kind all the same
}

GO_TEST(io_context, closing_counts_more_than_a_context) {
  for_each_wait([](const io_wait& one) {
    const endable ctx;
    one.bind(ctx.get());
    outcome o;
    start(o, one.begin);
    one.close();
    o.wait();
    EXPECT_EQ(o.error, std::make_error_code(std::errc::operation_canceled)) << one.name;
    ctx.end();
    one.bind(ctx.get());
    EXPECT_EQ(error_of(one.begin), std::make_error_code(std::errc::operation_canceled)) << one.name;
  });
}

// Records are used again: what is left of an old binding must not touch the new object.
GO_TEST(io_context, a_closed_object_leaves_no_binding_behind) {
  const endable ctx;
  for (int i = 0; i < 50; ++i) {
    tcp_pair c = connect_tcp();
    c.client.set_context(ctx.get());
    c.server.set_context(ctx.get());
    if (i % 2 == 0) c.client.close();
  }
  std::vector<tcp_pair> later;
  for (int i = 0; i < 50; ++i) later.push_back(connect_tcp());
  ctx.end();
  for (const tcp_pair& c : later) {
    c.client.write_all("x");
    EXPECT_EQ(read_exactly(c.server, 1), "x");
  }
}

GO_TEST(io_context, a_binding_moves_with_its_object) {
  tcp_pair c = connect_tcp();
  const endable ctx;
  c.server.set_context(ctx.get());
  const sley::net::tcp_stream moved = std::move(c.server);
  outcome o;
  start(o, [&](std::error_code& e) { e = read_error(moved); });
  ctx.end();
  o.wait();
  EXPECT_EQ(o.error, context_errc::canceled);
  const sley::net::tcp_stream nothing;
  nothing.set_context(ctx.get());
  EXPECT_EQ(read_error(nothing), std::errc::bad_file_descriptor);
}

// Layers above a stream wait with its context, and what they have read by then is theirs.
GO_TEST(io_context, a_bound_one_ends_reading_a_line_and_loses_none_of_it) {
  const tcp_pair c = connect_tcp();
  sley::buffered_reader in(c.server);
  c.client.write_all("ab");
  const endable ctx;
  c.server.set_context(ctx.get());
  std::string line;
  outcome o;
  start(o, [&](std::error_code& e) { EXPECT_FALSE(in.read_line(line, e)); });
  ctx.end();
  o.wait();
  EXPECT_EQ(o.error, context_errc::canceled);
  c.server.set_context({});
  c.client.write_all("c\n");
  EXPECT_TRUE(in.read_line(line));
  EXPECT_EQ(line, "abc");
}

// A context that only the object holds can still end by its deadline.
GO_TEST(io_context, the_object_holds_its_context) {
  const tcp_pair c = connect_tcp();
  c.server.set_context(sley::with_timeout({}, 5ms).first);
  EXPECT_EQ(read_error(c.server), context_errc::deadline_exceeded);
  const sley::os::pipe_ends p = sley::os::pipe();
  p.reader.set_context(sley::with_value(sley::with_timeout({}, 5ms).first, "key", 1));
  EXPECT_EQ(read_error(p.reader), context_errc::deadline_exceeded);
}

GO_TEST(io_context, a_regular_file_fails_from_then_on) {
  const auto f = sley::os::file::open("/proc/self/exe", O_RDONLY);
  const endable ctx;
  f.set_context(ctx.get());
  std::array<std::byte, 8> room;
  EXPECT_EQ(f.read_some(room), 8U);
  ctx.end();
  std::error_code error;
  EXPECT_EQ(f.read_some(room, error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(f.read_at(room, 0, error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(f.read_some(room, ctx.get(), error), 0U);
  f.set_context({});
  EXPECT_EQ(f.read_at(room, 0), 8U);
}

GO_TEST(io_context, an_argument_counts_beside_a_bound_one) {
  for (const bool ends_bound : {false, true}) {
    const tcp_pair c = connect_tcp();
    const endable bound, given;
    c.server.set_context(bound.get());
    outcome o;
    start(o, [&](std::error_code& e) {
      std::byte b{};
      c.server.read_some({&b, 1}, given.get(), e);
    });
    (ends_bound ? bound : given).end();
    o.wait();
    EXPECT_EQ(o.error, context_errc::canceled);
  }
}

// A thread that the runtime did not make waits as a thread.
FOREIGN_TEST(io_context, ends_the_wait_of_a_foreign_thread) {
  tcp_pair c;
  std::pair<context, sley::cancel_function> made, given;
  sley::run([&] {
    c = connect_tcp();
    made = sley::with_timeout({}, 20ms);
    given = sley::with_timeout({}, 20ms);
  });
  std::byte b{};
  std::error_code error;
  c.server.read_some({&b, 1}, given.first, error);
  EXPECT_EQ(error, context_errc::deadline_exceeded);
  c.server.set_context(made.first);
  EXPECT_EQ(read_error(c.server), context_errc::deadline_exceeded);
}
