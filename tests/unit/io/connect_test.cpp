// Aim: of a name with addresses of two families connect takes the address that answers, without
// waiting for the other to fail (RFC 8305, Go's TestDialerFallback). Method: addresses of the
// loopback, some of a listener whose queue is full, where a connection is neither made nor refused.
#include "io/connect.hpp"

#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <vector>

using sley::context;
using sley::net::endpoint;
using sley::net::tcp_listener;
using sley_test::eventually;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

// As in connect.cpp.
constexpr auto fallback_delay = 300ms;

// A listener whose queue is full: a thread that connects waits for ever.
class silent_address {
 public:
  explicit silent_address(const char* ip) {
    const endpoint any(ip, 0);
    listener_ = ::socket(any.family(), SOCK_STREAM, 0);
    EXPECT_EQ(::bind(listener_, any.data(), any.size()), 0);
    EXPECT_EQ(::listen(listener_, 0), 0);
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size), 0);
    address_ = endpoint(reinterpret_cast<const sockaddr*>(&bound), size);
    for (int& fd : waiting_) {
      fd = ::socket(address_.family(), SOCK_STREAM | SOCK_NONBLOCK, 0);
      (void)::connect(fd, address_.data(), address_.size());
    }
  }
  ~silent_address() {
    for (const int fd : waiting_) ::close(fd);
    ::close(listener_);
  }
  silent_address(const silent_address&) = delete;
  silent_address& operator=(const silent_address&) = delete;

  const endpoint& address() const { return address_; }

 private:
  int listener_;
  endpoint address_;
  int waiting_[4];
};

bool has_ipv6() {
  std::error_code error;
  (void)tcp_listener::listen("[::1]:0", {}, error);
  return !error;
}

struct result {
  int family = 0;
  std::error_code error;
  steady_clock::duration took{};
};

result connect_to(const std::vector<endpoint>& all, const context& ctx = context::background()) {
  result r;
  const auto start = steady_clock::now();
  const sley::detail::descriptor d = sley::io::connect_to_any(all, ctx, r.error);
  r.took = steady_clock::now() - start;
  if (r.error) return r;
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  EXPECT_EQ(::getpeername(d.native_handle(), reinterpret_cast<sockaddr*>(&peer), &size), 0);
  r.family = peer.ss_family;
  return r;
}

}  // namespace

GO_TEST(connect, the_other_family_is_tried_when_the_first_does_not_answer) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  const silent_address silent("::1");
  const auto listener = tcp_listener::listen("127.0.0.1:0");
  const result r = connect_to({silent.address(), listener.local()});
  EXPECT_FALSE(r.error) << r.error.message();
  EXPECT_EQ(r.family, AF_INET);
  EXPECT_GE(r.took, fallback_delay);
}

GO_TEST(connect, the_first_family_wins_if_it_answers_late_and_the_other_never) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  const auto first = tcp_listener::listen("127.0.0.1:0");
  const silent_address silent("::1");
  const result r = connect_to({first.local(), silent.address()});
  EXPECT_FALSE(r.error) << r.error.message();
  EXPECT_EQ(r.family, AF_INET);
}

GO_TEST(connect, the_other_family_follows_at_once_when_the_first_is_refused) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  const endpoint refused = tcp_listener::listen("[::1]:0").local();  // closed again
  const auto listener = tcp_listener::listen("127.0.0.1:0");
  const result r = connect_to({refused, listener.local()});
  EXPECT_FALSE(r.error) << r.error.message();
  EXPECT_EQ(r.family, AF_INET);
  EXPECT_LT(r.took, fallback_delay);
}

GO_TEST(connect, the_first_error_is_reported_when_all_fail) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  const endpoint refused = tcp_listener::listen("[::1]:0").local();
  const endpoint refused_too = tcp_listener::listen("127.0.0.1:0").local();
  EXPECT_EQ(connect_to({refused, refused_too}).error, std::errc::connection_refused);
}

GO_TEST(connect, both_families_end_with_the_context) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  const silent_address six("::1");
  const silent_address four("127.0.0.1");
  const auto [ctx, cancel] = sley::with_timeout(context::background(), fallback_delay + 100ms);
  const std::size_t before = sley::runtime::num_goroutines();
  EXPECT_EQ(connect_to({six.address(), four.address()}, ctx).error,
            sley::context_errc::deadline_exceeded);
  EXPECT_TRUE(eventually([&] { return sley::runtime::num_goroutines() == before; }));
}
