// Aim: a function that takes a context which has ended already does nothing and reports the
// context's error, always, however ready its work is. Method: each such function many times, with
// contexts that ended in each way, where the work could be done at once.
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/os.hpp>
#include <sley/sync.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using sley::context;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

// One for each way to end.
std::vector<context> ended_contexts() {
  const auto [canceled, cancel] = sley::with_cancel({});
  cancel();
  std::stop_source stopped;
  stopped.request_stop();
  return {canceled, sley::with_timeout({}, 0s).first, sley::with_deadline({}, {}).first,
          sley::with_stop_token({}, stopped.get_token()), sley::with_value(canceled, "key", 1)};
}

// Calls f(context, error) with each, and expects that it reports the context's error.
template <class F>
void expect_error_of_context(const F& f) {
  for (const context& ctx : ended_contexts()) {
    ASSERT_TRUE(ctx.error());
    for (int i = 0; i < rounds(20); ++i) {
      std::error_code error;
      f(ctx, error);
      ASSERT_EQ(error, ctx.error()) << ctx.to_string() << ", round " << i;
    }
  }
}

bool has_connection(const sley::net::listener& listener) {
  pollfd one = {.fd = listener.native_handle(), .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) != 0;
}

}  // namespace

GO_TEST(ended_context, connects_nothing) {
  const auto listener = tcp_listener::listen("127.0.0.1:0");
  const std::string address = listener.local().to_string();
  const std::string by_name = "localhost:" + std::to_string(listener.local().port());
  for (const std::string& to : {address, by_name, std::string("no address")}) {
    expect_error_of_context([&](const context& ctx, std::error_code& error) {
      EXPECT_FALSE(tcp_stream::connect(to, ctx, error).is_open());
    });
  }
  EXPECT_FALSE(has_connection(listener));
  for (const context& ctx : ended_contexts()) {
    EXPECT_THROW(tcp_stream::connect(address, ctx), std::system_error);
  }
}

GO_TEST(ended_context, connects_nothing_by_a_path) {
  const std::string path = "@sley_ended_context_" + std::to_string(::getpid());
  const auto listener = unix_listener::listen(path);
  for (const std::string& to : {path, std::string(200, 'x')}) {
    expect_error_of_context([&](const context& ctx, std::error_code& error) {
      EXPECT_FALSE(unix_stream::connect(to, ctx, error).is_open());
    });
  }
  EXPECT_FALSE(has_connection(listener));
}

GO_TEST(ended_context, looks_up_nothing) {
  for (const char* host : {"127.0.0.1", "::1", "localhost", ""}) {
    expect_error_of_context([&](const context& ctx, std::error_code& error) {
      EXPECT_TRUE(sley::net::lookup(host, ctx, error).empty());
    });
  }
}

GO_TEST(ended_context, acquires_nothing) {
  sley::weighted_semaphore units(2);
  expect_error_of_context(
      [&](const context& ctx, std::error_code& error) { units.acquire(ctx, 1, error); });
  for (const context& ctx : ended_contexts()) EXPECT_THROW(units.acquire(ctx), std::system_error);
  EXPECT_TRUE(units.try_acquire(2)) << "some were taken";
}

GO_TEST(ended_context, waits_for_no_descriptor) {
  const int ready = ::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  {
    const sley::os::poll_fd fd(ready);
    expect_error_of_context(
        [&](const context& ctx, std::error_code& error) { fd.wait_readable(ctx, error); });
    expect_error_of_context(
        [&](const context& ctx, std::error_code& error) { fd.wait_writable(ctx, error); });
    expect_error_of_context([&](const context& ctx, std::error_code& error) {
      EXPECT_EQ(fd.wait(sley::os::poll_events::readable, ctx, error), sley::os::poll_events::none);
    });
  }
  ::close(ready);
}

GO_TEST(ended_context, runs_no_process) {
  const std::string path = "/tmp/sley_ended_context_" + std::to_string(::getpid());
  expect_error_of_context([&](const context& ctx, std::error_code& error) {
    sley::os::run({.program = "touch", .arguments = {path}}, {.ctx = ctx}, error);
  });
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "it was run";
  expect_error_of_context([&](const context& ctx, std::error_code& error) {
    sley::os::run({.program = "/no/such/program"}, {.ctx = ctx}, error);
  });
}

GO_TEST(ended_context, starts_no_process) {
  expect_error_of_context([&](const context& ctx, std::error_code& error) {
    EXPECT_EQ(sley::os::process::start({.program = "true"}, ctx, error).pid(), 0);
  });
}

GO_TEST(ended_context, opens_reads_and_writes_no_file) {
  const std::string path = "/tmp/sley_ended_context_" + std::to_string(::getpid());
  const std::string none = path + "_none";
  sley::os::write_file(path, "old");
  const auto file = sley::os::file::open(path, O_RDWR);
  std::array<std::byte, 8> room;
  expect_error_of_context([&](const context& ctx, std::error_code& error) {
    EXPECT_FALSE(sley::os::file::open(none, O_WRONLY | O_CREAT, ctx, error).is_open());
  });
  expect_error_of_context([&](const context& ctx, std::error_code& error) {
    EXPECT_EQ(file.read_at(room, 0, ctx, error), 0U);
  });
  expect_error_of_context([&](const context& ctx, std::error_code& error) {
    EXPECT_EQ(file.write_at("new", 0, ctx, error), 0U);
  });
  expect_error_of_context([&](const context& ctx, std::error_code& error) {
    EXPECT_EQ(sley::os::read_file(path, ctx, error), "");
  });
  for (const bool is_atomic : {false, true}) {
    for (const std::string& to : {path, none}) {
      expect_error_of_context([&](const context& ctx, std::error_code& error) {
        sley::os::write_file(to, "new", {.atomic = is_atomic}, ctx, error);
      });
    }
  }
  expect_error_of_context([&](const context& ctx, std::error_code& error) {
    sley::os::append(path, "new", {}, ctx, error);
  });
  EXPECT_EQ(sley::os::read_file(path), "old");
  EXPECT_NE(::access(none.c_str(), F_OK), 0) << "it was made";
  ::unlink(path.c_str());
}

GO_TEST(ended_context, waits_for_no_process) {
  const auto ended = sley::os::process::start({.program = "true"});
  EXPECT_TRUE(ended.wait().success());
  expect_error_of_context(
      [&](const context& ctx, std::error_code& error) { ended.wait(ctx, error); });
  expect_error_of_context(
      [](const context& ctx, std::error_code& error) { sley::os::process().wait(ctx, error); });
  EXPECT_TRUE(ended.wait(context::background()).success());
}
