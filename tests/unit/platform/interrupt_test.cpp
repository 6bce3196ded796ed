// Aim: an interrupt reaches the thread that it is meant for and disturbs nothing there, and signals
// that are not the runtime's go where they went before. Method: threads that count for themselves
// what reaches them; death tests for what is installed once in a process.
#include "platform/interrupt.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "platform/os.hpp"
#include "support/threads.hpp"

namespace platform = sley::platform;
using sley_test::spin_until;

namespace {

constexpr std::int64_t ms = 1'000'000;

thread_local std::atomic<int>* interrupts_here = nullptr;
thread_local std::function<void()>* meanwhile = nullptr;  // called once, in the handler

bool count_interrupt() noexcept {
  errno = ENOTTY;
  if (interrupts_here != nullptr) ++*interrupts_here;
  if (auto* f = std::exchange(meanwhile, nullptr)) (*f)();
  return true;
}

// A thread that runs `body` and counts its interrupts.
class target {
 public:
  explicit target(std::function<void()> body)
      : thread_([this, body] {
          interrupts_here = &interrupts_;
          id_ = platform::current_thread_id();
          body();
        }) {
    while (id_ == 0) platform::yield_thread();
  }
  ~target() { thread_.join(); }
  target(const target&) = delete;
  target& operator=(const target&) = delete;

  std::int32_t id() const { return id_; }
  int interrupts() const { return interrupts_; }

 private:
  std::atomic<int> interrupts_{0};
  std::atomic<std::int32_t> id_{0};
  std::thread thread_;
};

class interrupt : public testing::Test {
 protected:
  static void SetUpTestSuite() { platform::install_interrupt_handler(&count_interrupt); }
};

// D9, TestSignalM
TEST_F(interrupt, arrives_on_exactly_the_thread_that_it_is_sent_to) {
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<target>> targets;
  for (int i = 0; i < 4; ++i) {
    targets.push_back(std::make_unique<target>([&stop] {
      while (!stop) platform::yield_thread();
    }));
  }
  std::vector<int> expected(targets.size(), 0);
  for (std::size_t i = 0; i < 100; ++i) {
    const std::size_t one = i * 7 % targets.size();
    ASSERT_TRUE(platform::interrupt_thread(targets[one]->id()));
    ++expected[one];
    ASSERT_TRUE(spin_until([&] { return targets[one]->interrupts() == expected[one]; }));
    for (std::size_t t = 0; t < targets.size(); ++t) {
      ASSERT_EQ(targets[t]->interrupts(), expected[t]) << "thread " << t << ", for " << one;
    }
  }
  stop = true;
}

TEST_F(interrupt, may_be_sent_to_oneself) {
  std::atomic<int> interrupts{0};
  interrupts_here = &interrupts;
  EXPECT_TRUE(platform::interrupt_thread(platform::current_thread_id()));
  EXPECT_TRUE(spin_until([&] { return interrupts == 1; }));  // the thread sanitizer delivers late
  interrupts_here = nullptr;
}

TEST_F(interrupt, waits_for_the_end_of_another_one_unless_that_allows_it) {
  std::atomic<int> interrupts{0};
  interrupts_here = &interrupts;
  int deferred = 0;
  int allowed = 0;
  std::function<void()> send_more = [&] {
    platform::interrupt_thread(platform::current_thread_id());
    deferred = interrupts;
    {
      const platform::interruptible_wait wait;
      allowed = interrupts;
    }
    platform::interrupt_thread(platform::current_thread_id());
    EXPECT_EQ(interrupts, allowed);
  };
  meanwhile = &send_more;
  EXPECT_TRUE(platform::interrupt_thread(platform::current_thread_id()));
  EXPECT_TRUE(spin_until([&] { return interrupts == 3; }));
  EXPECT_EQ(deferred, 1);
  EXPECT_EQ(allowed, 2);
  interrupts_here = nullptr;
}

TEST_F(interrupt, cannot_be_sent_to_a_thread_that_has_ended) {
  std::int32_t id = 0;
  std::thread([&id] { id = platform::current_thread_id(); }).join();
  errno = EBUSY;
  EXPECT_TRUE(spin_until([id] { return !platform::interrupt_thread(id); }));
  EXPECT_EQ(errno, EBUSY);
}

TEST_F(interrupt, keeps_errno) {
  std::atomic<bool> stop{false};
  int changed = 0;
  {
    const target t([&] {
      errno = EBUSY;
      while (!stop) {
        if (errno != EBUSY) ++changed;
      }
    });
    for (int i = 1; i <= 100; ++i) {
      platform::interrupt_thread(t.id());
      EXPECT_TRUE(spin_until([&] { return t.interrupts() >= i; }));
    }
    stop = true;
  }
  EXPECT_EQ(changed, 0);
}

TEST_F(interrupt, lets_a_system_call_go_on) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    const target t([&ends] {
      char byte = 0;
      EXPECT_EQ(read(ends[0], &byte, 1), 1);
      EXPECT_EQ(byte, 'x');
    });
    for (int i = 1; i <= 20; ++i) {
      EXPECT_TRUE(spin_until([&] { return platform::is_thread_asleep(t.id()); }));
      platform::interrupt_thread(t.id());
      EXPECT_TRUE(spin_until([&] { return t.interrupts() == i; }));
    }
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_F(interrupt, is_allowed_in_a_thread_that_has_inherited_all_signals_as_blocked) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::atomic<bool> allow{false};
  std::atomic<bool> allowed{false};
  std::atomic<bool> stop{false};
  {
    const target t([&] {
      while (!allow) platform::yield_thread();
      platform::allow_interrupts();
      allowed = true;
      while (!stop) platform::yield_thread();
      sigset_t now;
      pthread_sigmask(SIG_SETMASK, nullptr, &now);
      EXPECT_EQ(sigismember(&now, SIGURG), 0);
      EXPECT_EQ(sigismember(&now, SIGUSR1), 1) << "the others stay blocked";
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_TRUE(platform::interrupt_thread(t.id()));
    platform::sleep_ns(5 * ms);
    EXPECT_EQ(t.interrupts(), 0) << "it is blocked";
    allow = true;
    EXPECT_TRUE(spin_until([&] { return allowed.load(); }));
    EXPECT_EQ(t.interrupts(), 1) << "the one that was pending";
    platform::interrupt_thread(t.id());
    EXPECT_TRUE(spin_until([&] { return t.interrupts() == 2; }));
    stop = true;
  }
}

constexpr auto none_of_ours = []() noexcept { return false; };

TEST(interrupt_death_test, a_signal_that_is_none_of_ours_goes_to_the_handler_before) {
  const auto plain = [] {
    std::signal(SIGURG, [](int) { std::_Exit(4); });
    platform::install_interrupt_handler(none_of_ours);
    std::raise(SIGURG);
  };
  EXPECT_EXIT(plain(), testing::ExitedWithCode(4), "");
  const auto with_details = [] {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int number, siginfo_t* info, void* context) {
      const bool is_whole = number == SIGURG && info->si_value.sival_int == 7 && context != nullptr;
      std::_Exit(is_whole ? 4 : 5);
    };
    sigaction(SIGURG, &action, nullptr);
    platform::install_interrupt_handler(none_of_ours);
    pthread_sigqueue(pthread_self(), SIGURG, {.sival_int = 7});
    sleep(5);
  };
  EXPECT_EXIT(with_details(), testing::ExitedWithCode(4), "");
}

TEST(interrupt_death_test, a_signal_that_is_nobodys_does_nothing) {
  for (const auto before : {SIG_DFL, SIG_IGN}) {
    const auto survives = [before] {
      std::signal(SIGURG, before);
      platform::install_interrupt_handler(none_of_ours);
      std::raise(SIGURG);
      std::_Exit(4);
    };
    EXPECT_EXIT(survives(), testing::ExitedWithCode(4), "");
  }
}

TEST(quit_death_test, the_hook_is_called_unless_the_program_handles_or_ignores_it) {
  const auto raise_quit = [] {
    platform::install_quit_handler([]() noexcept { std::_Exit(4); });
    std::raise(SIGQUIT);
    std::_Exit(5);
  };
  const auto by_default = [&] {
    std::signal(SIGQUIT, SIG_DFL);
    raise_quit();
  };
  EXPECT_EXIT(by_default(), testing::ExitedWithCode(4), "");
  const auto ignored = [&] {
    std::signal(SIGQUIT, SIG_IGN);
    raise_quit();
  };
  EXPECT_EXIT(ignored(), testing::ExitedWithCode(5), "");
  const auto handled = [&] {
    std::signal(SIGQUIT, [](int) { std::_Exit(6); });
    raise_quit();
  };
  EXPECT_EXIT(handled(), testing::ExitedWithCode(6), "");
}

}  // namespace
