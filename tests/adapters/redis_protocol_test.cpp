// <sley/redis.hpp> with a peer that does what no good server does, or not when a test wants it.
#include "support/harness.hpp"

#include "support/connections.hpp"
#include "support/short_context.hpp"

#include <sley/redis.hpp>

#include <sys/socket.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace net = sley::net;
namespace redis = sley::redis;
using redis::text;
using sley::context;
using sley::context_errc;
using sley_test::go_until_parked;
using sley_test::random_source;
using sley_test::read_exactly;
using sley_test::read_to_end;
using sley_test::rounds;
using sley_test::short_context;
using namespace std::string_view_literals;

namespace {

constexpr std::string_view ping = "*1\r\n$4\r\nPING\r\n";

// A connection, and the other end of its stream.
struct connected {
  connected() {
    auto [ours, theirs] = net::unix_stream::pair();
    client = redis::connection(std::move(ours));
    peer = std::move(theirs);
  }
  std::error_code error_of_ping(const context& ctx = {}) {
    std::error_code error;
    client.command({"PING"}, ctx, error);
    return error;
  }

  redis::connection client;
  net::unix_stream peer;
};

redis::pipeline pings(int count, std::string_view argument = {}) {
  redis::pipeline p;
  for (int i = 0; i < count; ++i) {
    argument.empty() ? p.add({"PING"}) : p.add({"PING", argument});
  }
  return p;
}

// Both these commands and their answers are more than the sockets take.
constexpr int many = 1000;
const std::string long_text(1000, 'a');

}  // namespace

GO_TEST(redis_protocol, an_answer_may_come_in_single_bytes) {
  connected c;
  sley::wait_group answering;
  answering.go([&] {
    EXPECT_EQ(read_exactly(c.peer, ping.size()), ping);
    for (const char byte : "*2\r\n$3\r\na\0b\r\n:12\r\n"sv) {
      c.peer.write_all(std::string_view(&byte, 1));
      sley::this_goroutine::yield();
    }
  });
  const redis::reply r = c.client.command({"PING"});
  answering.wait();
  EXPECT_EQ(text(*r->element[0]), "a\0b"sv);
  EXPECT_EQ(r->element[1]->integer, 12);
}

GO_TEST(redis_protocol, an_ended_context_sends_nothing_and_breaks_nothing) {
  connected c;
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  cancel();
  EXPECT_EQ(c.error_of_ping(ctx), context_errc::canceled);
  std::error_code error;
  c.client.run(pings(2), ctx, error);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_TRUE(c.client.is_open());
  c.peer.write_all("+PONG\r\n");
  EXPECT_EQ(text(*c.client.command({"PING"})), "PONG");
  EXPECT_EQ(read_exactly(c.peer, ping.size()), ping);
}

GO_TEST(redis_protocol, a_context_that_ends_in_the_middle_closes_the_connection) {
  connected c;
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  std::error_code error;
  sley::wait_group waiting;
  waiting.add(1);
  go_until_parked([&] {
    error = c.error_of_ping(ctx);
    waiting.done();
  });
  cancel();
  waiting.wait();
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_FALSE(c.client.is_open());
  EXPECT_EQ(c.error_of_ping(), std::errc::not_connected);
  EXPECT_EQ(read_to_end(c.peer), ping);  // so the peer sees the end
}

GO_TEST(redis_protocol, a_second_goroutine_is_refused_and_the_first_goes_on) {
  connected c;
  redis::reply r;
  sley::wait_group waiting;
  waiting.add(1);
  go_until_parked([&] {
    r = c.client.command({"PING"});
    waiting.done();
  });
  EXPECT_THROW(c.client.command({"PING"}), std::logic_error);
  EXPECT_THROW(c.client.run(pings(1)), std::logic_error);
  c.peer.write_all("+PONG\r\n");
  waiting.wait();
  EXPECT_EQ(text(*r), "PONG");
  EXPECT_EQ(read_exactly(c.peer, ping.size()), ping);
}

GO_TEST(redis_protocol, an_error_that_breaks_a_connection_is_told_once) {
  const auto broken_by = [](const std::function<void(net::unix_stream&)>& peer) {
    connected c;
    peer(c.peer);
    const std::error_code error = c.error_of_ping();
    EXPECT_FALSE(c.client.is_open());
    EXPECT_EQ(c.error_of_ping(), std::errc::not_connected);
    return error;
  };
  EXPECT_EQ(broken_by([](auto& peer) { peer.write_all("HTTP/1.1 400 Bad Request\r\n\r\n"); }),
            std::errc::protocol_error);
  EXPECT_EQ(broken_by([](auto& peer) {
              peer.write_all("$5\r\nab");
              peer.shutdown_write();
            }),
            std::errc::connection_aborted);
  EXPECT_EQ(broken_by([](auto& peer) { peer.close(); }), std::errc::broken_pipe);

  redis::connection nothing;
  EXPECT_FALSE(nothing.is_open());
  std::error_code error;
  EXPECT_FALSE(nothing.command({"PING"}, {}, error));
  EXPECT_EQ(error, std::errc::not_connected);
  try {
    nothing.command({"AUTH", "secret"});
    ADD_FAILURE() << "it is connected to nothing";
  } catch (const std::system_error& e) {
    EXPECT_EQ(std::string(e.what()).find("secret"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("AUTH"), std::string::npos) << e.what();
  }
}

GO_TEST(redis_protocol, commands_without_one_answer_are_refused) {
  connected c;
  redis::pipeline p;
  for (const std::vector<std::string_view>& command : {std::vector<std::string_view>{},
                                                       {""},
                                                       {"SUBSCRIBE", "a"},
                                                       {"pSubscribe", "a"},
                                                       {"monitor"},
                                                       {"HELLO", "3"},
                                                       {"client", "Reply", "off"}}) {
    const std::span<const std::string_view> words(command);
    EXPECT_THROW(c.client.command(words), std::invalid_argument);
    EXPECT_THROW(p.add(words), std::invalid_argument);
  }
  EXPECT_EQ(p.size(), 0u);
  p.add({"CLIENT", "REPLYING"});
  EXPECT_EQ(p.size(), 1u);
}

// A peer that reads no command before its last answer is read: a client that wrote everything
// first would wait for ever.
GO_TEST(redis_protocol, a_large_pipeline_is_written_while_its_answers_are_read) {
  connected c;
  const std::string answer = "$1000\r\n" + long_text + "\r\n";
  const std::string command = "*2\r\n$4\r\nPING\r\n" + answer;
  sley::wait_group answering;
  answering.go([&] {
    for (int i = 0; i < many; ++i) {
      EXPECT_TRUE(read_exactly(c.peer, command.size()) == command) << i;
      c.peer.write_all(answer);
    }
  });
  const std::vector<redis::reply> replies = c.client.run(pings(many, long_text));
  answering.wait();
  EXPECT_EQ(replies.size(), std::size_t{many});
}

GO_TEST(redis_protocol, a_large_pipeline_that_cannot_be_written_fails) {
  connected c;
  ASSERT_EQ(::shutdown(c.peer.native_handle(), SHUT_RD), 0);  // and never closes
  std::error_code error;
  EXPECT_TRUE(c.client.run(pings(many, long_text), {}, error).empty());
  EXPECT_EQ(error, std::errc::broken_pipe);
  EXPECT_FALSE(c.client.is_open());
}

GO_TEST(redis_protocol, a_pipeline_returns_the_answers_that_came_before_its_error) {
  connected c;
  c.peer.write_all("+PONG\r\n+PONG\r\n");
  c.peer.shutdown_write();
  std::error_code error;
  EXPECT_EQ(c.client.run(pings(3), {}, error).size(), 2u);
  EXPECT_EQ(error, std::errc::connection_aborted);
}

GO_TEST(redis_protocol, messages_between_confirmations_are_not_lost) {
  connected c;
  c.peer.write_all(
      "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
      "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$5\r\nearly\r\n"
      "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
      "*3\r\n$7\r\nmessage\r\n$1\r\nb\r\n$4\r\nlate\r\n");
  const redis::subscription s(std::move(c.client), {.channels = {"a", "b"}});
  EXPECT_EQ(s.messages().receive()->payload, "early");
  EXPECT_EQ(s.messages().receive()->payload, "late");
}

GO_TEST(redis_protocol, a_subscription_that_is_refused_throws) {
  connected c;
  c.peer.write_all("-NOPERM no\r\n");
  EXPECT_THROW(redis::subscription(std::move(c.client), {.channels = {"a"}}), redis::error_reply);
  EXPECT_THROW(redis::subscription(redis::connection(), {.channels = {"a"}}), std::system_error);
  EXPECT_THROW(redis::subscription(redis::connection(), {}), std::invalid_argument);
}

// Contexts that end at any moment: a connection is in step afterwards, or closed.
GO_TEST(redis_protocol, no_context_leaves_a_connection_out_of_step) {
  random_source random;
  for (int i = 0; i < rounds(1000); ++i) {
    connected c;
    sley::wait_group answering;
    answering.go([&] {
      std::error_code error;
      std::byte bytes[64];
      while (c.peer.read_some(bytes, error) > 0 && !error) c.peer.write_all(":7\r\n", error);
    });
    {
      const short_context ctx(random);
      std::error_code error;
      const redis::reply r = c.client.command({"PING"}, ctx.get(), error);
      EXPECT_EQ(error.value() == 0, r != nullptr);
      const bool is_open = c.client.is_open();
      EXPECT_TRUE(is_open || error);
      if (is_open) {
        EXPECT_EQ(c.client.command({"PING"})->integer, 7);
      }
    }
    c.client = redis::connection();
    answering.wait();
  }
}
