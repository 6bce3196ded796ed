// select among equals: several cases on one channel, or with one timeout, have the same chances.
// Each claim counts how often every case is chosen, in selects that find a case ready and in
// selects that wait.
#include "support/harness.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <optional>

using sley::chan;
using sley::on_receive;
using sley::on_send;
using sley::on_timeout;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

constexpr int selects = 300;

// A case with its fair share of `selects` is below a quarter of that share in fewer than one run of
// 10^12.
template <std::size_t Cases>
void expect_fair(const std::array<int, Cases>& chosen) {
  EXPECT_EQ(std::accumulate(chosen.begin(), chosen.end(), 0), selects);
  for (std::size_t i = 0; i < Cases; ++i) {
    EXPECT_GE(chosen[i], selects / static_cast<int>(Cases) / 4) << "case " << i;
  }
}

}  // namespace

GO_TEST(select_fairness, sends_on_one_channel_that_wait) {
  chan<int> c;
  std::array<int, 2> chosen{};
  sley::wait_group receiver;
  receiver.go([&, c] {
    for (int i = 0; i < selects; ++i) {
      this_goroutine::yield();
      ++chosen[static_cast<std::size_t>(*c.receive())];
    }
  });
  for (int i = 0; i < selects; ++i) sley::select(on_send(c, 0), on_send(c, 1));
  receiver.wait();
  expect_fair(chosen);
}

GO_TEST(select_fairness, receives_on_one_channel_that_wait) {
  chan<int> c;
  std::array<int, 3> chosen{};
  sley::wait_group sender;
  sender.go([c] {
    for (int i = 0; i < selects; ++i) {
      this_goroutine::yield();
      c.send(i);
    }
  });
  for (int i = 0; i < selects; ++i) {
    ++chosen[sley::select(on_receive(c), on_receive(c), on_receive(c))];
  }
  sender.wait();
  expect_fair(chosen);
}

GO_TEST(select_fairness, cases_on_one_channel_among_others) {
  chan<int> never;
  chan<int> c;
  std::array<int, 2> chosen{};
  sley::wait_group receiver;
  receiver.go([&, c] {
    for (int i = 0; i < selects; ++i) {
      this_goroutine::yield();
      ++chosen[static_cast<std::size_t>(*c.receive())];
    }
  });
  for (int i = 0; i < selects; ++i) {
    sley::select(on_receive(never), on_send(c, 0), on_send(never, 3), on_send(c, 1),
                 on_timeout(sley_test::patience));
  }
  receiver.wait();
  expect_fair(chosen);
}

GO_TEST(select_fairness, a_set_with_more_cases_than_are_sorted_by_insertion) {
  constexpr std::size_t count = 12;
  chan<std::size_t> c;
  std::array<int, count> chosen{};
  sley::wait_group receiver;
  receiver.go([&, c] {
    for (int i = 0; i < selects; ++i) {
      this_goroutine::yield();
      ++chosen[*c.receive()];
    }
  });
  sley::select_set set;
  for (std::size_t i = 0; i < count; ++i) set.add_send(c, i);
  for (int i = 0; i < selects; ++i) set.wait();
  receiver.wait();
  expect_fair(chosen);
}

GO_TEST(select_fairness, cases_on_one_channel_that_are_ready) {
  chan<int> c(1);
  std::array<int, 2> sent{};
  std::array<int, 2> received{};
  for (int i = 0; i < selects; ++i) {
    ++sent[sley::select(on_send(c, 0), on_send(c, 1))];
    ++received[sley::select(on_receive(c), on_receive(c))];
  }
  expect_fair(sent);
  expect_fair(received);
}

// Both sides can do either: the select that comes second chooses.
GO_TEST(select_fairness, a_send_and_a_receive_on_one_channel) {
  chan<int> c;
  std::array<int, 2> chosen{};
  sley::wait_group other;
  other.go([c] {
    for (int i = 0; i < selects; ++i) sley::select(on_send(c, 0), on_receive(c));
  });
  for (int i = 0; i < selects; ++i) ++chosen[sley::select(on_send(c, 0), on_receive(c))];
  other.wait();
  expect_fair(chosen);
}

GO_TEST(select_fairness, timeouts_of_one_length) {
  chan<int> never;
  std::array<int, 2> chosen{};
  for (int i = 0; i < selects; ++i) {
    ++chosen[sley::select(on_timeout(1us), on_timeout(1us), on_receive(never), on_timeout(1h))];
  }
  expect_fair(chosen);
}

GO_TEST(select_fairness, timeouts_that_are_over_already) {
  std::array<int, 3> chosen{};
  for (int i = 0; i < selects; ++i) {
    ++chosen[sley::select(on_timeout(0ns), on_timeout(-1s), on_timeout(0ns))];
  }
  expect_fair(chosen);
}

GO_TEST(select_fairness, timeouts_of_a_set) {
  sley::select_set set;
  std::array<int, 2> chosen{};
  set.add_timeout(1us);
  set.add_timeout(1us);
  set.add_timeout(1h);
  for (int i = 0; i < selects; ++i) ++chosen[set.wait()];
  expect_fair(chosen);
}

GO_TEST(select_fairness, receives_from_one_timer) {
  std::array<int, 2> chosen{};
  for (int i = 0; i < selects; ++i) {
    const auto timer = sley::after(1us);
    ++chosen[sley::select(on_receive(timer), on_receive(timer))];
  }
  expect_fair(chosen);
}

FOREIGN_TEST(select_fairness, holds_in_a_thread) {
  chan<int> c;
  std::array<int, 2> chosen{};
  sley::wait_group receiver;
  receiver.go([&, c] {
    for (int i = 0; i < selects; ++i) {
      this_goroutine::sleep_for(1us);
      ++chosen[static_cast<std::size_t>(*c.receive())];
    }
  });
  for (int i = 0; i < selects; ++i) sley::select(on_send(c, 0), on_send(c, 1));
  receiver.wait();
  expect_fair(chosen);
}

// otherwise() comes before any timeout, whatever stands first.
GO_TEST(select_fairness, a_default_is_before_every_timeout) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(sley::select(on_timeout(0ns), sley::otherwise(), on_timeout(-1h)), 1u);
  }
}
