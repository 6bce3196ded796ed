// set_log_function: which lines it gets, and how. Lines of HTTP: http/log_test.cpp.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <sley/buffered.hpp>
#include <sley/error_group.hpp>
#include <sley/future.hpp>
#include <sley/log.hpp>
#include <sley/net.hpp>
#include <sley/serve.hpp>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using sley::set_log_function;
using sley_test::eventually;

namespace {

sley::mutex lock;
std::vector<std::string> lines;  // [lock: lock]

// Parks, as a log may.
void keep(std::string_view line) {
  sley::this_goroutine::yield();
  const std::lock_guard guard(lock);
  lines.emplace_back(line);
}

// The lines of what f does, none of which goes to stderr.
template <class F>
std::vector<std::string> logged_by(const F& f) {
  testing::internal::CaptureStderr();
  const sley::log_function before = set_log_function(&keep);
  f();
  EXPECT_EQ(set_log_function(before), &keep);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const std::lock_guard guard(lock);
  return std::exchange(lines, {});
}

void lose_an_exception() {
  const sley::chan<void> thrown;
  static_cast<void>(sley::async([thrown]() -> int {
    thrown.close();
    throw std::runtime_error("lost\nhere");
  }));
  thrown.receive();
}

bool has_lost_line(const std::vector<std::string>& all) {
  return all.size() == 1 && all[0].starts_with("sley: an exception of goroutine ") &&
         all[0].ends_with(": std::runtime_error: lost\\nhere");
}

}  // namespace

GO_TEST(log_function, gets_lost_exceptions) {
  const auto all = logged_by([] {
    lose_an_exception();
    EXPECT_TRUE(eventually([] {
      const std::lock_guard guard(lock);
      return !lines.empty();
    }));
  });
  EXPECT_TRUE(has_lost_line(all)) << all.size() << ' ' << (all.empty() ? "" : all[0]);
}

GO_TEST(log_function, gets_exceptions_of_groups) {
  const auto all = logged_by([] {
    sley::error_group group;
    const sley::context ended = group.context();
    group.go([] { throw std::runtime_error("of a group"); });
    ended.done().receive();
  });
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].ends_with("of a group")) << all[0];
}

GO_TEST(log_function, gets_the_rest_of_a_buffered_writer) {
  const auto all = logged_by([] {
    auto [client, server] = sley_test::connect_tcp();
    sley::buffered_writer out(client);
    out.write_all("rest");
    client.close();
  });
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].starts_with("sley: a buffered_writer is destroyed with 4 bytes")) << all[0];
}

GO_TEST(log_function, gets_failures_of_serve) {
  const auto all = logged_by([] {
    auto [ctx, cancel] = sley::with_cancel(sley::context::background());
    auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    const auto address = listener.local().to_string();
    sley::wait_group group;
    group.go([&, with = ctx] {
      sley::net::serve(listener, with,
                       [](sley::net::tcp_stream) { throw std::runtime_error("a\nb"); });
    });
    EXPECT_EQ(sley_test::read_to_end(sley::net::tcp_stream::connect(address)), "");
    cancel();
    group.wait();
  });
  EXPECT_EQ(all, std::vector<std::string>{"sley: serve: a connection was given up: a\\nb"});
}

GO_TEST(log_function, null_is_stderr) {
  EXPECT_EQ(set_log_function(nullptr), nullptr);
  testing::internal::CaptureStderr();
  {
    auto [client, server] = sley_test::connect_tcp();
    sley::buffered_writer out(client);
    out.write_all("rest");
    client.close();
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(printed.starts_with("sley: a buffered_writer is destroyed")) << printed;
  EXPECT_TRUE(printed.ends_with("\n"));
}

namespace {
std::atomic<int> counted{0};
}

// Changed while lines come, from goroutines and threads: each line goes to one of the two.
FOREIGN_TEST(log_function, may_change_at_any_time) {
  constexpr int each = 50;
  counted = 0;
  set_log_function([](std::string_view) { ++counted; });
  sley_test::thread_group threads;
  for (int i = 0; i < 4; ++i) {
    threads.go([] {
      for (int n = 0; n < each; ++n) lose_an_exception();
    });
  }
  for (int n = 0; n < 1000; ++n) {
    set_log_function([](std::string_view) { ++counted; });
    sley::this_goroutine::yield();
  }
  threads.wait();
  EXPECT_TRUE(eventually([&] { return counted == 4 * each; }));
  set_log_function(nullptr);
}
