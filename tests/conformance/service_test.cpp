// A server under a service manager: descriptors that are handed from process to process by the
// protocol of socket activation, and what the manager is told. The other process is this program
// again; the manager is a socket of the test.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>
#include <sley/service.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <initializer_list>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley::net::unix_datagram;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley::os::command;
using sley::os::process;
using sley_test::read_to_end;
namespace service = sley::service;

namespace {

command child(const std::string& name) {
  return {.program = "/proc/self/exe", .arguments = {"--sley_child=" + name}};
}

std::string fresh_path() { return "/tmp/sley_service_" + std::to_string(::getpid()); }

// Sets variables while it lives; after that they are not set.
class variables {
 public:
  variables(std::initializer_list<std::pair<const char*, std::string>> all) : all_(all) {
    for (const auto& [name, value] : all_) ::setenv(name, value.c_str(), 1);
  }
  ~variables() {
    for (const auto& [name, value] : all_) ::unsetenv(name);
  }
  variables(const variables&) = delete;
  variables& operator=(const variables&) = delete;

 private:
  const std::vector<std::pair<const char*, std::string>> all_;
};

// A process that does not outlive the test.
class running {
 public:
  explicit running(const command& what) : process_(process::start(what)) {}
  ~running() {
    std::error_code ignored;
    process_.kill(SIGKILL, ignored);
  }
  running(const running&) = delete;
  running& operator=(const running&) = delete;
  int wait() const { return process_.wait().code(); }

 private:
  const process process_;
};

std::string own_number() { return std::to_string(::getpid()); }

}  // namespace

// ---- listeners of descriptors ----

GO_TEST(listener, of_a_descriptor_accepts_and_does_not_block) {
  tcp_listener first = tcp_listener::listen("127.0.0.1:0");
  const std::string address = first.local().to_string();
  const tcp_listener second(::dup(first.native_handle()));
  first.close();
  EXPECT_EQ(::fcntl(second.native_handle(), F_GETFD), FD_CLOEXEC);
  EXPECT_NE(::fcntl(second.native_handle(), F_GETFL) & O_NONBLOCK, 0);
  const tcp_stream client = tcp_stream::connect(address);
  second.accept().write_all("hello");
  EXPECT_EQ(read_to_end(client), "hello");
}

GO_TEST(listener, of_an_unfit_descriptor_is_an_error) {
  const auto error_of = []<class Listener>(int fd, std::type_identity<Listener>) {
    std::error_code error;
    const Listener l(fd, error);
    EXPECT_FALSE(l.is_open());
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << "it is closed";
    return error;
  };
  const auto of_tcp = [&](int fd) { return error_of(fd, std::type_identity<tcp_listener>()); };
  const auto of_unix = [&](int fd) { return error_of(fd, std::type_identity<unix_listener>()); };
  const tcp_listener tcp = tcp_listener::listen("127.0.0.1:0");
  const unix_listener local = unix_listener::listen("@" + fresh_path());
  EXPECT_EQ(of_unix(::dup(tcp.native_handle())), std::errc::address_family_not_supported);
  EXPECT_EQ(of_tcp(::dup(local.native_handle())), std::errc::address_family_not_supported);
  EXPECT_EQ(of_tcp(::socket(AF_INET, SOCK_STREAM, 0)), std::errc::invalid_argument);
  EXPECT_EQ(of_tcp(::socket(AF_INET6, SOCK_DGRAM, 0)), std::errc::operation_not_supported);
  EXPECT_EQ(of_unix(::socket(AF_UNIX, SOCK_SEQPACKET, 0)), std::errc::operation_not_supported);
  EXPECT_EQ(of_tcp(::open("/dev/null", O_RDONLY)), std::errc::not_a_socket);
  EXPECT_EQ(of_unix(-1), std::errc::bad_file_descriptor);
  try {
    const tcp_listener refused(-1);
    ADD_FAILURE() << "it is a listener";
  } catch (const std::system_error& e) {
    EXPECT_NE(std::string(e.what()).find("descriptor -1 as a TCP listener"), std::string::npos)
        << e.what();
  }
}

// ---- from process to process ----

CHILD_MAIN(serves_what_it_inherits) {
  return sley::run([] {
           for (const auto& [name, fd] : service::inherited()) {
             if (name == "web") tcp_listener(fd).accept().write_all(name);
             if (name == "local") unix_listener(fd).accept().write_all(name);
           }
           EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr);
           EXPECT_TRUE(service::inherited().empty());
           EXPECT_STREQ(std::getenv("SLEY_A"), "a");
         }) == 0
             ? sley_test::verdict()
             : 1;
}

// A standard stream in the place of a descriptor that is handed down, and one that is in the way.
GO_TEST(inherited, listeners_go_on_in_another_process) {
  tcp_listener web = tcp_listener::listen("127.0.0.1:0");
  unix_listener local = unix_listener::listen(fresh_path());
  const std::string address = web.local().to_string();
  const tcp_stream waits = tcp_stream::connect(address);  // and is accepted over there
  command c = child("serves_what_it_inherits");
  c.environment = {"SLEY_A=a", "LISTEN_FDS=17"};
  c.input = sley::os::redirect::to(local.native_handle());
  c.hand_down = {{"local", local.native_handle()}, {"web", web.native_handle()}};
  const running other(c);
  web.close();
  local.keep_file();
  local.close();
  const unix_stream at_the_file = unix_stream::connect(fresh_path());
  ::unlink(fresh_path().c_str());
  EXPECT_EQ(read_to_end(at_the_file), "local");
  EXPECT_EQ(read_to_end(waits), "web");
  EXPECT_EQ(other.wait(), 7);
}

GO_TEST(inherited, an_unfit_descriptor_starts_nothing) {
  std::error_code error;
  command c = child("serves_what_it_inherits");
  c.hand_down = {{"web", -1}};
  process::start(c, error);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
  for (const std::string& name : {std::string("a:b"), std::string("a\n"), std::string(256, 'a')}) {
    c.hand_down = {{name, 0}};
    EXPECT_THROW(process::start(c, error), std::invalid_argument);
  }
}

// ---- what the variables say ----

GO_TEST(inherited, nothing_without_variables_for_this_process) {
  EXPECT_TRUE(service::inherited().empty());
  const variables others{{"LISTEN_PID", "1"}, {"LISTEN_FDS", "nonsense"}};
  EXPECT_TRUE(service::inherited().empty());
  EXPECT_EQ(std::getenv("LISTEN_PID"), nullptr);
}

GO_TEST(inherited, bad_variables_are_named) {
  const auto refusal = [](std::string pid, std::string count, std::string names) {
    const variables all{{"LISTEN_PID", std::move(pid)},
                        {"LISTEN_FDS", std::move(count)},
                        {"LISTEN_FDNAMES", std::move(names)}};
    try {
      service::inherited();
      return std::string("none");
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::invalid_argument);
      EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr);
      return std::string(e.what());
    }
  };
  const auto begins = [](const std::string& text, std::string_view with) {
    EXPECT_TRUE(text.starts_with(with)) << text;
  };
  for (const char* bad : {"", "x", "1x", " 1", "-1", "0", "99999999999"}) {
    begins(refusal(bad, "1", "a"), "sley: LISTEN_PID \"" + std::string(bad) + "\": ");
    begins(refusal(own_number(), bad, "a"), "sley: LISTEN_FDS \"" + std::string(bad) + "\": ");
  }
  begins(refusal(own_number(), "1", "a:b"), "sley: LISTEN_FDNAMES \"a:b\": ");
  begins(refusal(own_number(), "2", ""), "sley: LISTEN_FDNAMES \"\": ");
}

GO_TEST(inherited, a_descriptor_that_is_not_open_is_an_error) {
  const variables all{{"LISTEN_PID", own_number()}, {"LISTEN_FDS", "2000000000"}};
  std::error_code error;
  EXPECT_TRUE(service::inherited(error).empty());
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
}

// ---- what the manager is told ----

namespace {

// A manager's socket, and what came to it first.
class manager {
 public:
  explicit manager(const std::string& name)
      : socket_(unix_datagram::bind(name)), variable_{{"NOTIFY_SOCKET", name}} {}
  std::string next() const {
    std::array<std::byte, 1000> room;
    const std::size_t n = socket_.receive(room);
    return {reinterpret_cast<const char*>(room.data()), n};
  }

 private:
  const unix_datagram socket_;
  const variables variable_;
};

}  // namespace

GO_TEST(notify, sends_states_to_a_path_or_an_abstract_name) {
  for (const std::string& name : {fresh_path(), "@" + fresh_path()}) {
    const manager m(name);
    EXPECT_TRUE(service::notify(service::ready));
    EXPECT_EQ(m.next(), "READY=1");
    EXPECT_TRUE(service::notify(std::string(service::stopping) + '\n' + service::status("a\nb")));
    EXPECT_EQ(m.next(), "STOPPING=1\nSTATUS=a\\nb");
  }
}

GO_TEST(notify, reloading_tells_the_monotonic_time) {
  const auto us = [] {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  constexpr std::string_view before_the_number = "RELOADING=1\nMONOTONIC_USEC=";
  const auto begin = us();
  const std::string state = service::reloading();
  ASSERT_TRUE(state.starts_with(before_the_number)) << state;
  const auto told = std::stoll(state.substr(before_the_number.size()));
  EXPECT_LE(begin, told);
  EXPECT_LE(told, us());
}

GO_TEST(notify, is_false_without_a_manager_and_fails_with_a_bad_one) {
  EXPECT_FALSE(service::notify(service::ready));
  std::error_code error;
  for (const auto& [name, wanted] :
       {std::pair("vsock:2:1", std::errc::address_family_not_supported),
        std::pair("/nonexistent/s", std::errc::no_such_file_or_directory),
        std::pair("", std::errc())}) {
    const variables set{{"NOTIFY_SOCKET", name}};
    EXPECT_FALSE(service::notify(service::ready, error));
    EXPECT_EQ(error, wanted) << name;
  }
  const variables set{{"NOTIFY_SOCKET", "/nonexistent/s"}};
  try {
    service::notify(service::ready);
    ADD_FAILURE() << "it is told";
  } catch (const std::system_error& e) {
    EXPECT_TRUE(
        std::string_view(e.what()).starts_with("sley: notify NOTIFY_SOCKET \"/nonexistent/s\": "))
        << e.what();
  }
}

GO_TEST(notify, a_context_ends_the_wait_for_room) {
  const manager m("@" + fresh_path());
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group group;
  group.go([ctx] {
    std::error_code error;
    while (!error) service::notify(service::ready, ctx, error);
    EXPECT_EQ(error, sley::context_errc::canceled);
  });
  EXPECT_EQ(m.next(), "READY=1");
  cancel();
  group.wait();
}

// ---- the watchdog ----

GO_TEST(watchdog, is_fed_until_the_context_ends) {
  const manager m("@" + fresh_path());
  const variables set{{"WATCHDOG_USEC", "2000"}, {"WATCHDOG_PID", own_number()}};
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group group;
  group.go([ctx] { service::feed_watchdog(ctx); });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(m.next(), "WATCHDOG=1");
  cancel();
  group.wait();
}

GO_TEST(watchdog, that_is_not_there_or_is_anothers_needs_nothing) {
  service::feed_watchdog(sley::context::background());
  const variables set{{"WATCHDOG_USEC", "2000"}, {"WATCHDOG_PID", "1"}};
  service::feed_watchdog(sley::context::background());
}

GO_TEST(watchdog, bad_variables_are_named) {
  const variables set{{"WATCHDOG_USEC", "2s"}};
  try {
    service::feed_watchdog(sley::context::background());
    ADD_FAILURE() << "it has returned";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::invalid_argument);
    EXPECT_TRUE(std::string_view(e.what()).starts_with("sley: WATCHDOG_USEC \"2s\": ")) << e.what();
  }
}
