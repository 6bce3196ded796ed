// <sley/nats.hpp> with a real server.
#include "support/harness.hpp"

#include "adapters/nats_server.hpp"

#include <sley/nats.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace nats = sley::nats;
using nats::data;
using sley::context;
using sley::context_errc;
using sley_test::go_until_parked;
using sley_test::nats_server;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

// Answers each request with its data twice, until the subscription ends.
void echo(nats::connection& c, const nats::subscription& requests) {
  for (const nats::message& m : requests.messages()) {
    c.publish(nats::reply_subject(*m), std::string(data(*m)) + std::string(data(*m)));
  }
}

// What has come to the server is in the connection's subscriptions when it is closed.
void end(nats::connection& c) {
  c.flush();
  c.close();
}

std::vector<std::string> all_of(const nats::subscription& s) {
  std::vector<std::string> found;
  for (const nats::message& m : s.messages()) found.emplace_back(data(*m));
  return found;
}

}  // namespace

GO_TEST(nats, a_subscription_is_a_channel_of_messages_in_order) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  nats::connection other = server.connect();
  const nats::subscription s(other, {.subject = "orders.*"});
  for (int i = 0; i < 1000; ++i) c.publish("orders.new", std::to_string(i));
  c.publish("prices.new", "not for it");
  c.publish("orders.old", "last");
  for (int i = 0; i < 1000; ++i) {
    const auto m = s.messages().receive();
    ASSERT_EQ(data(**m), std::to_string(i));
    ASSERT_EQ(nats::subject(**m), "orders.new");
    ASSERT_EQ(nats::reply_subject(**m), "");
  }
  EXPECT_EQ(data(**s.messages().receive()), "last");
  EXPECT_EQ(s.dropped(), 0u);
}

GO_TEST(nats, data_may_have_any_bytes_and_be_large) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  const nats::subscription s(c, {.subject = "a"});
  for (const std::string& sent : {""s, "a\0\r\nPUB b 1\r\n"s, std::string(1'000'000, 'x')}) {
    c.publish("a", sent);
    EXPECT_TRUE(data(**s.messages().receive()) == sent) << sent.size() << " bytes";
  }
  std::error_code error;
  c.publish("a", std::string(2'000'000, 'x'), {}, error);
  EXPECT_EQ(error, nats::make_error_code(NATS_MAX_PAYLOAD));
  c.publish("a", "still open");
  EXPECT_EQ(data(**s.messages().receive()), "still open");
}

GO_TEST(nats, messages_may_have_headers) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  const nats::subscription s(c, {.subject = "a"});
  natsMsg* made = nullptr;
  ASSERT_EQ(natsMsg_Create(&made, "a", "answers", "data", 4), NATS_OK);
  const nats::message sent(made);
  natsMsgHeader_Set(made, "Colour", "red");
  c.publish(sent);
  const nats::message m = std::move(*s.messages().receive());
  const char* value = nullptr;
  ASSERT_EQ(natsMsgHeader_Get(m.get(), "Colour", &value), NATS_OK);
  EXPECT_STREQ(value, "red");
  EXPECT_EQ(data(*m), "data");
  EXPECT_EQ(nats::reply_subject(*m), "answers");
}

GO_TEST(nats, one_subscription_of_a_queue_gets_each_message) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  nats::connection other = server.connect();
  const nats::subscription first(c, {.subject = "jobs", .queue = "workers"});
  const nats::subscription second(other, {.subject = "jobs", .queue = "workers"});
  const nats::subscription watcher(other, {.subject = "jobs"});
  for (int i = 0; i < 500; ++i) c.publish("jobs", std::to_string(i));
  c.flush();
  end(c);
  end(other);
  EXPECT_EQ(all_of(first).size() + all_of(second).size(), 500u);
  EXPECT_EQ(all_of(watcher).size(), 500u);
}

GO_TEST(nats, many_goroutines_request_over_one_connection) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  nats::connection responder = server.connect();
  nats::subscription requests(responder, {.subject = "double"});
  sley::wait_group echoing;
  echoing.go([&] { echo(responder, requests); });
  sley::wait_group all;
  for (int i = 0; i < 32; ++i) {
    all.go([&, text = std::to_string(i)] {
      for (int j = 0; j < 20; ++j) EXPECT_EQ(data(*c.request("double", text)), text + text);
    });
  }
  all.wait();
  requests.close();
  echoing.wait();
}

GO_TEST(nats, a_request_that_nothing_answers_ends_at_once) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  try {
    c.request("prices", "secret data");
    ADD_FAILURE() << "nothing is subscribed to it";
  } catch (const nats::error& e) {
    EXPECT_EQ(e.code(), nats::make_error_code(NATS_NO_RESPONDERS));
    EXPECT_NE(std::string(e.what()).find("request \"prices\": "), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find("secret"), std::string::npos) << e.what();
  }
}

GO_TEST(nats, a_context_ends_a_request_and_not_the_connection) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  const nats::subscription requests(c, {.subject = "double"});
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  std::error_code error;
  sley::wait_group waiting;
  waiting.add(1);
  go_until_parked([&] {
    EXPECT_FALSE(c.request("double", "first", ctx, error));
    waiting.done();
  });
  const nats::message late = std::move(*requests.messages().receive());
  cancel();
  waiting.wait();
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_TRUE(c.is_open());
  c.publish(nats::reply_subject(*late), "too late");
  sley::wait_group echoing;
  echoing.go([&] {
    const auto m = requests.messages().receive();
    c.publish(nats::reply_subject(**m), "in time");
  });
  EXPECT_EQ(data(*c.request("double", "second")), "in time");
  echoing.wait();

  c.request("double", "never sent", ctx, error);
  EXPECT_EQ(error, context_errc::canceled);
  c.publish("double", "never sent", ctx, error);
  EXPECT_EQ(error, context_errc::canceled);
  c.flush(ctx, error);
  EXPECT_EQ(error, context_errc::canceled);
  c.flush();
  nats::message none;
  EXPECT_EQ(requests.messages().try_receive(none), sley::chan_status::would_block);
}

GO_TEST(nats, a_publisher_parks_while_much_waits_to_be_sent_and_nothing_is_lost) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  nats::connection other = server.connect();
  const nats::subscription s(other, {.subject = "a", .capacity = 0, .pending = SIZE_MAX});
  constexpr std::size_t count = 200;
  sley::wait_group publishing;
  publishing.go([&] {
    const std::string padding(100'000, 'p');
    for (std::size_t i = 0; i < count; ++i) c.publish("a", std::to_string(i) + padding);
  });
  for (std::size_t i = 0; i < count; ++i) {
    const auto m = s.messages().receive();
    ASSERT_EQ(data(**m).substr(0, data(**m).find('p')), std::to_string(i));
  }
  publishing.wait();
  EXPECT_EQ(s.dropped(), 0u);
}

GO_TEST(nats, a_slow_subscription_drops_and_counts_and_holds_up_no_other) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  const nats::subscription slow(c, {.subject = "a", .capacity = 1, .pending = 3});
  const nats::subscription fast(c, {.subject = "a", .capacity = 200});
  for (int i = 0; i < 100; ++i) c.publish("a", std::to_string(i));
  end(c);
  EXPECT_EQ(all_of(fast).size(), 100u);
  const std::size_t received = all_of(slow).size();
  EXPECT_GE(received, 3u);
  EXPECT_GT(slow.dropped(), 0u);
  EXPECT_EQ(received + slow.dropped(), 100u);
}

GO_TEST(nats, closing_a_connection_sends_published_messages) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection other = server.connect();
  const nats::subscription s(other, {.subject = "a"});
  for (int i = 0; i < 20; ++i) {
    nats::connection c = server.connect();
    c.publish("a", std::to_string(i));
    c.close();
    EXPECT_EQ(data(**s.messages().receive()), std::to_string(i));
  }
}

GO_TEST(nats, a_subscription_outlives_its_connection_and_can_be_moved) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  std::optional<nats::connection> c = server.connect();
  nats::subscription s(*c, {.subject = "a"});
  c->publish("a", "before");
  c->flush();
  c.reset();
  nats::subscription moved = std::move(s);
  EXPECT_EQ(all_of(moved), std::vector<std::string>{"before"});
  EXPECT_EQ(moved.error(), nats::make_error_code(NATS_CONNECTION_CLOSED));
  EXPECT_FALSE(s.error());
  EXPECT_EQ(s.dropped(), 0u);
  s = std::move(moved);
  EXPECT_TRUE(s.error());
}

FOREIGN_TEST(nats, foreign_threads_use_it_too) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  nats::subscription requests(c, {.subject = "double"});
  sley::wait_group echoing;
  echoing.go([&] { echo(c, requests); });
  EXPECT_EQ(data(*c.request("double", "a")), "aa");
  requests.close();
  echoing.wait();
}
