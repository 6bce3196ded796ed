// Storms of signals: a timer that interrupts system calls thousands of times a second, and a thread
// that sends SIGCHLD, SIGPROF and SIGURG to all others all the time. The handlers are installed
// without SA_RESTART. Everything gives the right answers meanwhile, and errno is the goroutine's.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/preempt.hpp"
#include "support/threads.hpp"
#include "support/use_everything.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

using sley::wait_group;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

constexpr int stormy_signals[] = {SIGALRM, SIGCHLD, SIGPROF};
// Each signal takes a sanitizer many times longer, and a thread shall get on all the same.
constexpr int period_us = sley_test::under_sanitizer ? 2000 : 200;

class storm {
 public:
  storm() {
    handled_ = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { ++handled_; };
    for (const int signal : stormy_signals) ::sigaction(signal, &action, nullptr);
    const itimerval often = {.it_interval = {0, period_us}, .it_value = {0, period_us}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    sender_ = std::thread([this] { send(); });
  }
  ~storm() {
    EXPECT_TRUE(eventually([] { return handled_ >= 100; })) << "there is no storm";
    stop_ = true;
    sender_.join();
    const itimerval off = {};
    ::setitimer(ITIMER_REAL, &off, nullptr);  // the handler stays: some signals are under way
  }
  storm(const storm&) = delete;
  storm& operator=(const storm&) = delete;

 private:
  void send() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (!stop_) {
      std::error_code gone;  // a thread that ends meanwhile
      for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone)) {
        const long id = std::strtol(thread.path().filename().c_str(), nullptr, 10);
        if (id == ::gettid()) continue;
        for (const int signal : {SIGCHLD, SIGPROF, SIGURG}) {
          ::syscall(SYS_tgkill, ::getpid(), id, signal);
        }
      }
      ::usleep(period_us);
    }
  }

  static inline std::atomic<int> handled_{0};
  std::atomic<bool> stop_{false};
  std::thread sender_;
};

}  // namespace

GO_TEST(signal_storm, changes_no_answer) {
  const storm all;
  for (int i = 0; i < rounds(10); ++i) sley_test::use_everything();
}

GO_TEST(signal_storm, loses_and_repeats_no_byte) {
  const storm all;
  const sley_test::tcp_pair c = sley_test::connect_tcp();
  c.client.set_write_buffer(10'000);
  std::string text(1'000'000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * 7 / 3 % 26);
  wait_group group;
  for (int i = 0; i < 3; ++i) {
    group.go([&] { c.client.write_all(bytes_of(text)); });
    EXPECT_EQ(sley_test::read_exactly(c.server, text.size()), text);
  }
  group.wait();
}

// In the middle of malloc, of the loader, and of the making of threads and processes.
GO_TEST(signal_storm, may_come_in_locks_of_libc) {
  const storm all;
  wait_group group;
  group.go([] {
    for (int i = 0; i < rounds(2000); ++i) {
      std::vector<std::unique_ptr<char[]>> pieces;
      for (std::size_t n = 0; n < 20; ++n) pieces.push_back(std::make_unique<char[]>(n * 97));
    }
  });
  group.go([] {
    if (sley_test::under_sanitizer) return;  // of what is loaded they keep records of their own
    for (int i = 0; i < 30; ++i) {
      void* library = ::dlopen("libm.so.6", RTLD_NOW);
      EXPECT_NE(::dlsym(library, "cos"), nullptr);
      ::dlclose(library);
    }
  });
  group.go([] {
    for (int i = 0; i < 5; ++i) {
      const auto result = sley::os::run({.program = "echo", .arguments = {"there"}});
      EXPECT_EQ(result.output, "there\n");
      EXPECT_TRUE(result.status.success());
    }
  });
  group.go([] {
    for (int i = 0; i < 20; ++i) sley_test::compute_for(1ms);
  });
  group.wait();
}

// What a call has reported is there until the next one, whatever handlers and preemptions do.
GO_TEST(signal_storm, leaves_errno_alone) {
  const storm all;
  std::atomic<int> changed{0};
  sley_test::preempt_in_the_middle_of([&changed] {
    const int before = ::close(-1) == -1 ? EBADF : 0;
    sley_test::compute_for(100us);
    if (sley_test::get_errno() != before) ++changed;
  });
  EXPECT_EQ(changed, 0);
}

// Calls that block their thread and that no SA_RESTART goes on with: the open of a pipe that has no
// writer yet, and the connection to a listener whose queue is full.
GO_TEST(signal_storm, is_none_of_the_callers_business) {
  const storm all;
  const std::string name = "/tmp/sley-fault-fifo-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  const std::string socket_name = "@sley-fault-" + std::to_string(::getpid());
  const auto listener = sley::net::unix_listener::listen(socket_name, {.backlog = 0});
  std::vector<sley::net::unix_stream> connected;
  connected.push_back(sley::net::unix_stream::connect(socket_name));
  wait_group group;
  group.go([&] {
    const auto reader = sley::os::file::open(name, O_RDONLY);
    EXPECT_EQ(reader.is_open(), true);
  });
  group.go([&] { connected.push_back(sley::net::unix_stream::connect(socket_name)); });
  sley::this_goroutine::sleep_for(50ms);
  const auto writer = sley::os::file::open(name, O_WRONLY);
  const auto first = listener.accept();
  const auto second = listener.accept();
  group.wait();
  ::unlink(name.c_str());
  EXPECT_EQ(connected.size(), 2u);
}

// --- urgent data ---------------------------------------------------------------------------------

namespace {

std::atomic<int> urgent{0};

// Before the runtime has a handler: this one is called by it, as its predecessor.
const bool has_handler = [] {
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) { ++urgent; };
  return ::sigaction(SIGURG, &action, nullptr) == 0;
}();

}  // namespace

// A read stops at the mark of urgent data. That the program has taken that already, when a poller
// that wakes late looks, makes it no reason to take the socket for empty.
GO_TEST(urgent_data, reaches_the_programs_handler_and_its_reader) {
  ASSERT_TRUE(has_handler);
  for (int i = 0; i < rounds(300); ++i) {
    const sley_test::tcp_pair c = sley_test::connect_tcp();
    const int fd = c.server.native_handle();
    ASSERT_EQ(::fcntl(fd, F_SETOWN, ::getpid()), 0);
    urgent = 0;
    c.client.write_all(bytes_of("before"));
    EXPECT_EQ(::send(c.client.native_handle(), "!", 1, MSG_OOB), 1);
    c.client.write_all(bytes_of("after"));
    EXPECT_TRUE(eventually([] { return urgent > 0; }));
    char byte = ' ';
    EXPECT_EQ(::recv(fd, &byte, 1, MSG_OOB), 1);
    EXPECT_EQ(byte, '!');
    EXPECT_EQ(sley_test::read_exactly(c.server, 11), "beforeafter");
  }
}
