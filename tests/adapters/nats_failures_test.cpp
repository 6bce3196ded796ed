// <sley/nats.hpp>: refusals, servers that die or stand still, and misuse.
#include "support/harness.hpp"

#include "adapters/nats_server.hpp"
#include "support/memory.hpp"

#include <sley/nats.hpp>
#include <sley/net.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace nats = sley::nats;
namespace net = sley::net;
using nats::data;
using sley::context;
using sley::context_errc;
using sley_test::go_until_parked;
using sley_test::nats_server;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

const std::error_code closed = nats::make_error_code(NATS_CONNECTION_CLOSED);
const std::error_code not_permitted = nats::make_error_code(NATS_NOT_PERMITTED);

// Bob may do all but a little, and Eve may publish to one subject and nothing else.
const std::string users = R"(authorization { users = [
  {user: bob, password: bobs, permissions: {publish: {deny: ["secret.>"]},
                                            subscribe: {deny: ["secret.>", "a queue-group"]}}},
  {user: eve, password: eves, permissions: {publish: ["open"], subscribe: {deny: [">"]}}},
  {user: ann, password: anns, permissions: {publish: {deny: ["_INBOX.>"]}}}
]})";

std::string said_of(auto f) {
  try {
    f();
  } catch (const nats::error& e) {
    return e.said();
  }
  return "no error";
}

std::error_code error_of(auto f) {
  try {
    f();
  } catch (const nats::error& e) {
    return e.code();
  }
  return {};
}

// Also a connection to nothing is closed.
void expect_closed(nats::connection& c) {
  EXPECT_FALSE(c.is_open());
  EXPECT_EQ(error_of([&] { c.publish("a", ""); }), closed);
  EXPECT_EQ(error_of([&] { c.request("a", ""); }), closed);
  EXPECT_EQ(error_of([&] { c.flush(); }), closed);
  EXPECT_EQ(error_of([&] { nats::subscription(c, {.subject = "a"}); }), closed);
}

void expect_at_most(int descriptors) {
  EXPECT_TRUE(sley_test::eventually([&] { return sley_test::open_descriptors() <= descriptors; }))
      << sley_test::open_descriptors() << " instead of " << descriptors;
}

// A port that is taken, where nothing listens.
class unused_port {
 public:
  unused_port() {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* const any = reinterpret_cast<sockaddr*>(&address_);
    const bool is_bound =
        ::bind(socket_, any, size) == 0 && ::getsockname(socket_, any, &size) == 0;
    EXPECT_TRUE(is_bound);
  }
  ~unused_port() { ::close(socket_); }
  unused_port(const unused_port&) = delete;
  unused_port& operator=(const unused_port&) = delete;
  int number() const { return ntohs(address_.sin_port); }

 private:
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_ = {};
};

}  // namespace

GO_TEST(nats_failures, connecting_says_what_the_server_said) {
  SKIP_WITHOUT_NATS();
  const nats_server server(users);
  try {
    server.connect("bob:wrong-password");
    ADD_FAILURE() << "the password is wrong";
  } catch (const nats::error& e) {
    EXPECT_EQ(e.code(), nats::make_error_code(NATS_CONNECTION_AUTH_FAILED));
    EXPECT_EQ(e.said(), "Authorization Violation");
    EXPECT_EQ(std::string(e.what()).find("wrong-password"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(server.connect("bob:bobs").is_open());
}

GO_TEST(nats_failures, connecting_tries_each_server_and_says_that_there_is_none) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  const unused_port port;
  const std::string nothing = "nats://127.0.0.1:" + std::to_string(port.number());
  const nats::connection c = nats::connection::connect({.servers = {nothing, server.url()}});
  EXPECT_TRUE(c.is_open());
  try {
    nats::connection::connect({.servers = {nothing}});
    ADD_FAILURE() << "nothing listens there";
  } catch (const nats::error& e) {
    EXPECT_EQ(e.code(), nats::make_error_code(NATS_NO_SERVER));
  }
}

GO_TEST(nats_failures, a_context_ends_connecting_at_once) {
  const net::tcp_listener silent = net::tcp_listener::listen("127.0.0.1:0");
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  sley::wait_group waiting;
  waiting.add(1);
  go_until_parked([&] {
    try {
      nats::connection::connect({.servers = {"nats://" + silent.local().to_string()},
                                 .connect_limit = sley_test::patience},
                                ctx);
      ADD_FAILURE() << "the server says nothing";
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), context_errc::canceled);
    }
    waiting.done();
  });
  const net::tcp_stream accepted = silent.accept();  // its end ends libnats' attempt
  cancel();
  waiting.wait();
  try {
    nats::connection::connect({}, ctx);
    ADD_FAILURE() << "the context has ended";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), context_errc::canceled);
  }
}

GO_TEST(nats_failures, a_refusal_is_an_error_with_the_words_of_the_server) {
  SKIP_WITHOUT_NATS();
  const nats_server server(users);
  nats::connection c = server.connect("bob:bobs");
  EXPECT_EQ(c.last_refusal(), "");
  for (int i = 0; i < 10; ++i) {  // the same words again
    EXPECT_EQ(said_of([&] { nats::subscription(c, {.subject = "secret.a"}); }),
              "Permissions Violation for Subscription to \"secret.a\"");
    EXPECT_EQ(said_of([&] { c.request("secret.b", "data"); }),
              "Permissions Violation for Publish to \"secret.b\"");
  }
  EXPECT_EQ(said_of([&] { nats::subscription(c, {.subject = "a", .queue = "queue-group"}); }),
            "Permissions Violation for Subscription to \"a\" using queue \"queue-group\"");
  c.publish("secret.c", "data");
  c.flush();
  EXPECT_EQ(c.last_refusal(), "Permissions Violation for Publish to \"secret.c\"");
  nats::subscription s(c, {.subject = "a"});
  c.publish("a", "permitted");
  EXPECT_EQ(data(**s.messages().receive()), "permitted");
}

GO_TEST(nats_failures, of_many_refusals_at_the_same_time_each_is_told) {
  SKIP_WITHOUT_NATS();
  const nats_server server(users);
  nats::connection c = server.connect("bob:bobs");
  sley::wait_group all;
  for (int i = 0; i < 16; ++i) {
    const std::string subject = "secret." + std::to_string(i);
    all.go([&, subject] {
      std::error_code error;
      c.request(subject, "data", {}, error);
      EXPECT_EQ(error, not_permitted);
    });
    all.go([&, subject] {  // refused at once, or a little later
      try {
        nats::subscription s(c, {.subject = subject});
        EXPECT_FALSE(s.messages().receive());
        EXPECT_EQ(s.error(), not_permitted);
      } catch (const nats::error& e) {
        EXPECT_EQ(e.code(), not_permitted);
      }
    });
  }
  all.wait();
}

GO_TEST(nats_failures, a_user_without_answers_can_publish_and_flush) {
  SKIP_WITHOUT_NATS();
  const nats_server server(users + "\nno_auth_user: bob");
  nats::connection bob = server.connect();
  const nats::subscription s(bob, {.subject = "open", .capacity = 100});
  for (const std::string user : {"eve:eves", "ann:anns"}) {
    nats::connection c = server.connect(user);
    for (int i = 0; i < 10; ++i) {
      c.publish("open", user);
      c.flush();
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(data(**s.messages().receive()), user);
  }
  nats::connection eve = server.connect("eve:eves");
  EXPECT_NE(said_of([&] { eve.request("open", "data"); }).find("Subscription to \"_INBOX."),
            std::string::npos);
}

GO_TEST(nats_failures, an_inbox_prefix_is_where_answers_come_to) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c =
      nats::connection::connect({.servers = {server.url()}, .inbox_prefix = "answers.of.c"});
  const nats::subscription requests(c, {.subject = "a"});
  sley::wait_group answering;
  answering.go([&] {
    const nats::message m = std::move(*requests.messages().receive());
    EXPECT_TRUE(nats::reply_subject(*m).starts_with("answers.of.c.")) << nats::reply_subject(*m);
    c.publish(nats::reply_subject(*m), "answer");
  });
  EXPECT_EQ(data(*c.request("a", "")), "answer");
  answering.wait();
}

GO_TEST(nats_failures, the_end_of_the_server_ends_every_wait_and_another_connection_works) {
  SKIP_WITHOUT_NATS();
  constexpr int waiters = 50;
  nats_server server;
  server.connect();  // what libnats opens once is open now
  const int descriptors = sley_test::open_descriptors();
  {
    nats::connection c = server.connect();
    const nats::subscription requests(c, {.subject = "a", .capacity = waiters + 1});
    c.publish("a", "before");
    std::vector<nats::subscription> silent;
    sley::wait_group waiting;
    for (int i = 0; i < waiters; ++i) {
      silent.emplace_back(c, nats::subscribe_options{.subject = "silent"});
      waiting.add(2);
      go_until_parked([&] {
        EXPECT_EQ(error_of([&] { c.request("a", "request"); }), closed);
        waiting.done();
      });
      go_until_parked([&, messages = silent.back().messages()] {
        EXPECT_FALSE(messages.receive());
        waiting.done();
      });
    }
    c.flush();  // all requests have come
    for (int i = 0; i < 3; ++i) {
      waiting.go([&] {
        for (std::error_code error; !error;) c.publish("b", std::string(10'000, 'b'), {}, error);
      });
      waiting.go([&] {
        for (std::error_code error; !error;) c.flush({}, error);
      });
    }
    server.stop();
    waiting.wait();
    expect_closed(c);
    for (const nats::subscription& s : silent) EXPECT_EQ(s.error(), closed);
    int received = 0;
    while (requests.messages().receive()) ++received;
    EXPECT_EQ(received, waiters + 1);
    EXPECT_EQ(requests.error(), closed);
    server.start();
    c = server.connect();
    const nats::subscription again(c, {.subject = "a"});
    c.publish("a", "after");
    EXPECT_EQ(data(**again.messages().receive()), "after");
  }
  expect_at_most(descriptors);
}

// On a slow machine that may happen before the server stands still.
GO_TEST(nats_failures, a_server_that_stands_still_is_noticed) {
  SKIP_WITHOUT_NATS();
  nats_server server;
  nats::connection c;
  const std::string said = said_of([&] {
    c = nats::connection::connect({.servers = {server.url()}, .check_after = 100ms});
    const nats::subscription s(c, {.subject = "a"});
    server.send(SIGSTOP);
    EXPECT_FALSE(s.messages().receive());
    EXPECT_EQ(s.error(), closed);
    c.flush();
  });
  EXPECT_EQ(said, "Stale Connection");
}

GO_TEST(nats_failures, closing_ends_all_that_waits_and_leaves_no_descriptor) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  server.connect();  // what libnats opens once is open now
  const int descriptors = sley_test::open_descriptors();
  for (int round = 0; round < 10; ++round) {
    nats::connection c = server.connect();
    const nats::subscription s(c, {.subject = "a"});
    sley::wait_group waiting;
    waiting.add(1);
    go_until_parked([&] {
      std::error_code error;
      c.request("a", "request", {}, error);
      EXPECT_EQ(error, closed);
      waiting.done();
    });
    c.close();
    c.close();
    waiting.wait();
    while (s.messages().receive()) {
    }
    EXPECT_EQ(s.error(), closed);
    EXPECT_FALSE(c.is_open());
  }
  expect_at_most(descriptors);
}

GO_TEST(nats_failures, misuse_is_refused_before_anything_is_sent) {
  SKIP_WITHOUT_NATS();
  const nats_server server;
  nats::connection c = server.connect();
  for (const std::string& subject : {""s, "a b"s, "a\r\nPUB b 1\r\nx"s, "a\0b"s, "a\tb"s}) {
    EXPECT_THROW(c.publish(subject, "data"), std::invalid_argument) << subject;
    EXPECT_THROW(c.request(subject, "data"), std::invalid_argument) << subject;
    EXPECT_THROW(nats::subscription(c, {.subject = subject}), std::invalid_argument) << subject;
    if (subject.empty()) continue;  // no queue
    EXPECT_THROW(nats::subscription(c, {.subject = "a", .queue = subject}), std::invalid_argument);
  }
  EXPECT_THROW(c.publish(nats::message()), std::invalid_argument);
  natsMsg* made = nullptr;
  ASSERT_EQ(natsMsg_Create(&made, "a", "b\r\nPUB c 1", "data", 4), NATS_OK);
  EXPECT_THROW(c.publish(nats::message(made)), std::invalid_argument);
  EXPECT_THROW(nats::connection::connect({.servers = {}}), std::invalid_argument);
  EXPECT_THROW(nats::connection::connect({.servers = {"nats://a\0b"s}}), std::invalid_argument);
  EXPECT_THROW(nats::connection::connect({.servers = {"nats://host:port"}}), nats::error);
  EXPECT_TRUE(c.is_open());

  nats::connection moved = std::move(c);
  nats::connection none;
  for (nats::connection* of_nothing : {&none, &c}) {
    expect_closed(*of_nothing);
    EXPECT_EQ(of_nothing->last_refusal(), "");
    of_nothing->close();
  }
  moved.flush();
}
