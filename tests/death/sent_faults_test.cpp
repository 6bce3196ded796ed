// Signals of faults that a process or the program itself sends, and the program's own handlers of
// them: all is as without the library, and an overflow is noticed afterwards as before.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

using sley::run;
using sley_test::run_child;
using sley_test::under_sanitizer;

namespace {

// Not a tail call, and of no known depth.
[[gnu::noinline]] int recurse(int depth) {
  volatile char page[512];
  page[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + page[0];
}

[[gnu::noinline]] int read_null() {
  volatile int* volatile null = nullptr;
  return *null;
}

std::atomic<int> calls{0};

struct sigaction counting(int flags) {
  struct sigaction action = {};
  action.sa_handler = [](int) { ++calls; };
  action.sa_flags = flags;
  return action;
}

void install(const struct sigaction& action) { ::sigaction(SIGSEGV, &action, nullptr); }

class sent_fault : public testing::Test {
  void SetUp() override {
    if (under_sanitizer) GTEST_SKIP() << "the sanitizers have a handler";
  }
};

}  // namespace

// --- the default action --------------------------------------------------------------------------

namespace {

int setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? 0 : std::atoi(value);
}

}  // namespace

// Ends by the signal that SLEY_TEST_SIGNAL says, in the way that SLEY_TEST_WAY does.
CHILD_MAIN(sends_itself_a_signal) {
  const int signal = setting("SLEY_TEST_SIGNAL");
  return run([signal] {
    switch (setting("SLEY_TEST_WAY")) {
      case 0: ::raise(signal); break;
      case 1: ::kill(::getpid(), signal); break;
      case 2: ::sigqueue(::getpid(), signal, {.sival_int = 5}); break;
      case 3: ::pthread_kill(::pthread_self(), signal); break;
      case 4: std::thread([signal] { ::kill(::getpid(), signal); }).join(); break;
      default: break;
    }
    sley::this_goroutine::sleep_for(std::chrono::seconds(20));
    return 3;
  });
}

TEST_F(sent_fault, ends_the_process_by_its_signal) {
  constexpr int ways = 5;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    for (int way = 0; way < ways; ++way) {
      const auto child = run_child(
          "sends_itself_a_signal",
          {{"SLEY_TEST_SIGNAL", std::to_string(signal)}, {"SLEY_TEST_WAY", std::to_string(way)}});
      EXPECT_EQ(child.signal, signal) << "way " << way << ": " << child;
      EXPECT_EQ(child.err, "") << "way " << way << ": " << child;
    }
  }
}

// --- handlers from before ------------------------------------------------------------------------

CHILD_MAIN(overflows_after_handled_signals) {
  install(counting(0));
  return run([] {
    for (int i = 0; i < 3; ++i) ::raise(SIGSEGV);
    ::kill(::getpid(), SIGSEGV);
    while (calls < 4) sley::this_goroutine::yield();
    return recurse(0);
  });
}

TEST_F(sent_fault, leaves_the_notice_of_overflows_as_it_was) {
  const auto child = run_child("overflows_after_handled_signals");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_NE(child.err.find("stack overflow"), std::string::npos) << child;
}

CHILD_MAIN(is_handled_once) {
  install(counting(static_cast<int>(SA_RESETHAND)));
  return run([] {
    ::raise(SIGSEGV);
    if (calls != 1) return 3;
    ::raise(SIGSEGV);
    return 4;
  });
}
CHILD_MAIN(faults_with_a_handler_for_once) {
  install(counting(static_cast<int>(SA_RESETHAND)));
  return run([] { return read_null(); });
}

TEST_F(sent_fault, resets_a_handler_that_is_for_once) {
  EXPECT_EQ(run_child("is_handled_once").signal, SIGSEGV);
  EXPECT_EQ(run_child("faults_with_a_handler_for_once").signal, SIGSEGV);
}

namespace {

std::atomic<int> depth{0};
std::atomic<int> deepest{0};

// Sends the signal to its own thread once more.
void handle_and_raise(int signal) {
  if (++depth > deepest) deepest = depth.load();
  if (++calls == 1) ::raise(signal);
  --depth;
}

int depth_with(int flags) {
  struct sigaction action = {};
  action.sa_handler = &handle_and_raise;
  action.sa_flags = flags;
  install(action);
  return run([] {
    ::raise(SIGSEGV);
    return calls == 2 ? 10 + deepest : 3;
  });
}

}  // namespace

CHILD_MAIN(defers_the_same_signal) { return depth_with(0); }
CHILD_MAIN(does_not_defer_it) { return depth_with(SA_NODEFER); }

TEST_F(sent_fault, is_deferred_in_its_handler_as_that_one_wants) {
  EXPECT_EQ(run_child("defers_the_same_signal").status, 11);
  EXPECT_EQ(run_child("does_not_defer_it").status, 12);
}

CHILD_MAIN(handles_with_others_blocked) {
  struct sigaction other = {};
  other.sa_handler = [](int) { calls = calls == 1 ? 2 : 100; };
  ::sigaction(SIGUSR1, &other, nullptr);
  struct sigaction action = {};
  action.sa_handler = [](int) {
    ::raise(SIGUSR1);  // comes when this returns
    ++calls;
  };
  sigaddset(&action.sa_mask, SIGUSR1);
  install(action);
  return run([] {
    ::raise(SIGSEGV);
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    if (sigismember(&now, SIGUSR1) != 0 || sigismember(&now, SIGSEGV) != 0) return 4;
    return calls == 2 ? 7 : 3;
  });
}

TEST_F(sent_fault, is_handled_with_the_signals_of_its_mask_blocked) {
  EXPECT_EQ(run_child("handles_with_others_blocked").status, 7);
}

CHILD_MAIN(handles_with_all_details) {
  struct sigaction action = {};
  action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
    const bool is_right = signal == SIGSEGV && info->si_code == SI_QUEUE &&
                          info->si_value.sival_int == 17 && info->si_pid == ::getpid() &&
                          context != nullptr;
    calls = is_right ? 1 : 2;
  };
  action.sa_flags = SA_SIGINFO;
  install(action);
  return run([] {
    ::sigqueue(::getpid(), SIGSEGV, {.sival_int = 17});
    while (calls == 0) sley::this_goroutine::yield();
    return calls == 1 ? 7 : 3;
  });
}

TEST_F(sent_fault, the_handler_gets_the_value_that_was_sent) {
  EXPECT_EQ(run_child("handles_with_all_details").status, 7);
}

// --- ignored -------------------------------------------------------------------------------------

namespace {

// Does a read that the signal comes into go on?
bool is_read_resumed() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const pthread_t reader = ::pthread_self();
  std::thread sender([&] {
    for (int i = 0; i < 20; ++i) {
      ::pthread_kill(reader, SIGSEGV);
      ::usleep(1000);
    }
    static_cast<void>(!::write(ends[1], "x", 1));
  });
  char byte = 0;
  const bool was_read = ::read(ends[0], &byte, 1) == 1;
  sender.join();
  return was_read;
}

}  // namespace

CHILD_MAIN(ignores_it) {
  ::signal(SIGSEGV, SIG_IGN);
  return run([] {
    ::raise(SIGSEGV);
    return is_read_resumed() ? 7 : 3;
  });
}
CHILD_MAIN(ignores_it_and_faults) {
  ::signal(SIGSEGV, SIG_IGN);
  return run([] { return read_null(); });
}
CHILD_MAIN(ignores_it_and_overflows) {
  ::signal(SIGSEGV, SIG_IGN);
  return run([] {
    ::raise(SIGSEGV);
    return recurse(0);
  });
}

TEST_F(sent_fault, that_is_ignored_changes_nothing) {
  EXPECT_EQ(run_child("ignores_it").status, 7);
  EXPECT_EQ(run_child("ignores_it_and_faults").signal, SIGSEGV);
  EXPECT_EQ(run_child("ignores_it_and_overflows").status, 2);
}

// --- wild pointers -------------------------------------------------------------------------------

CHILD_MAIN(writes_far_below_its_stack) {
  return run([] {
    constexpr std::size_t stack_bytes = 64 * 1024;
    sley::go({.stack_size = stack_bytes}, [] {
      volatile char local = 1;
      const volatile char* in_the_guard = &local - stack_bytes - 24 * 1024;
      std::_Exit(*in_the_guard);
    });
    sley::this_goroutine::sleep_for(std::chrono::seconds(20));
    return 3;
  });
}

TEST_F(sent_fault, a_wild_pointer_into_the_guard_is_no_overflow) {
  const auto child = run_child("writes_far_below_its_stack");
  EXPECT_EQ(child.signal, SIGSEGV) << child;
  EXPECT_EQ(child.err.find("sley: SIGSEGV (address 0x"), 0U) << child;
  EXPECT_EQ(child.err.find("overflow"), std::string::npos) << child;
}
