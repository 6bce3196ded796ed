// Aim: however many names are looked up while no name server answers, a bounded number of threads
// waits for it, and contexts end the waits of all. Method: this program's getaddrinfo answers when
// the test says so.
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/net.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

using sley::wait_group;
using sley::net::lookup;
using sley::net::set_max_lookups;
using sley_test::eventually;
using namespace std::chrono_literals;

namespace {

// What each name of a service stands for: nothing listens there.
constexpr std::uint16_t port_of_services = 1;

struct answer_block {
  addrinfo info;
  sockaddr_in address;
};

// The system's resolver. A name server that is mute answers once it may.
class resolver {
 public:
  int ask(const char* host, addrinfo** answer) {
    std::unique_lock guard(lock_);
    asked_.insert(host);
    ++running_;
    most_ = std::max(most_, running_);
    may_answer_.wait(guard, [this] { return !is_mute_; });
    --running_;
    *answer = make();
    return 0;
  }
  void be_mute(bool on) {
    const std::lock_guard guard(lock_);
    is_mute_ = on;
    if (on) {
      most_ = 0;
      asked_.clear();
    }
    may_answer_.notify_all();
  }
  int running() {
    const std::lock_guard guard(lock_);
    return running_;
  }
  int most() {
    const std::lock_guard guard(lock_);
    return most_;
  }
  bool was_asked(const std::string& host) {
    const std::lock_guard guard(lock_);
    return asked_.contains(host);
  }

 private:
  // In one block, as freeaddrinfo below frees it.
  static addrinfo* make() {
    auto* b = new answer_block{};
    b->address.sin_family = AF_INET;
    b->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    b->address.sin_port = htons(port_of_services);
    b->info.ai_family = AF_INET;
    b->info.ai_addr = reinterpret_cast<sockaddr*>(&b->address);
    b->info.ai_addrlen = sizeof b->address;
    return &b->info;
  }

  std::mutex lock_;
  std::condition_variable may_answer_;
  bool is_mute_ = false;
  int running_ = 0;
  int most_ = 0;
  std::set<std::string> asked_;
};

resolver& the_resolver() {
  static auto& instance = *new resolver;
  return instance;
}

// The resolver is mute while it lives.
struct silence {
  silence() { the_resolver().be_mute(true); }
  ~silence() {
    the_resolver().be_mute(false);
    EXPECT_TRUE(eventually([] { return the_resolver().running() == 0; }));
  }
  silence(const silence&) = delete;
  silence& operator=(const silence&) = delete;
};

struct lookup_limit {
  explicit lookup_limit(int n) : before_(set_max_lookups(n)) {}
  ~lookup_limit() { set_max_lookups(before_); }
  lookup_limit(const lookup_limit&) = delete;
  lookup_limit& operator=(const lookup_limit&) = delete;

 private:
  int before_;
};

std::string name(int i) { return "host-" + std::to_string(i) + ".example"; }

}  // namespace

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo*,
                           addrinfo** answer) {
  return the_resolver().ask(host != nullptr ? host : service, answer);
}
extern "C" void freeaddrinfo(addrinfo* list) { delete reinterpret_cast<answer_block*>(list); }

GO_TEST(lookup, takes_a_bounded_number_of_threads) {
  const int count = 1000;
  wait_group group;
  std::atomic<int> answered = 0;
  {
    const silence mute;
    const auto before = sley::runtime::read_stats().threads;
    for (int i = 0; i < count; ++i) {
      group.go([i, &answered] {
        EXPECT_EQ(lookup(name(i)).size(), 1U);
        ++answered;
      });
    }
    EXPECT_TRUE(eventually([] { return the_resolver().running() == 64; }));
    sley_test::let_others_run();
    EXPECT_EQ(the_resolver().running(), 64);
    EXPECT_LE(sley::runtime::read_stats().threads, before + 64 + 16);
    EXPECT_EQ(answered, 0);
  }
  group.wait();
  EXPECT_EQ(answered, count);
  EXPECT_EQ(the_resolver().most(), 64);
}

GO_TEST(lookup, a_context_ends_the_wait_for_a_turn_and_its_question_is_not_asked) {
  const silence mute;
  const lookup_limit two(2);
  const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([i, limit = ctx] {
      std::error_code error;
      EXPECT_TRUE(lookup(name(i), limit, error).empty());
      EXPECT_EQ(error, sley::context_errc::canceled);
    });
  }
  EXPECT_TRUE(eventually([] { return the_resolver().running() == 2; }));
  cancel();
  group.wait();
  // A later question is asked, and no question that was given up.
  wait_group later;
  later.go([] { EXPECT_EQ(lookup("later.example").size(), 1U); });
  the_resolver().be_mute(false);
  later.wait();
  int asked = 0;
  for (int i = 0; i < 10; ++i) asked += the_resolver().was_asked(name(i)) ? 1 : 0;
  EXPECT_EQ(asked, 2);
}

GO_TEST(lookup, a_question_of_several_goes_on_while_one_is_left) {
  wait_group group;
  {
    const silence mute;
    const lookup_limit one(1);
    group.go([] { lookup("first.example"); });
    EXPECT_TRUE(eventually([] { return the_resolver().running() == 1; }));
    const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
    wait_group given_up;
    given_up.go([limit = ctx] {
      std::error_code error;
      lookup("shared.example", limit, error);
      EXPECT_EQ(error, sley::context_errc::canceled);
    });
    group.go([] { EXPECT_EQ(lookup("shared.example").size(), 1U); });
    sley_test::let_others_run();
    cancel();
    given_up.wait();
  }
  group.wait();
  EXPECT_TRUE(the_resolver().was_asked("shared.example"));
}

GO_TEST(lookup, the_limit_may_be_changed_at_any_time) {
  wait_group group;
  EXPECT_EQ(set_max_lookups(3), 64);
  {
    const silence mute;
    for (int i = 0; i < 20; ++i) group.go([i] { lookup(name(i)); });
    EXPECT_TRUE(eventually([] { return the_resolver().running() == 3; }));
    EXPECT_EQ(set_max_lookups(7), 3);
    EXPECT_TRUE(eventually([] { return the_resolver().running() == 7; }));
    EXPECT_EQ(set_max_lookups(1), 7);
  }
  group.wait();
  {
    const silence mute;
    for (int i = 0; i < 5; ++i) group.go([i] { lookup(name(i)); });
    EXPECT_TRUE(eventually([] { return the_resolver().running() == 1; }));
    sley_test::let_others_run();
    EXPECT_EQ(the_resolver().most(), 1);
  }
  group.wait();
  EXPECT_THROW(set_max_lookups(0), std::invalid_argument);
  EXPECT_THROW(set_max_lookups(-1), std::invalid_argument);
  EXPECT_EQ(set_max_lookups(64), 1);
}

// Connecting and listening by name share the limit.
GO_TEST(lookup, connecting_by_name_waits_for_a_turn_as_well) {
  const silence mute;
  const lookup_limit one(1);
  const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  wait_group group;
  for (int i = 0; i < 5; ++i) {
    group.go([i, limit = ctx] {
      std::error_code error;
      sley::net::tcp_stream::connect(name(i) + ":80", limit, error);
      EXPECT_EQ(error, sley::context_errc::canceled);
    });
  }
  EXPECT_TRUE(eventually([] { return the_resolver().running() == 1; }));
  sley_test::let_others_run();
  EXPECT_EQ(the_resolver().most(), 1);
  cancel();
  group.wait();
}

GO_TEST(lookup, names_of_services_wait_for_a_turn_as_well) {
  {
    const silence mute;
    const lookup_limit one(1);
    const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
    wait_group group;
    for (int i = 0; i < 5; ++i) {
      group.go([i, limit = ctx] {
        std::error_code error;
        sley::net::tcp_stream::connect("127.0.0.1:service" + std::to_string(i), limit, error);
        EXPECT_EQ(error, sley::context_errc::canceled);
      });
    }
    EXPECT_TRUE(eventually([] { return the_resolver().running() == 1; }));
    sley_test::let_others_run();
    EXPECT_EQ(the_resolver().most(), 1);
    cancel();
    group.wait();
  }
  std::error_code error;
  sley::net::tcp_stream::connect("127.0.0.1:service", error);
  EXPECT_EQ(error, std::errc::connection_refused);
  EXPECT_TRUE(the_resolver().was_asked("service"));
}

FOREIGN_TEST(lookup, threads_of_the_users_may_set_the_limit) {
  EXPECT_EQ(set_max_lookups(10), 64);
  EXPECT_EQ(lookup("foreign.example").size(), 1U);
  EXPECT_EQ(set_max_lookups(64), 10);
}
