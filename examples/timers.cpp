// Timers: one event, a steady beat, a call that comes later, and time limits.
//
// All of them follow the steady clock: a change of the system's time moves none. No timer is early;
// under load one may be late.
#include <sley/sley.hpp>

#include <chrono>
#include <cstdio>
#include <system_error>

using namespace std::chrono_literals;
using steady_clock = std::chrono::steady_clock;

// A timer is a channel that gets a value once. It can be stopped, moved, and armed again.
void one_event() {
  sley::timer timer(1h);
  std::printf("stopped before it fired: %s\n", timer.stop() ? "yes" : "no");
  std::printf("it was pending when it was armed again: %s\n", timer.reset(1h) ? "yes" : "no");
  const auto start = steady_clock::now();
  std::printf("it was pending when it was moved: %s\n", timer.reset(5ms) ? "yes" : "no");
  const auto due = timer.channel().receive();  // the time at which it was due
  std::printf("fired after 5 ms or more: %s\n", *due - start >= 5ms ? "yes" : "no");
}

// A reader that is late misses beats, and does not get them all at once later.
void steady_beat() {
  sley::ticker ticker(2ms);
  for (int i = 1; i <= 3; ++i) {
    ticker.channel().receive();
    std::printf("beat %d\n", i);
  }
  ticker.stop();
}

// A function that is called later, in a goroutine of its own, unless the timer is stopped before.
void late_call() {
  const sley::chan<void> called;
  sley::timer late = sley::after_func(1ms, [called] { called.close(); });
  sley::timer never = sley::after_func(1h, [] { std::puts("too late"); });
  called.receive();
  std::printf("called; the other one stopped: %s\n", never.stop() ? "yes" : "no");
}

void time_limits() {
  const sley::chan<int> nothing;
  sley::select(sley::on_receive(nothing),
               sley::on_timeout(2ms, [] { std::puts("select gave up after 2 ms"); }));

  // A context's limit holds for everything that is done with it.
  const auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 2ms);
  std::error_code error;
  nothing.receive(ctx, error);
  std::printf("receive: %s\n", error.message().c_str());
  sley::this_goroutine::sleep_for(1h, ctx, error);
  std::printf("sleep: %s\n", error.message().c_str());
}

int main() {
  return sley::run([] {
    one_event();
    steady_beat();
    late_call();
    time_limits();
  });
}
