// Signals as values of channels. F6: a signal comes to every channel that wants it, sending never
// waits, and stop, ignore and reset end it.
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <sley/context.hpp>
#include <sley/os.hpp>
#include <sley/signal.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/time.h>
#include <unistd.h>

using sley::chan;
using sley::chan_status;
using sley::wait_group;
using sley::os::ignore_signal;
using sley::os::notify;
using sley::os::notify_context;
using sley::os::reset_signal;
using sley::os::stop_notify;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

void send(int signal) { ASSERT_EQ(::kill(::getpid(), signal), 0); }

using handler = void (*)(int);

handler handler_of(int signal) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

// While it lives, signals that are still under way when no channel wants them any more do no harm.
class harmless {
 public:
  explicit harmless(int signal) : signal_(signal), before_(std::signal(signal, SIG_IGN)) {}
  ~harmless() { std::signal(signal_, before_); }
  harmless(const harmless&) = delete;
  harmless& operator=(const harmless&) = delete;

 private:
  int signal_;
  handler before_;
};

std::atomic<int> handled{0};
void count_signal(int) { ++handled; }

}  // namespace

GO_TEST(signal, comes_to_every_channel_that_wants_it) {
  const chan<int> first(4), second(4), other(4);
  notify(first, {SIGUSR1, SIGUSR2});
  notify(second, SIGUSR1);
  notify(other, SIGHUP);
  send(SIGUSR1);
  EXPECT_EQ(first.receive(), SIGUSR1);
  EXPECT_EQ(second.receive(), SIGUSR1);
  send(SIGUSR2);
  EXPECT_EQ(first.receive(), SIGUSR2);
  for (const auto& c : {first, second, other}) stop_notify(c);
  EXPECT_EQ(second.size(), 0U);
  EXPECT_EQ(other.size(), 0U);
}

GO_TEST(signal, a_channel_may_ask_for_more_of_them) {
  const chan<int> c(4);
  notify(c, SIGUSR1);
  notify(c, SIGUSR2);
  send(SIGUSR1);
  EXPECT_EQ(c.receive(), SIGUSR1);
  send(SIGUSR2);
  EXPECT_EQ(c.receive(), SIGUSR2);
  stop_notify(c);
}

// The channel has no room and no receiver.
GO_TEST(signal, sending_never_waits) {
  const chan<int> full(1), none(0), live(1);
  for (const auto& c : {full, none, live}) notify(c, SIGUSR1);
  for (int i = 0; i < 3; ++i) {
    send(SIGUSR1);
    EXPECT_EQ(live.receive(), SIGUSR1);
  }
  EXPECT_EQ(full.size(), 1U);
  for (const auto& c : {full, none, live}) stop_notify(c);
}

GO_TEST(signal, stop_restores_the_previous_handler) {
  ASSERT_EQ(handler_of(SIGUSR1), SIG_DFL);
  const auto old = std::signal(SIGUSR1, &count_signal);
  const chan<int> a(1), b(1);
  notify(a, SIGUSR1);
  notify(b, SIGUSR1);
  stop_notify(a);
  send(SIGUSR1);
  EXPECT_EQ(b.receive(), SIGUSR1);
  EXPECT_EQ(handled, 0) << "it is replaced";
  stop_notify(b);
  EXPECT_EQ(handler_of(SIGUSR1), &count_signal);
  send(SIGUSR1);
  EXPECT_TRUE(eventually([] { return handled == 1; }));
  EXPECT_EQ(a.size(), 0U);
  EXPECT_EQ(b.size(), 0U);
  stop_notify(b);  // once more does nothing
  std::signal(SIGUSR1, old);
}

// A signal that has come before the stop is in the channel after it.
GO_TEST(signal, stop_loses_nothing) {
  for (int i = 0; i < rounds(500); ++i) {
    const chan<int> c(1);
    notify(c, SIGUSR1);
    ASSERT_EQ(::raise(SIGUSR1), 0);  // in this thread: it has come when this returns
    stop_notify(c);
    ASSERT_EQ(c.size(), 1U);
  }
}

GO_TEST(signal, ignore_and_reset) {
  const chan<int> c(1);
  notify(c, {SIGUSR1, SIGUSR2});
  ignore_signal(SIGUSR1);
  EXPECT_EQ(handler_of(SIGUSR1), SIG_IGN);
  send(SIGUSR1);
  send(SIGUSR2);
  EXPECT_EQ(c.receive(), SIGUSR2);
  notify(c, SIGUSR1);
  send(SIGUSR1);
  EXPECT_EQ(c.receive(), SIGUSR1);
  reset_signal(SIGUSR1);
  EXPECT_EQ(handler_of(SIGUSR1), SIG_DFL);
  reset_signal(SIGUSR2);
  EXPECT_EQ(handler_of(SIGUSR2), SIG_DFL);
  stop_notify(c);
}

GO_TEST(signal, some_are_refused) {
  const chan<int> c(1);
  for (const int signal :
       {0, -1, 65, 1000, SIGKILL, SIGSTOP, SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, 33}) {
    EXPECT_THROW(notify(c, signal), std::invalid_argument) << signal;
    EXPECT_THROW(ignore_signal(signal), std::invalid_argument) << signal;
  }
  EXPECT_THROW(notify(chan<int>(nullptr), SIGUSR1), std::logic_error);
  EXPECT_EQ(handler_of(SIGUSR1), SIG_DFL);
}

GO_TEST(signal, a_closed_channel_gets_none) {
  const chan<int> closed(1), live(1);
  notify(closed, SIGUSR1);
  notify(live, SIGUSR1);
  closed.close();
  send(SIGUSR1);
  EXPECT_EQ(live.receive(), SIGUSR1);
  stop_notify(closed);
  stop_notify(live);
}

// The dump of the runtime's is put back too.
GO_TEST(signal, quit_may_be_asked_for) {
  const auto before = handler_of(SIGQUIT);
  const chan<int> c(1);
  notify(c, SIGQUIT);
  send(SIGQUIT);
  EXPECT_EQ(c.receive(), SIGQUIT);
  stop_notify(c);
  EXPECT_EQ(handler_of(SIGQUIT), before);
}

// As in Go: it is told, and the write fails.
GO_TEST(signal, broken_pipes_may_be_asked_for) {
  const chan<int> c(1);
  notify(c, SIGPIPE);
  auto p = sley::os::pipe();
  p.reader.close();
  std::error_code error;
  p.writer.write_all(std::as_bytes(std::span("x", 1)), error);
  EXPECT_EQ(error, std::errc::broken_pipe);
  EXPECT_EQ(c.receive(), SIGPIPE);
  stop_notify(c);
  p.writer.write_all(std::as_bytes(std::span("x", 1)), error);
  EXPECT_EQ(error, std::errc::broken_pipe);
}

namespace {

// While it lives, all processors compute, and two threads send these signals all the time.
class flood {
 public:
  flood(int first, int second) {
    for (int i = 0; i < 4; ++i) {
      computing_.go([this] {
        while (!stop_) sley_test::compute_for(100us);
      });
    }
    for (auto& sender : senders_) {
      sender = std::thread([this, first, second] {
        for (int i = 0; !stop_; ++i) {
          ::kill(::getpid(), i % 3 == 0 ? first : second);
          ++sent_;
          if (i % 16 == 0) std::this_thread::yield();
        }
      });
    }
  }
  ~flood() {
    stop_ = true;
    for (auto& sender : senders_) sender.join();
    computing_.wait();
  }
  flood(const flood&) = delete;
  flood& operator=(const flood&) = delete;

  // Returns when at least this many more have been sent.
  void let_rise(int signals) const {
    const int before = sent_;
    EXPECT_TRUE(eventually([&] { return sent_ - before >= signals; }));
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> sent_{0};
  wait_group computing_;
  std::thread senders_[2];
};

// What came before its end.
void drop_last(const chan<int>& c) {
  int last = 0;
  (void)c.try_receive(last);
}

}  // namespace

// F6, TestStress: it stops in the middle, and again. Nothing comes after that, whatever is sent.
GO_TEST(signal, floods_are_survived) {
  const harmless first(SIGUSR1);
  ignore_signal(SIGWINCH);
  {
    const flood signals(SIGUSR1, SIGWINCH);
    for (int i = 0; i < 5; ++i) {
      const chan<int> c(1);
      notify(c, {SIGUSR1, SIGUSR2});
      for (int k = 0; k < 5; ++k) EXPECT_EQ(c.receive(), SIGUSR1);
      stop_notify(c);
      EXPECT_EQ(handler_of(SIGUSR1), SIG_IGN) << "what it was before";
      drop_last(c);
      signals.let_rise(50);
      EXPECT_EQ(c.size(), 0U);
    }
  }
  reset_signal(SIGWINCH);
}

// ... for one of two channels, while the other goes on.
GO_TEST(signal, floods_end_for_a_channel_and_go_on_for_others) {
  const harmless first(SIGUSR1);
  const chan<int> always(1);
  notify(always, SIGUSR1);
  {
    const flood signals(SIGUSR1, SIGUSR1);
    for (int i = 0; i < 5; ++i) {
      const chan<int> c(1);
      notify(c, SIGUSR1);
      EXPECT_EQ(c.receive(), SIGUSR1);
      stop_notify(c);
      drop_last(c);
      for (int k = 0; k < 3; ++k) EXPECT_EQ(always.receive(), SIGUSR1);
      EXPECT_EQ(c.size(), 0U);
    }
  }
  stop_notify(always);
}

GO_TEST(signal, many_come_and_go_at_once) {
  const harmless first(SIGUSR1), second(SIGUSR2);
  const chan<int> always(1);
  notify(always, SIGUSR1);
  wait_group group;
  for (int g = 0; g < 4; ++g) {
    group.go([] {
      for (int i = 0; i < rounds(200); ++i) {
        const chan<int> c(1);
        notify(c, {SIGUSR1, SIGUSR2});
        send(i % 2 == 0 ? SIGUSR1 : SIGUSR2);
        EXPECT_EQ(c.receive().has_value(), true);
        stop_notify(c);
      }
    });
  }
  group.wait();
  stop_notify(always);
}

FOREIGN_TEST(signal, is_for_threads_of_the_users_too) {
  const chan<int> c(1);
  notify(c, SIGUSR1);
  send(SIGUSR1);
  EXPECT_EQ(c.receive(), SIGUSR1);
  stop_notify(c);
}

// Nothing else is left that could wake a goroutine, for longer than it takes to find a deadlock.
GO_TEST(signal, waiting_for_one_is_no_deadlock) {
  const chan<int> c(1);
  notify(c, SIGALRM);
  const itimerval once = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 200'000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &once, nullptr), 0);
  EXPECT_EQ(c.receive(), SIGALRM);
  stop_notify(c);
}

GO_TEST(signal, ends_a_context) {
  const auto [ctx, cancel] = notify_context(sley::context::background(), SIGUSR1, SIGUSR2);
  EXPECT_FALSE(ctx.error());
  send(SIGUSR2);
  ctx.done().receive();
  EXPECT_EQ(ctx.error(), sley::context_errc::canceled);
  try {
    std::rethrow_exception(ctx.cause());
  } catch (const std::exception& e) {
    EXPECT_EQ(std::string(e.what()), "signal " + std::to_string(SIGUSR2));
  }
  EXPECT_TRUE(eventually([] { return handler_of(SIGUSR1) == SIG_DFL; }));
}

GO_TEST(signal, a_cancelled_context_restores_the_previous_handler) {
  const auto [ctx, cancel] = notify_context(sley::context::background(), SIGUSR1);
  EXPECT_NE(handler_of(SIGUSR1), SIG_DFL);
  cancel();
  EXPECT_TRUE(eventually([] { return handler_of(SIGUSR1) == SIG_DFL; }));
}
