// Fork: the child of a fork may end and become another program, and its parent goes on as before. A
// use of the library in the child ends the child with a message.
#include "runtime/entry/enter.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using sley::chan;
using sley::run;
using sley_test::rounds;
using sley_test::run_child;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

// Runs f in the child of a fork. Returns the child.
template <class F>
pid_t fork_off(F f) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::alarm(sley_test::patience.count());
  f();
  ::_exit(66);
}

// Returns how it ended.
int wait_for(pid_t child) {
  int status = -1;
  sley::blocking([&] {
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  });
  return status;
}

template <class F>
int fork_and(F f) {
  return wait_for(fork_off(f));
}

bool exited_with(int wait_status, int status) {
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == status) return true;
  std::printf("ended with wait status %#x\n", static_cast<unsigned>(wait_status));
  std::fflush(stdout);
  return false;
}

void exec_shell(const char* command) {
  ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
}

// That everything goes on as before.
bool still_works() {
  const chan<int> c;
  sley::wait_group group;
  std::atomic<int> sum{0};
  for (int i = 0; i < 20; ++i) {
    group.go([&, c] {
      this_goroutine::sleep_for(100us);
      sum += *c.receive();
    });
  }
  for (int i = 0; i < 20; ++i) c.send(1);
  group.wait();
  return sum == 20;
}

}  // namespace

CHILD_MAIN(forks_in_a_goroutine) {
  return run([] {
    for (int i = 0; i < 3; ++i) {
      const int exited = sley::async([] { return fork_and([] { ::_exit(5); }); }).get();
      if (!exited_with(exited, 5) || !still_works()) return 3;
      const int executed = fork_and([] { exec_shell("exit 6"); });
      if (!exited_with(executed, 6) || !still_works()) return 4;
    }
    return 7;
  });
}
CHILD_MAIN(forks_in_a_thread) {
  if (!still_works()) return 3;
  for (int i = 0; i < 3; ++i) {
    if (!exited_with(fork_and([] { ::_exit(5); }), 5) || !still_works()) return 4;
    if (!exited_with(fork_and([] { exec_shell("exit 6"); }), 6) || !still_works()) return 5;
  }
  return 7;
}
CHILD_MAIN(forks_while_others_work) {
  return run([] {
    const chan<int> c(4);
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> sent{0};
    std::int64_t received = 0;
    sley::wait_group senders;
    sley::wait_group receiver;
    for (int i = 0; i < 4; ++i) {
      senders.go([&] {
        while (!stop) {
          c.send(1);
          ++sent;
        }
      });
    }
    receiver.go([&] {
      for (const int value : c) received += value;
    });
    bool all_right = sley_test::eventually([&] { return sent > 0; });
    for (int i = 0; i < rounds(30); ++i) {
      const auto end = [i] { i % 2 == 0 ? ::_exit(5) : exec_shell("exit 5"); };
      all_right = exited_with(fork_and(end), 5) && all_right;
    }
    stop = true;
    senders.wait();
    c.close();
    receiver.wait();
    return all_right && received == sent ? 7 : 3;
  });
}
CHILD_MAIN(forks_before_the_start) {
  const int status = fork_and([] { ::_exit(run([] { return still_works() ? 5 : 6; })); });
  return exited_with(status, 5) && run([] { return still_works(); }) == 1 ? 7 : 3;
}
CHILD_MAIN(starts_programs) {
  return run([] {
    const int status = sley::blocking([] { return std::system("exit 3"); });
    if (!exited_with(status, 3)) return 3;
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    pid_t pid = -1;
    if (::posix_spawnp(&pid, name, nullptr, nullptr, arguments, environ) != 0) return 4;
    int spawned = -1;
    sley::blocking([&] { ::waitpid(pid, &spawned, 0); });
    return exited_with(spawned, 0) && still_works() ? 7 : 5;
  });
}

TEST(fork_rules, a_child_may_exit_and_exec_and_its_parent_goes_on) {
  for (const char* name : {"forks_in_a_goroutine", "forks_in_a_thread", "forks_while_others_work",
                           "forks_before_the_start", "starts_programs"}) {
    if (sley_test::under_tsan && std::string_view(name) == "forks_before_the_start") continue;
    const auto child = run_child(name);
    EXPECT_EQ(child.status, 7) << name << ": " << child;
    EXPECT_EQ(child.err, "") << name << ": " << child;
  }
}

namespace {

struct call {
  const char* name;
  void (*make)();
};

constexpr call calls[] = {
    {"go", [] { sley::go([] {}); }},
    {"yield", [] { this_goroutine::yield(); }},
    {"sleep", [] { this_goroutine::sleep_for(1ms); }},
    {"receive", [] { (void)chan<int>().receive(); }},
    {"select", [] { sley::select(sley::on_receive(chan<int>()), sley::on_timeout(1ms)); }},
    {"async", [] { sley::async([] {}).get(); }},
    {"mutex",
     [] {
       sley::mutex m;
       m.lock();
       m.lock();
     }},
    {"set_max_procs", [] { sley::runtime::set_max_procs(2); }},
    {"run", [] { run([] {}); }},
};

// Makes the call of SLEY_TEST_CALL in the child of a fork.
int fork_and_call() {
  const char* name = std::getenv("SLEY_TEST_CALL");
  for (const auto& c : calls) {
    if (name == nullptr || std::string_view(name) != c.name) continue;
    return exited_with(fork_and(c.make), 2) && still_works() ? 7 : 3;
  }
  return 4;
}

}  // namespace

CHILD_MAIN(forks_in_a_goroutine_and_calls) {
  return run([] { return sley::async([] { return fork_and_call(); }).get(); });
}
CHILD_MAIN(forks_in_a_thread_and_calls) { return still_works() ? fork_and_call() : 5; }

// At the moment of the fork another thread keeps the goroutine's processor from being used, as
// sysmon does when it takes it away. In the child that thread does not exist.
CHILD_MAIN(forks_while_its_border_is_closed) {
  return run([] {
    sley::rt::machine* m = sley::rt::current_machine();
    std::atomic<bool> is_closed{false};
    std::atomic<bool> has_forked{false};
    std::thread other([&] {
      EXPECT_TRUE(m->border.close());
      is_closed = true;
      while (!has_forked) {
      }
      m->border.open();
    });
    while (!is_closed) {
    }
    const pid_t child = fork_off([] { this_goroutine::yield(); });
    has_forked = true;
    other.join();
    return exited_with(wait_for(child), 2) && still_works() ? sley_test::verdict() : 3;
  });
}

TEST(fork_rules, a_child_of_a_fork_beside_a_closed_border_ends_with_the_same_error) {
  if (sley_test::under_tsan) GTEST_SKIP() << "it has its own rules for forks";
  const auto child = run_child("forks_while_its_border_is_closed");
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_TRUE(sley_test::contains_match(child.err, "fatal error: .*fork")) << child;
}

TEST(fork_rules, a_child_that_uses_the_library_ends_with_a_fatal_error_that_names_fork) {
  if (sley_test::under_tsan) GTEST_SKIP() << "it has its own rules for forks";
  for (const char* forker : {"forks_in_a_goroutine_and_calls", "forks_in_a_thread_and_calls"}) {
    for (const auto& c : calls) {
      const auto child = run_child(forker, {{"SLEY_TEST_CALL", c.name}});
      EXPECT_EQ(child.status, 7) << forker << " " << c.name << ": " << child;
      EXPECT_TRUE(sley_test::contains_match(child.err, "fatal error: .*fork"))
          << forker << " " << c.name << ": " << child;
    }
  }
}
