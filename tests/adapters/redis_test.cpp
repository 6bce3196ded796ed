// <sley/redis.hpp> with a real server.
#include "support/harness.hpp"
#include "support/memory.hpp"

#include "adapters/redis_server.hpp"

#include <sley/redis.hpp>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace redis = sley::redis;
using redis::text;
using sley::context;
using sley::context_errc;
using sley_test::go_until_parked;
using sley_test::redis_server;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

redis::connection connect_to(const redis_server& server) {
  return redis::connection::connect({.address = server.socket});
}

std::string said_of(redis::connection& c, redis::words command) {
  try {
    c.command(command);
  } catch (const redis::error_reply& e) {
    return e.said();
  }
  return "no error";
}

}  // namespace

GO_TEST(redis, replies_are_of_the_type_of_hiredis) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  redis::connection c = connect_to(server);
  EXPECT_EQ(text(*c.command({"SET", "key", "value"})), "OK");
  EXPECT_EQ(c.command({"SET", "key", "value"})->type, REDIS_REPLY_STATUS);
  EXPECT_EQ(text(*c.command({"GET", "key"})), "value");
  EXPECT_EQ(c.command({"GET", "none"})->type, REDIS_REPLY_NIL);
  EXPECT_EQ(text(*c.command({"GET", "none"})), "");
  EXPECT_EQ(c.command({"INCRBY", "number", "42"})->integer, 42);
  c.command({"RPUSH", "list", "a", "b"});
  const redis::reply list = c.command({"LRANGE", "list", "0", "-1"});
  ASSERT_EQ(list->type, REDIS_REPLY_ARRAY);
  ASSERT_EQ(list->elements, 2u);
  EXPECT_EQ(text(*list->element[1]), "b");
}

GO_TEST(redis, a_reply_outlives_its_connection) {
  SKIP_WITHOUT_REDIS();
  redis_server server;
  redis::connection c = connect_to(server);
  const redis::reply r = c.command({"ECHO", "value"});
  c = {};
  server.stop();
  EXPECT_EQ(text(*r), "value");
}

GO_TEST(redis, words_may_have_any_bytes_and_any_length) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  redis::connection c = connect_to(server);
  for (const std::string& value :
       {std::string(), std::string("a\0\r\n%s b"sv), std::string(3'000'000, 'x')}) {
    c.command({"SET", value, value});
    EXPECT_TRUE(text(*c.command({"GET", value})) == value) << value.size() << " bytes";
  }
}

GO_TEST(redis, an_error_reply_says_what_the_server_said_and_the_connection_goes_on) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  redis::connection c = connect_to(server);
  c.command({"SET", "key", "value"});
  EXPECT_EQ(said_of(c, {"INCR", "key"}), "ERR value is not an integer or out of range");
  std::error_code error;
  const redis::reply r = c.command({"LPUSH", "key", "a"}, {}, error);
  EXPECT_FALSE(error);
  EXPECT_EQ(r->type, REDIS_REPLY_ERROR);
  EXPECT_TRUE(text(*r).starts_with("WRONGTYPE ")) << text(*r);
  EXPECT_EQ(text(*c.command({"GET", "key"})), "value");
}

GO_TEST(redis, connecting_authenticates_and_selects) {
  SKIP_WITHOUT_REDIS();
  const redis_server server(
      {"--requirepass", "secret", "--user", "bob", "on", ">bobs", "~*", "+@all"});
  redis::connection c = connect_to(server);
  EXPECT_TRUE(said_of(c, {"GET", "key"}).starts_with("NOAUTH "));
  redis::connect_options options{.address = server.socket, .password = "wrong"};
  try {
    redis::connection::connect(options);
    ADD_FAILURE() << "the password is wrong";
  } catch (const redis::error_reply& e) {
    EXPECT_TRUE(e.said().starts_with("WRONGPASS ")) << e.said();
    EXPECT_EQ(std::string(e.what()).find("wrong\""), std::string::npos) << e.what();
  }
  options.password = "secret";
  options.database = 3;
  c = redis::connection::connect(options);
  c.command({"SET", "key", "value"});
  EXPECT_EQ(text(*c.command({"INFO", "keyspace"})).find("db0"), std::string::npos);
  options = {.address = server.socket, .user = "bob", .password = "bobs", .database = 3};
  c = redis::connection::connect(options);
  EXPECT_EQ(text(*c.command({"ACL", "WHOAMI"})), "bob");
  EXPECT_EQ(text(*c.command({"GET", "key"})), "value");
}

GO_TEST(redis, a_pipeline_brings_all_answers_in_order_errors_among_them) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  redis::connection c = connect_to(server);
  redis::pipeline p;
  p.add({"SET", "a", "1"}).add({"LPUSH", "a", "2"}).add({"GET", "a"});
  for (int i = 0; i < 2; ++i) {  // it can be run again
    const std::vector<redis::reply> replies = c.run(p);
    ASSERT_EQ(replies.size(), 3u);
    EXPECT_EQ(replies[0]->type, REDIS_REPLY_STATUS);
    EXPECT_EQ(replies[1]->type, REDIS_REPLY_ERROR);
    EXPECT_EQ(text(*replies[2]), "1");
  }
  p.clear();
  EXPECT_EQ(p.size(), 0u);
  EXPECT_TRUE(c.run(p).empty());

  const std::string padding(1000, 'p');
  for (int i = 0; i < 2000; ++i) p.add({"ECHO", std::to_string(i) + padding});
  const std::vector<redis::reply> replies = c.run(p);
  ASSERT_EQ(replies.size(), 2000u);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    ASSERT_TRUE(text(*replies[i]) == std::to_string(i) + padding) << i;
  }
}

GO_TEST(redis, a_context_ends_a_command_that_waits_and_the_connection) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  redis::connection c = connect_to(server);
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  std::error_code error;
  sley::wait_group waiting;
  waiting.add(1);
  go_until_parked([&] {
    c.command({"BLPOP", "empty", "0"}, ctx, error);
    waiting.done();
  });
  cancel();
  waiting.wait();
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_FALSE(c.is_open());
  c.command({"PING"}, {}, error);
  EXPECT_EQ(error, std::errc::not_connected);
}

GO_TEST(redis, a_subscription_is_a_channel_of_messages) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  redis::connection publisher = connect_to(server);
  redis::subscription s(connect_to(server), {.channels = {"news", "jobs"}, .patterns = {"n*"}});
  EXPECT_EQ(publisher.command({"PUBLISH", "jobs", "one"})->integer, 1);
  EXPECT_EQ(publisher.command({"PUBLISH", "news", "two"})->integer, 2);
  const auto one = s.messages().receive();
  EXPECT_EQ(one->channel + one->payload + one->pattern, "jobsone");
  std::string both;
  for (int i = 0; i < 2; ++i) {
    const auto m = s.messages().receive();
    both += m->channel + m->payload + m->pattern + " ";
  }
  EXPECT_TRUE(both == "newstwo newstwon* " || both == "newstwon* newstwo ") << both;
  s.close();
  EXPECT_FALSE(s.messages().receive());
  EXPECT_FALSE(s.error());
}

GO_TEST(redis, a_subscription_waits_while_its_channel_is_full_and_loses_nothing) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  redis::connection publisher = connect_to(server);
  redis::subscription s(connect_to(server), {.channels = {"news"}, .capacity = 0});
  redis::pipeline p;
  for (int i = 0; i < 1000; ++i) p.add({"PUBLISH", "news", std::to_string(i)});
  publisher.run(p);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(s.messages().receive()->payload, std::to_string(i));
  publisher.run(p);  // its messages are dropped with the subscription, which waits to send one
}

GO_TEST(redis, a_subscription_ends_with_its_server_and_says_why) {
  SKIP_WITHOUT_REDIS();
  redis_server server;
  redis::subscription s(connect_to(server), {.channels = {"news"}});
  redis::subscription& same = s;
  s = std::move(same);
  redis::message none;
  EXPECT_EQ(s.messages().try_receive(none), sley::chan_status::would_block);  // it goes on
  server.stop();
  EXPECT_FALSE(s.messages().receive());
  EXPECT_TRUE(s.error());
  redis::subscription moved = std::move(s);
  EXPECT_TRUE(moved.error());
  EXPECT_FALSE(s.error());
}

GO_TEST(redis, a_pool_replaces_connections_that_the_server_has_closed) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  sley::pool<redis::connection> pool(
      redis::pooled({.address = server.socket, .ping_after = 0s, .ping_limit = 100s}, {.max = 2}));
  redis::connection admin = connect_to(server);
  const auto id = pool.acquire()->command({"CLIENT", "ID"})->integer;
  EXPECT_EQ(pool.acquire()->command({"CLIENT", "ID"})->integer, id);
  admin.command({"CLIENT", "KILL", "ID", std::to_string(id)});
  EXPECT_GT(pool.acquire()->command({"CLIENT", "ID"})->integer, id);
}

GO_TEST(redis, a_pool_serves_many_goroutines) {
  SKIP_WITHOUT_REDIS();
  const redis_server server;
  sley::pool<redis::connection> pool(redis::pooled({.address = server.socket}, {.max = 4}));
  sley::wait_group all;
  for (int i = 0; i < 32; ++i) {
    all.go([&] {
      for (int j = 0; j < 20; ++j) pool.acquire()->command({"INCR", "visits"});
    });
  }
  all.wait();
  EXPECT_EQ(text(*pool.acquire()->command({"GET", "visits"})), "640");
}

// Half of the goroutines wait for the server, the others for a connection.
GO_TEST(redis, the_end_of_the_server_ends_every_wait_and_a_pool_recovers) {
  SKIP_WITHOUT_REDIS();
  constexpr int connections = 50;
  redis_server server;
  const int descriptors = sley_test::open_descriptors();
  {
    sley::pool<redis::connection> pool(
        redis::pooled({.address = server.socket, .ping_limit = 100s}, {.max = connections}));
    {
      std::vector<sley::pool<redis::connection>::handle> all;
      for (int i = 0; i < connections; ++i) all.push_back(pool.acquire());
    }
    std::atomic<int> errors = 0;
    sley::wait_group waiting;
    for (int i = 0; i < 2 * connections; ++i) {
      waiting.add(1);
      go_until_parked([&] {
        try {
          pool.acquire()->command({"BLPOP", "empty", "0"});
        } catch (const std::system_error&) {
          ++errors;
        }
        waiting.done();
      });
    }
    server.stop();
    waiting.wait();
    EXPECT_EQ(errors, 2 * connections);
    EXPECT_EQ(pool.in_use(), 0u);
    server.start();
    EXPECT_EQ(text(*pool.acquire()->command({"PING"})), "PONG");
  }
  EXPECT_TRUE(sley_test::eventually([&] { return sley_test::open_descriptors() <= descriptors; }))
      << sley_test::open_descriptors() << " instead of " << descriptors;
}
