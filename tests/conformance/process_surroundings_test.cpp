// Processes where the surroundings are not as they should be: how children end is taken by others,
// threads end, files are locked, texts have zero bytes.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <sley/os.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using sley::wait_group;
using sley::os::command;
using sley::os::file;
using sley::os::process;
using sley::os::redirect;
using sley::os::run;
using sley_test::eventually;
using sley_test::rounds;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

command shell(const std::string& line) { return {.program = "/bin/sh", .arguments = {"-c", line}}; }

// Another action for SIGCHLD while it lives.
class sigchld_action {
 public:
  sigchld_action(void (*handler)(int), int flags) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    EXPECT_EQ(::sigaction(SIGCHLD, &action, &before_), 0);
  }
  ~sigchld_action() { ::sigaction(SIGCHLD, &before_, nullptr); }
  sigchld_action(const sigchld_action&) = delete;
  sigchld_action& operator=(const sigchld_action&) = delete;

 private:
  struct sigaction before_ = {};
};

void expect_all_but_the_status() {
  for (int i = 0; i < rounds(50); ++i) {
    std::error_code error;
    const process p = process::start({.program = "/bin/true"}, error);
    ASSERT_FALSE(error) << error.message();
    const auto status = p.wait(error);
    if (!error) continue;  // it was asked for in time
    EXPECT_EQ(error, std::errc::no_child_process);
    EXPECT_FALSE(status.exited() || status.signaled());
    EXPECT_EQ(status.to_string(), "unknown end");
    p.kill(SIGKILL, error);
    EXPECT_EQ(error, std::errc::no_such_process);
  }
  for (int i = 0; i < rounds(50); ++i) {
    std::error_code error;
    const auto result = run(shell("echo out; echo err >&2"), {}, error);
    EXPECT_TRUE(!error || error == std::errc::no_child_process) << error.message();
    EXPECT_EQ(result.output, "out\n");
    EXPECT_EQ(result.errors, "err\n");
  }
}

template <class F>
void expect_unknown_end(F f) {
  try {
    f();
    ADD_FAILURE() << "its end is known";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::no_child_process);
    EXPECT_NE(std::string(e.what()).find("how it has ended is unknown"), std::string::npos)
        << e.what();
  }
}

}  // namespace

// ---- how children end is taken by others ----

GO_TEST(process, works_where_sigchld_is_ignored) {
  const sigchld_action ignored(SIG_IGN, 0);
  expect_all_but_the_status();
  expect_unknown_end([] { process::start({.program = "/bin/true"}).wait(); });
  expect_unknown_end([] { run({.program = "/bin/true"}); });
}

GO_TEST(process, works_where_children_leave_no_status) {
  const sigchld_action forgotten(SIG_DFL, SA_NOCLDWAIT);
  expect_all_but_the_status();
  expect_unknown_end([] { process::start({.program = "/bin/true"}).wait(); });
}

GO_TEST(process, works_where_another_thread_waits_for_all_children) {
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) {
      if (::waitpid(-1, nullptr, 0) < 0) std::this_thread::yield();
    }
  });
  expect_all_but_the_status();
  is_over = true;
  sley::blocking([&] { other.join(); });
}

GO_TEST(process, that_cannot_run_is_an_error_where_sigchld_is_ignored) {
  const sigchld_action ignored(SIG_IGN, 0);
  for (int i = 0; i < rounds(50); ++i) {
    std::error_code error;
    process::start({.program = "/nonexistent/sley"}, error);
    EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  }
}

// A process that lives is waited for all the same. What it had open is closed when it ends; the
// kernel may keep its number for a moment longer.
GO_TEST(process, is_waited_for_to_its_end_where_sigchld_is_ignored) {
  const sigchld_action ignored(SIG_IGN, 0);
  process p =
      process::start({.program = "cat", .input = redirect::pipe(), .output = redirect::pipe()});
  const auto read_at_once = [&] {
    char byte;
    return ::read(p.stdout_pipe().native_handle(), &byte, 1);
  };
  std::error_code error;
  p.wait(std::chrono::steady_clock::now() + 10ms, error);
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(read_at_once(), -1) << "it has ended";
  p.kill(SIGKILL);
  p.wait(error);
  EXPECT_EQ(error, std::errc::no_child_process);
  EXPECT_EQ(read_at_once(), 0) << "it has not ended";
}

// ---- threads that end ----

// Asks for a signal at its parent's end, says so, and waits.
CHILD_MAIN(dies_with_its_parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 'x';
  if (::write(1, &byte, 1) != 1) return 1;
  return ::read(0, &byte, 1) == 0 ? 5 : 1;
}

namespace {

command dying_with_parent() {
  return {.program = "/proc/self/exe",
          .arguments = {"--sley_child=dies_with_its_parent"},
          .input = redirect::pipe(),
          .output = redirect::pipe()};
}

void wait_until_it_runs(process& p) {
  char byte = 0;
  EXPECT_EQ(p.stdout_pipe().read_some(std::as_writable_bytes(std::span(&byte, 1))), 1U);
}

}  // namespace

// The goroutine that starts it takes its thread along when it ends.
GO_TEST(process, does_not_end_with_a_thread_of_the_runtime) {
  for (int i = 0; i < rounds(10); ++i) {
    process p;
    wait_group group;
    pid_t thread = 0;
    group.go([&] {
      p = process::start(dying_with_parent());
      sley::this_goroutine::lock_os_thread();
      thread = ::gettid();
    });
    group.wait();
    EXPECT_TRUE(eventually([thread] {
      return ::access(("/proc/self/task/" + std::to_string(thread)).c_str(), F_OK) != 0;
    }));
    wait_until_it_runs(p);
    p.stdin_pipe().close();
    const auto status = p.wait();
    EXPECT_EQ(status.code(), 5) << status.to_string();
  }
}

// What a locked goroutine has set for its thread counts for what it starts.
GO_TEST(process, of_a_locked_goroutine_inherits_the_state_of_its_thread) {
  const sley::os_thread_lock lock;
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const auto result =
      run({.program = "grep", .arguments = {"Cpus_allowed_list", "/proc/self/status"}});
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(result.output, "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
}

GO_TEST(process, may_be_started_by_many_at_once) {
  const int count = rounds(100);
  wait_group group;
  std::atomic<int> ended = 0;
  for (int i = 0; i < count; ++i) {
    group.go([&] {
      if (run({.program = "echo", .arguments = {"x"}}).output == "x\n") ++ended;
    });
  }
  group.wait();
  EXPECT_EQ(ended, count);
}

// The thread that starts processes is no reason to wait.
CHILD_MAIN(deadlocks_after_a_process) {
  return sley::run([] {
    process::start({.program = "true"}).wait();
    sley::chan<void>().receive();
  });
}

TEST(process, that_was_started_hides_no_deadlock) {
  if (sley_test::under_tsan) GTEST_SKIP() << "it has a thread of its own";
  const auto child = sley_test::run_child("deadlocks_after_a_process");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_NE(child.err.find("all goroutines are asleep - deadlock!"), std::string::npos) << child;
}

// ---- record locks ----

namespace {

// Does this process hold its lock? Another process looks. The lock is on the byte whose place is
// this process's number, because other processes lock the same device at the same time.
bool is_locked(const std::string& path) {
  const auto result = run({.program = "python3",
                           .arguments = {"-c",
                                         "import fcntl, sys\n"
                                         "f = open(sys.argv[1], 'rb+', buffering=0)\n"
                                         "try:\n"
                                         "  fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, "
                                         "int(sys.argv[2]))\n"
                                         "except OSError:\n"
                                         "  sys.exit(3)\n",
                                         path, std::to_string(::getpid())}});
  EXPECT_TRUE(result.status.code() == 0 || result.status.code() == 3) << result.errors;
  return result.status.code() == 3;
}

void lock_record(int fd) {
  struct flock own = {};
  own.l_type = F_WRLCK;
  own.l_whence = SEEK_SET;
  own.l_start = ::getpid();
  own.l_len = 1;
  ASSERT_EQ(::fcntl(fd, F_SETLK, &own), 0);
}

}  // namespace

GO_TEST(process, that_gets_a_locked_file_leaves_it_locked) {
  const std::string path = "/tmp/sley_locked_" + std::to_string(::getpid());
  const file f = file::open(path, O_RDWR | O_CREAT, 0600);
  lock_record(f.native_handle());
  ASSERT_TRUE(is_locked(path));
  command c = shell("echo x; echo y >&2");
  c.output = redirect::to(f);
  c.errors = redirect::to(f);
  EXPECT_TRUE(process::start(c).wait().success());
  EXPECT_EQ(f.size(), 4U);
  EXPECT_TRUE(is_locked(path));
  c = shell("cat");
  c.input = redirect::to(f);
  EXPECT_TRUE(process::start(c).wait().success());
  EXPECT_TRUE(is_locked(path));
  ::unlink(path.c_str());
}

// As a serial line: a device, which can be waited for.
GO_TEST(file, that_is_taken_over_keeps_its_record_locks) {
  const int controller = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(controller, 0);
  ASSERT_EQ(::grantpt(controller) | ::unlockpt(controller), 0);
  const std::string path = ::ptsname(controller);
  for (const std::string& p : {path, "/tmp/sley_locked_" + std::to_string(::getpid())}) {
    const int fd = ::open(p.c_str(), O_RDWR | O_NOCTTY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    lock_record(fd);
    ASSERT_TRUE(is_locked(p));
    const file f(fd);
    EXPECT_TRUE(is_locked(p)) << p;
    const int flags = ::fcntl(f.native_handle(), F_GETFL);
    EXPECT_EQ((flags & O_NONBLOCK) != 0, p == path);
    if (p != path) ::unlink(p.c_str());
  }
  ::close(controller);
}

// A device that cannot be waited for.
GO_TEST(file, of_a_device_that_is_always_ready_keeps_its_record_locks) {
  const int fd = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  lock_record(fd);
  ASSERT_TRUE(is_locked("/dev/zero"));
  const file f(fd);
  EXPECT_TRUE(is_locked("/dev/zero"));
  char bytes[10];
  EXPECT_EQ(f.read_some(std::as_writable_bytes(std::span(bytes))), sizeof bytes);
}

// ---- texts with zero bytes ----

GO_TEST(process, with_a_zero_byte_in_a_text_is_refused) {
  const auto expect_refused = [](const command& what, std::string_view shown) {
    std::error_code error;
    EXPECT_EQ(process::start(what, error).pid(), 0);
    EXPECT_EQ(error, std::errc::invalid_argument);
    for (const bool by_run : {false, true}) {
      try {
        by_run ? static_cast<void>(run(what)) : static_cast<void>(process::start(what));
        ADD_FAILURE() << "not refused: " << shown;
      } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::invalid_argument);
        EXPECT_NE(std::string_view(e.what()).find(shown), std::string_view::npos) << e.what();
      }
    }
  };
  expect_refused({.program = "/bin/true\0x"s}, R"("/bin/true\0x" with a zero byte at position 9)");
  expect_refused({.program = "/bin/echo", .arguments = {"a", "b\0c"s}},
                 R"(argument 2 "b\0c" with a zero byte at position 1)");
  expect_refused({.program = "/bin/true", .environment = {{"A=1", "B=2\0"s}}},
                 R"(the variable "B=2\0" with)");
  expect_refused({.program = "/bin/true", .directory = "/\0tmp"s},
                 R"(the directory "/\0tmp" with)");
}
