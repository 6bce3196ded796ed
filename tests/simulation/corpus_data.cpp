// Bugs with data that goroutines share.
#include "corpus.hpp"

#include <sley/sley.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace sley_test {

namespace {

// Reading and writing are in two critical sections.
template <bool IsFixed>
void lost_update() {
  sley::mutex m;
  int count = 0;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      std::unique_lock held(m);
      const int seen = count;
      if (!IsFixed) {
        held.unlock();
        held.lock();
      }
      count = seen + 1;
    });
  }
  all.wait();
  check(count == 2, "no update is lost");
}

// A load and a store instead of one addition.
template <bool IsFixed>
void torn_addition() {
  sley::testing::atomic<int> count = 0;
  sley::wait_group all;
  for (int i = 0; i < 3; ++i) {
    all.go([&] {
      if (IsFixed) {
        ++count;
      } else {
        count = count + 1;
      }
    });
  }
  all.wait();
  check(count == 3, "no addition is lost");
}

// The balance is looked at outside of the lock that guards it.
template <bool IsFixed>
void check_then_act() {
  sley::mutex m;
  int balance = 100;
  const auto withdraw = [&] {
    if (IsFixed) {
      const lock held(m);
      if (balance >= 80) balance -= 80;
      return;
    }
    const bool may = [&] {
      const lock held(m);
      return balance >= 80;
    }();
    if (!may) return;
    const lock held(m);
    balance -= 80;
  };
  sley::wait_group all;
  all.go(withdraw);
  all.go(withdraw);
  all.wait();
  check(balance >= 0, "the account is not overdrawn");
}

// Two goroutines find that the object is not made yet.
template <bool IsFixed>
void made_twice() {
  int made = 0;
  bool is_made = false;
  sley::once_flag once;
  const auto get = [&] {
    if (IsFixed) {
      sley::call_once(once, [&] { ++made; });
      return;
    }
    if (is_made) return;
    point();
    ++made;
    is_made = true;
  };
  sley::wait_group all;
  all.go(get);
  all.go(get);
  all.wait();
  check(made == 1, "it is made once");
}

// The flag that says that the value is there is set before the value.
template <bool IsFixed>
void published_too_early() {
  sley::testing::atomic<bool> is_there = false;
  sley::testing::atomic<int> value = 0;
  sley::wait_group all;
  all.go([&] {
    if (IsFixed) value = 42;
    is_there = true;
    if (!IsFixed) value = 42;
  });
  all.go([&] {
    if (is_there) check(value == 42, "a reader of the flag sees the value");
  });
  all.wait();
}

// The goroutine uses what its starter sets up after starting it.
template <bool IsFixed>
void order_violation() {
  sley::testing::atomic<int*> config = nullptr;
  int value = 7;
  sley::wait_group all;
  const auto use = [&] { check(config.load() != nullptr, "it is set up before it is used"); };
  if (IsFixed) config = &value;
  all.go(use);
  if (!IsFixed) config = &value;
  all.wait();
}

// Peterson's lock, with the turn given to oneself.
template <bool IsFixed>
void wrong_turn() {
  std::array<sley::testing::atomic<bool>, 2> wants{};
  sley::testing::atomic<int> turn = 0;
  int inside = 0;
  sley::wait_group all;
  for (int me = 0; me < 2; ++me) {
    all.go([&, me] {
      const auto i = static_cast<std::size_t>(me);
      wants[i] = true;
      turn = IsFixed ? 1 - me : me;
      const int blocked = 1 - me;
      while (wants[1 - i] && turn == blocked) sley::this_goroutine::yield();
      check(++inside == 1, "one at a time");
      point();
      --inside;
      wants[i] = false;
    });
  }
  all.wait();
}

// A ticket is drawn by reading the number and writing the next.
template <bool IsFixed>
void ticket_lock() {
  sley::testing::atomic<int> next = 0;
  sley::testing::atomic<int> served = 0;
  int inside = 0;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      int ticket = 0;
      if (IsFixed) {
        ticket = next++;
      } else {
        ticket = next;
        next = ticket + 1;
      }
      while (served < ticket) sley::this_goroutine::yield();
      check(++inside == 1, "one at a time");
      point();
      --inside;
      ++served;
    });
  }
  all.wait();
}

// A lock-free stack whose nodes are used again: the head is the same, what is below it is not.
template <bool IsFixed>
void aba() {
  // Nodes 1 and 2; the head is a node, and with it the number of changes if it is fixed.
  std::array<std::atomic<int>, 3> below = {0, 0, 1};
  constexpr int step = IsFixed ? 16 : 0;
  sley::testing::atomic<int> head = 2;
  std::array<int, 3> holders{};
  const auto take = [&] {
    for (;;) {
      int seen = head;
      const int node = seen % 16;
      if (node == 0) return 0;
      const int next = below[static_cast<std::size_t>(node)];
      if (head.compare_exchange_strong(seen, next + (seen / 16) * 16 + step)) return node;
    }
  };
  const auto put = [&](int node) {
    for (;;) {
      int seen = head;
      below[static_cast<std::size_t>(node)] = seen % 16;
      if (head.compare_exchange_strong(seen, node + (seen / 16) * 16 + step)) return;
    }
  };
  sley::wait_group all;
  all.go([&] {
    if (const int node = take(); node != 0) ++holders[static_cast<std::size_t>(node)];
  });
  all.go([&] {
    const int first = take();
    const int second = take();
    if (second != 0) ++holders[static_cast<std::size_t>(second)];
    if (first != 0) put(first);
  });
  all.wait();
  if (const int node = take(); node != 0) ++holders[static_cast<std::size_t>(node)];
  if (const int node = take(); node != 0) ++holders[static_cast<std::size_t>(node)];
  check(holders[1] <= 1 && holders[2] <= 1, "a node has one holder");
}

// The function of a timer runs although its user has said that it need not, and has gone on.
template <bool IsFixed>
void timer_after_stop() {
  sley::testing::atomic<bool> is_gone = false;
  sley::chan<void> has_run;
  auto t = sley::after_func(std::chrono::milliseconds(1), [&] {
    check(!is_gone, "nothing is used after its end");
    if (IsFixed) has_run.close();
  });
  sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
  const bool was_stopped = t.stop();
  if (IsFixed && !was_stopped) has_run.receive();
  is_gone = true;
  if (!IsFixed) sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
}

// Two objects that belong together are changed one after the other.
template <bool IsFixed>
void torn_pair() {
  sley::mutex m;
  int from = 10;
  int to = 0;
  sley::wait_group all;
  all.go([&] {
    std::unique_lock held(m);
    from -= 5;
    if (!IsFixed) {
      held.unlock();
      held.lock();
    }
    to += 5;
  });
  all.go([&] {
    const lock held(m);
    check(from + to == 10, "the sum is always the same");
  });
  all.wait();
}

// Both write the same, and nothing orders the two.
template <bool IsFixed>
void unguarded_flag() {
  sley::mutex m;
  bool is_done = false;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      std::unique_lock held(m, std::defer_lock);
      if (IsFixed) held.lock();
      is_done = true;
    });
  }
  all.wait();
  check(is_done, "a goroutine has said so");
}

constexpr program programs[] = {
    {"lost_update", failure::check, lost_update<false>, lost_update<true>},
    {"torn_addition", failure::check, torn_addition<false>, torn_addition<true>},
    {"check_then_act", failure::check, check_then_act<false>, check_then_act<true>},
    {"made_twice", failure::check, made_twice<false>, made_twice<true>},
    {"published_too_early", failure::check, published_too_early<false>, published_too_early<true>},
    {"order_violation", failure::check, order_violation<false>, order_violation<true>},
    {"wrong_turn", failure::check, wrong_turn<false>, wrong_turn<true>},
    {"ticket_lock", failure::check, ticket_lock<false>, ticket_lock<true>, false},
    {"aba", failure::check, aba<false>, aba<true>},
    {"timer_after_stop", failure::check, timer_after_stop<false>, timer_after_stop<true>},
    {"torn_pair", failure::check, torn_pair<false>, torn_pair<true>},
    {"unguarded_flag", failure::data_race, unguarded_flag<false>, unguarded_flag<true>},
};

}  // namespace

std::span<const program> programs_with_data() { return programs; }

}  // namespace sley_test
