// Processes: how they are started, talked to, waited for and ended. Most are shells with a line to
// run. The rows of Go's tests stand beside the tests.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/temporary_file.hpp"

#include <sley/context.hpp>
#include <sley/net.hpp>
#include <sley/os.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using sley::wait_group;
using sley::os::command;
using sley::os::exit_status;
using sley::os::file;
using sley::os::process;
using sley::os::redirect;
using sley::os::run;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::in;
using sley_test::let_others_run;
using sley_test::read_to_end;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

command shell(const std::string& line) { return {.program = "/bin/sh", .arguments = {"-c", line}}; }

std::string first_line(const file& f) {
  std::string line;
  char c = 0;
  while (f.read_some(std::as_writable_bytes(std::span(&c, 1))) == 1 && c != '\n') line += c;
  return line;
}

// Not even as a zombie.
bool is_gone(int pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

std::string output_of(const command& what) {
  const auto result = run(what);
  EXPECT_TRUE(result.status.success()) << result.status.to_string() << result.errors;
  return result.output;
}

}  // namespace

GO_TEST(process, tells_how_it_has_ended) {
  const exit_status good = process::start(shell("exit 0")).wait();
  EXPECT_TRUE(good.success());
  EXPECT_EQ(good.to_string(), "exit status 0");
  const exit_status bad = process::start(shell("exit 3")).wait();
  EXPECT_TRUE(bad.exited());
  EXPECT_FALSE(bad.success());
  EXPECT_EQ(bad.code(), 3);
  EXPECT_EQ(bad.signal(), 0);
  const exit_status killed = process::start(shell("kill -9 $$")).wait();
  EXPECT_TRUE(killed.signaled());
  EXPECT_FALSE(killed.exited());
  EXPECT_EQ(killed.signal(), SIGKILL);
  EXPECT_EQ(killed.code(), -1);
  EXPECT_FALSE(killed.core_dumped());
  EXPECT_EQ(killed.to_string(), "signal 9");
}

GO_TEST(process, names_the_program_it_could_not_start) {
  const auto expect_refused = [](const command& what, std::errc why) {
    try {
      process::start(what);
      ADD_FAILURE() << what.program << " was started";
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), why) << e.what();
      EXPECT_NE(std::string(e.what()).find(what.program), std::string::npos) << e.what();
    }
  };
  expect_refused({.program = "/nonexistent/sley"}, std::errc::no_such_file_or_directory);
  expect_refused({.program = "sley-nonexistent"}, std::errc::no_such_file_or_directory);
  expect_refused({.program = "/dev/null"}, std::errc::permission_denied);
  expect_refused({.program = "/bin/true", .directory = "/nonexistent/sley"},
                 std::errc::no_such_file_or_directory);
  expect_refused({.program = "/bin/true", .output = redirect::to(-1)},
                 std::errc::bad_file_descriptor);
  EXPECT_THROW(process::start({.program = "/bin/true", .input = redirect::to_output()}),
               std::logic_error);
}

GO_TEST(process, a_process_that_was_never_started_has_no_status) {
  const process none;
  std::error_code error;
  EXPECT_EQ(none.pid(), 0);
  EXPECT_FALSE(none.wait(error).exited());
  EXPECT_EQ(error, std::errc::no_child_process);
  none.kill(SIGTERM, error);
  EXPECT_EQ(error, std::errc::no_such_process);
  EXPECT_FALSE(none.ended());
}

// ---- streams ----

GO_TEST(process, is_talked_to_through_pipes) {
  process p =
      process::start({.program = "cat", .input = redirect::pipe(), .output = redirect::pipe()});
  p.stdin_pipe().write_all(bytes_of("hello\n"));
  EXPECT_EQ(first_line(p.stdout_pipe()), "hello");
  p.stdin_pipe().write_all(bytes_of("world"));
  p.stdin_pipe().close();
  EXPECT_EQ(read_to_end(p.stdout_pipe()), "world");
  EXPECT_FALSE(p.stderr_pipe().is_open());
  EXPECT_TRUE(p.wait().success());
}

GO_TEST(process, writing_to_one_that_has_ended_is_an_error) {
  process p = process::start({.program = "true", .input = redirect::pipe()});
  p.wait();
  std::error_code error;
  p.stdin_pipe().write_all(bytes_of("x"), error);
  EXPECT_EQ(error, std::errc::broken_pipe);
}

// What blocks for the process does not block for us, and the other way round.
GO_TEST(process, has_pipes_that_block) {
  const std::string flags =
      output_of({.program = "/bin/sh", .arguments = {"-c", "grep flags /proc/self/fdinfo/1"}});
  EXPECT_EQ(std::stoul(flags.substr(flags.find_first_of("0123456789")), nullptr, 8) & O_NONBLOCK,
            0U);
}

GO_TEST(process, has_its_streams_where_they_are_redirected_to) {
  const file f = sley_test::temporary_file();
  command c = shell("cat; echo out; echo err >&2");
  c.input = redirect::null();
  c.output = redirect::to(f);
  c.errors = redirect::to_output();
  EXPECT_TRUE(process::start(c).wait().success());
  char got[8];
  EXPECT_EQ(f.read_at(std::as_writable_bytes(std::span(got)), 0), 8U);
  EXPECT_EQ(std::string(got, 8), "out\nerr\n");
}

// Standard streams that are given for one another.
GO_TEST(process, may_have_its_streams_exchanged) {
  auto out = sley::os::pipe(), err = sley::os::pipe();
  const int saved_out = ::dup(1), saved_err = ::dup(2);
  ::dup2(out.writer.native_handle(), 1);
  ::dup2(err.writer.native_handle(), 2);
  command c = shell("echo out; echo err >&2");
  c.output = redirect::to(2);
  c.errors = redirect::to(1);
  std::error_code error;
  const process p = process::start(c, error);
  ::dup2(saved_out, 1);
  ::dup2(saved_err, 2);
  ::close(saved_out);
  ::close(saved_err);
  ASSERT_FALSE(error);
  EXPECT_TRUE(p.wait().success());
  EXPECT_EQ(first_line(out.reader), "err");
  EXPECT_EQ(first_line(err.reader), "out");
}

GO_TEST(process, gets_no_descriptors_of_others) {
  const command look = shell("ls /proc/self/fd | wc -l");
  const std::string before = output_of(look);
  const auto pipe = sley::os::pipe();
  const auto tcp = sley_test::connect_tcp();
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  const auto udp = sley::net::udp_socket::bind("127.0.0.1:0");
  const auto pair = sley::net::unix_stream::pair();
  const file null = file::open("/dev/null", O_RDONLY);
  const process other = process::start({.program = "cat", .input = redirect::pipe()});
  EXPECT_EQ(output_of(look), before);
  other.kill(SIGKILL);
  other.wait();
}

// ---- surroundings ----

GO_TEST(process, has_the_environment_and_the_directory_it_is_given) {
  command c = shell("echo $SLEY_A-$HOME; pwd");
  c.environment = {"SLEY_A=a", "PATH=/bin:/usr/bin"};
  c.directory = "/";
  EXPECT_EQ(output_of(c), "a-\n/\n");
  c.environment.reset();
  ::setenv("SLEY_A", "inherited", 1);
  c.arguments[1] = "echo $SLEY_A";
  EXPECT_EQ(output_of(c), "inherited\n");
}

GO_TEST(process, may_lead_a_group_or_a_session) {
  const auto ids = [](process& p) {
    const std::pair<int, int> result = {::getpgid(p.pid()), ::getsid(p.pid())};
    p.stdin_pipe().close();
    p.wait();
    return result;
  };
  command c = {.program = "cat", .input = redirect::pipe()};
  process plain = process::start(c);
  EXPECT_EQ(ids(plain), std::make_pair(::getpgid(0), ::getsid(0)));
  c.new_group = true;
  process group = process::start(c);
  EXPECT_EQ(ids(group), std::make_pair(group.pid(), ::getsid(0)));
  c.new_group = false;
  c.new_session = true;
  process session = process::start(c);
  EXPECT_EQ(ids(session), std::make_pair(session.pid(), session.pid()));
}

// Nothing is blocked, whatever the starting thread blocks, and what the runtime handles is at its
// default; what the program ignores stays so.
GO_TEST(process, starts_with_signals_as_a_program_expects_them) {
  const sley::os_thread_lock lock;
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto old = std::signal(SIGUSR2, SIG_IGN);
  const std::string status = output_of({.program = "cat", .arguments = {"/proc/self/status"}});
  std::signal(SIGUSR2, old);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  const auto mask = [&](const char* name) {
    return std::stoull(status.substr(status.find(name) + 8), nullptr, 16);
  };
  EXPECT_EQ(mask("SigBlk:"), 0U);
  EXPECT_EQ(mask("SigCgt:"), 0U);
  const auto bit = [](int signal) { return 1ULL << (signal - 1); };
  EXPECT_EQ(mask("SigIgn:") & (bit(SIGPIPE) | bit(SIGURG) | bit(SIGSEGV)), 0U);
  EXPECT_NE(mask("SigIgn:") & bit(SIGUSR2), 0U);
}

// ---- waiting and killing ----

GO_TEST(process, wait_parks_and_any_number_may_wait) {
  process p = process::start({.program = "cat", .input = redirect::pipe()});
  std::atomic<int> waited{0};
  wait_group group;
  for (int i = 0; i < 5; ++i) {
    group.go([&] {
      EXPECT_TRUE(p.wait().success());
      ++waited;
    });
  }
  group.go([&] {
    p.ended().receive();
    ++waited;
  });
  let_others_run();
  EXPECT_EQ(waited, 0);
  std::error_code error;
  EXPECT_FALSE(p.wait(in(5ms), error).exited());
  EXPECT_EQ(error, std::errc::timed_out);
  const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  go_until_parked([&p, limit = ctx, &waited] {
    std::error_code canceled;
    p.wait(limit, canceled);
    EXPECT_EQ(canceled, sley::context_errc::canceled);
    ++waited;
  });
  cancel();
  EXPECT_TRUE(eventually([&] { return waited == 1; }));
  p.stdin_pipe().close();
  group.wait();
  EXPECT_EQ(waited, 7);
  EXPECT_TRUE(p.wait(sley::context::background()).success());
  EXPECT_TRUE(p.wait(in(-1s), error).success()) << "it has ended";
  EXPECT_FALSE(error);
}

FOREIGN_TEST(process, is_for_threads_of_the_users_too) {
  const process p = process::start(shell("exit 5"));
  std::thread other([&] { EXPECT_EQ(p.wait().code(), 5); });
  EXPECT_EQ(p.wait().code(), 5);
  other.join();
}

GO_TEST(process, kill_after_its_end_signals_no_other_process) {
  const process p = process::start({.program = "sleep", .arguments = {"1000"}});
  p.kill(SIGTERM);
  EXPECT_EQ(p.wait().signal(), SIGTERM);
  std::error_code error;
  p.kill(SIGTERM, error);
  EXPECT_EQ(error, std::errc::no_such_process);
  EXPECT_THROW(p.kill(SIGTERM), std::system_error);
}

GO_TEST(process, that_ignores_one_signal_is_ended_by_another) {
  command c = shell("trap '' TERM; echo ready; exec sleep 1000");
  c.output = redirect::pipe();
  process p = process::start(c);
  EXPECT_EQ(first_line(p.stdout_pipe()), "ready");
  p.kill(SIGTERM);
  std::error_code error;
  p.wait(in(20ms), error);
  EXPECT_EQ(error, std::errc::timed_out);
  p.kill(SIGKILL);
  EXPECT_EQ(p.wait().signal(), SIGKILL);
}

GO_TEST(process, leaves_no_zombie_without_a_wait) {
  int pid = 0;
  {
    process p = process::start({.program = "cat", .input = redirect::pipe()});
    pid = p.pid();
    EXPECT_FALSE(is_gone(pid));
  }  // its input ends here
  EXPECT_TRUE(eventually([pid] { return is_gone(pid); }));
}

GO_TEST(process, a_process_reaped_elsewhere_has_no_status) {
  const auto old = std::signal(SIGCHLD, SIG_IGN);
  process p = process::start({.program = "cat", .input = redirect::pipe()});
  p.stdin_pipe().close();
  std::error_code error;
  EXPECT_FALSE(p.wait(error).exited());
  EXPECT_EQ(error, std::errc::no_child_process);
  std::signal(SIGCHLD, old);
}

// F9.
GO_TEST(process, many_at_once_end_each_in_its_own_way) {
  const int count = rounds(200);
  wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([i] {
      const process p = process::start(shell("exit " + std::to_string(i)));
      EXPECT_EQ(p.wait().code(), i);
    });
  }
  group.wait();
}

// ---- from start to end ----

GO_TEST(process, run_collects_its_output) {
  const auto result = run(shell("echo out; echo err >&2; exit 4"));
  EXPECT_EQ(result.status.code(), 4);
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_FALSE(result.is_truncated);
}

// More than pipes hold, in both directions at the same time.
GO_TEST(process, run_feeds_its_input) {
  const std::string much(1'000'000, 'x');
  EXPECT_EQ(run({.program = "cat"}, {.input = much}).output, much);
  EXPECT_TRUE(run({.program = "true"}, {.input = much}).status.success()) << "it need not read";
  const auto some = run({.program = "cat"}, {.input = much, .output_bytes = 1000});
  EXPECT_EQ(some.output, std::string(1000, 'x'));
  EXPECT_TRUE(some.is_truncated);
  EXPECT_TRUE(some.status.success()) << "it could write all";
}

// F9.
GO_TEST(process, run_kills_it_when_the_context_ends) {
  std::error_code error;
  const auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 50ms);
  const auto result = run(shell("echo begun; exec sleep 1000"), {.ctx = ctx}, error);
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(result.status.signal(), SIGKILL);
  EXPECT_THROW(run({.program = "/nonexistent/sley"}), std::system_error);
}
