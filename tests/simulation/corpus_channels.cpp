// Bugs with channels, select and contexts.
#include "corpus.hpp"

#include <sley/sley.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace sley_test {

namespace {

using namespace std::chrono_literals;

// Two find the channel open, and both close it.
template <bool IsFixed>
void double_close() {
  const sley::chan<int> c;
  sley::once_flag once;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      if (IsFixed) {
        sley::call_once(once, [&] { c.close(); });
      } else if (!c.closed()) {
        c.close();
      }
    });
  }
  all.wait();
}

// The receiver closes the channel while the sender sends.
template <bool IsFixed>
void closed_by_the_receiver() {
  const sley::chan<int> c(1);
  sley::wait_group all;
  all.go([=] {
    c.send(1);
    c.send(2);
    if (IsFixed) c.close();
  });
  all.go([=] {
    c.receive();
    if (!IsFixed) c.close();
    while (c.receive()) {
    }
  });
  all.wait();
}

// The asker has stopped waiting, and the answer finds no receiver.
template <bool IsFixed>
void answer_without_a_receiver() {
  const sley::chan<int> answer(IsFixed ? 1 : 0);
  sley::go([=] { answer.send(1); });
  sley::select(sley::on_receive(answer, [](std::optional<int>) {}), sley::otherwise([] {}));
}

// A worker looks whether it is to stop, and then waits for work that never comes.
template <bool IsFixed>
void stop_unheard() {
  const sley::chan<int> work;
  auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  const sley::context& stop = ctx;
  sley::go([work, stop = stop] {
    while (!stop.error()) {
      if (IsFixed) {
        sley::select(sley::on_receive(work, [](std::optional<int>) {}),
                     sley::on_receive(stop.done(), [](bool) {}));
      } else {
        work.receive();
      }
    }
  });
  cancel();
}

// Work and the order to stop are both there, and select picks either.
template <bool IsFixed>
void stopped_with_work_left() {
  const sley::chan<int> work(1);
  const sley::chan<void> stop(1);
  int done = 0;
  work.send(1);
  stop.send();
  const auto count = [&](std::optional<int>) { ++done; };
  bool is_over = false;
  while (!is_over) {
    sley::select(sley::on_receive(work, count),
                 sley::on_receive(stop, [&](bool) { is_over = true; }));
  }
  if (IsFixed) {
    sley::select(sley::on_receive(work, count), sley::otherwise([] {}));
  }
  check(done == 1, "no work is left");
}

// A pipeline ends early, and the stage before it sends for ever.
template <bool IsFixed>
void abandoned_stage() {
  const sley::chan<int> values;
  const sley::chan<void> stop;
  sley::go([=] {
    for (int i = 0; i < 3; ++i) {
      bool is_stopped = false;
      if (IsFixed) {
        sley::select(sley::on_send(values, i, [] {}),
                     sley::on_receive(stop, [&](bool) { is_stopped = true; }));
      } else {
        values.send(i);
      }
      if (is_stopped) return;
    }
  });
  values.receive();
  stop.close();
}

// A channel of capacity 1 as a mutex, given back twice.
template <bool IsFixed>
void token_doubled() {
  const sley::chan<void> token(2);
  token.send();
  sley::testing::atomic<bool> has_failed = false;
  int inside = 0;
  sley::wait_group all;
  all.go([&] { has_failed = true; });
  for (int i = 0; i < 3; ++i) {
    all.go([&] {
      token.receive();
      check(++inside == 1, "one at a time");
      point();
      --inside;
      if (!IsFixed && has_failed.exchange(false)) token.send();
      token.send();
    });
  }
  all.wait();
}

// Two send to each other before either receives.
template <bool IsFixed>
void crossed_sends() {
  const sley::chan<int> a(1);
  const sley::chan<int> b(1);
  sley::wait_group all;
  const auto talk = [](const sley::chan<int>& to, const sley::chan<int>& from, int n) {
    for (int i = 0; i < n; ++i) to.send(i);
    for (int i = 0; i < n; ++i) from.receive();
  };
  constexpr int n = IsFixed ? 1 : 2;
  all.go([&] { talk(a, b, n); });
  all.go([&] { talk(b, a, n); });
  all.wait();
}

// A time-out that is not one: the work comes later on some days.
template <bool IsFixed>
void result_dropped() {
  const sley::chan<int> result(1);
  const sley::chan<void> done(1);
  sley::go([=] {
    result.send(1);
    done.send();
  });
  int got = 0;
  sley::select(sley::on_receive(result, [&](std::optional<int> v) { got = v.value_or(0); }),
               sley::on_receive(done, [&](bool) {
                 if (IsFixed) got = result.receive().value_or(0);
               }));
  check(got == 1, "the result is taken");
}

// Workers take items until the channel is closed, and no goroutine closes it. (NoCloseRange of Go's
// goroutineleak patterns; the names below come from there too.)
template <bool IsFixed>
void never_closed() {
  const sley::chan<int> work;
  const auto done = std::make_shared<sley::testing::atomic<int>>(0);
  sley::wait_group workers;
  for (int i = 0; i < 2; ++i) {
    const auto take_all = [=] {
      for ([[maybe_unused]] const int item : work) ++*done;
    };
    if (IsFixed) {
      workers.go(take_all);
    } else {
      sley::go(take_all);
    }
  }
  for (int i = 0; i < 3; ++i) work.send(i);
  if (IsFixed) {
    work.close();
    workers.wait();
    check(*done == 3, "all is done");
  }
}

// After an error has been sent, the result is sent as well, and there is one receiver. (DoubleSend)
template <bool IsFixed>
void sent_twice() {
  const sley::chan<int> result;
  const auto is_failing = std::make_shared<sley::testing::atomic<bool>>(false);
  sley::go([=] { *is_failing = true; });
  sley::go([=] {
    if (*is_failing) {
      result.send(-1);
      if (IsFixed) return;
    }
    result.send(1);
  });
  check(result.receive().has_value(), "there is a result");
}

// Many are asked, and the first answer is taken. (NCastLeak)
template <bool IsFixed>
void all_but_the_first_answer() {
  constexpr int asked = 3;
  const sley::chan<int> answers(IsFixed ? asked : 0);
  for (int i = 0; i < asked; ++i) {
    sley::go([=] { answers.send(i); });
  }
  check(answers.receive().has_value(), "there is an answer");
}

// A function that starts it has to stop it.
class worker {
 public:
  void start() const {
    sley::go([stop = stop_, work = work_] {
      bool is_stopped = false;
      while (!is_stopped) {
        sley::select(sley::on_receive(work, [](std::optional<int>) {}),
                     sley::on_receive(stop, [&](bool) { is_stopped = true; }));
      }
    });
  }
  void add(int item) const { work_.send(item); }
  void stop() const { stop_.close(); }

 private:
  sley::chan<int> work_;
  sley::chan<void> stop_;
};

// ... and does not, on one way out. (MethodContractViolation)
template <bool IsFixed>
void started_and_not_stopped() {
  const worker w;
  const sley::chan<void> is_cancelled(1);
  sley::go([=] { is_cancelled.send(); });
  w.start();
  w.add(1);
  bool is_over = false;
  sley::select(sley::on_receive(is_cancelled, [&](bool) { is_over = true; }),
               sley::otherwise([] {}));
  if (is_over && !IsFixed) return;
  w.stop();
}

constexpr program programs[] = {
    {"double_close", failure::exception, double_close<false>, double_close<true>},
    {"closed_by_the_receiver", failure::exception, closed_by_the_receiver<false>,
     closed_by_the_receiver<true>},
    {"answer_without_a_receiver", failure::leak, answer_without_a_receiver<false>,
     answer_without_a_receiver<true>},
    {"stop_unheard", failure::leak, stop_unheard<false>, stop_unheard<true>},
    {"stopped_with_work_left", failure::check, stopped_with_work_left<false>,
     stopped_with_work_left<true>},
    {"abandoned_stage", failure::leak, abandoned_stage<false>, abandoned_stage<true>},
    {"token_doubled", failure::check, token_doubled<false>, token_doubled<true>, false},
    {"crossed_sends", failure::deadlock, crossed_sends<false>, crossed_sends<true>},
    {"result_dropped", failure::check, result_dropped<false>, result_dropped<true>},
    {"never_closed", failure::leak, never_closed<false>, never_closed<true>},
    {"sent_twice", failure::leak, sent_twice<false>, sent_twice<true>},
    {"all_but_the_first_answer", failure::leak, all_but_the_first_answer<false>,
     all_but_the_first_answer<true>},
    {"started_and_not_stopped", failure::leak, started_and_not_stopped<false>,
     started_and_not_stopped<true>},
};

}  // namespace

std::span<const program> programs_with_channels() { return programs; }

}  // namespace sley_test
