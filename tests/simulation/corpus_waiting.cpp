// Bugs with goroutines that wait for each other, at locks and their kin.
#include "corpus.hpp"

#include <sley/sley.hpp>

#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace sley_test {

namespace {

// Two locks, taken in two orders.
template <bool IsFixed>
void opposite_orders() {
  sley::mutex a;
  sley::mutex b;
  sley::wait_group all;
  all.go([&] {
    const lock first(a);
    const lock second(b);
  });
  all.go([&] {
    const lock first(IsFixed ? a : b);
    const lock second(IsFixed ? b : a);
  });
  all.wait();
}

// Each takes the fork on the left first.
template <bool IsFixed>
void dining_philosophers() {
  constexpr std::size_t n = 3;
  std::array<sley::mutex, n> forks;
  sley::wait_group all;
  for (std::size_t i = 0; i < n; ++i) {
    all.go([&, i] {
      const bool is_last = i == n - 1;
      const lock left(forks[IsFixed && is_last ? 0 : i]);
      const lock right(forks[IsFixed && is_last ? i : (i + 1) % n]);
    });
  }
  all.wait();
}

// Two readers want to become writers, and each waits for the other to stop reading.
template <bool IsFixed>
void two_upgrades() {
  sley::shared_mutex m;
  int value = 0;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      if (IsFixed) {
        m.lock();
      } else {
        m.lock_shared();
        point();
        m.lock();
      }
      ++value;
      m.unlock();
      if (!IsFixed) m.unlock_shared();
    });
  }
  all.wait();
  check(value == 2, "both have written");
}

// The condition is looked at, and waited for, in two critical sections.
template <bool IsFixed>
void lost_wake_up() {
  sley::mutex m;
  sley::condition_variable changed;
  bool is_ready = false;
  sley::wait_group all;
  all.go([&] {
    std::unique_lock held(m);
    if (IsFixed) {
      changed.wait(held, [&] { return is_ready; });
      return;
    }
    const bool must_wait = !is_ready;
    held.unlock();
    held.lock();
    if (must_wait) changed.wait(held);
  });
  all.go([&] {
    const lock held(m);
    is_ready = true;
    changed.notify_one();
  });
  all.wait();
}

// No goroutine waits yet when the signal is given, and the later waiter does not look.
template <bool IsFixed>
void missed_signal() {
  sley::mutex m;
  sley::condition_variable done;
  bool is_done = false;
  sley::wait_group all;
  all.go([&] {
    const lock held(m);
    is_done = true;
    done.notify_all();
  });
  std::unique_lock held(m);
  if (IsFixed) {
    done.wait(held, [&] { return is_done; });
  } else {
    done.wait(held);
  }
  held.unlock();
  all.wait();
}

// Two kinds of waiters, one condition variable, and one of them is woken: perhaps of the wrong
// kind.
template <bool IsFixed>
void wrong_one_woken() {
  sley::mutex m;
  sley::condition_variable changed;
  int items = 0;
  const auto notify = [&] {
    if (IsFixed) {
      changed.notify_all();
    } else {
      changed.notify_one();
    }
  };
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      std::unique_lock held(m);
      changed.wait(held, [&] { return items == 0; });
      ++items;
      notify();
    });
    all.go([&] {
      std::unique_lock held(m);
      changed.wait(held, [&] { return items == 1; });
      --items;
      notify();
    });
  }
  all.wait();
}

// The woken waiter does not look whether the condition still holds.
template <bool IsFixed>
void if_for_while() {
  sley::mutex m;
  sley::condition_variable filled;
  int items = 0;
  int taken = 0;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      std::unique_lock held(m);
      if (IsFixed) {
        filled.wait(held, [&] { return items > 0; });
      } else if (items == 0) {
        filled.wait(held);
      }
      check(items > 0, "there is something to take");
      --items;
      ++taken;
    });
  }
  for (int i = 0; i < 2; ++i) {
    all.go([&, i] {
      const lock held(m);
      ++items;
      if (i == 0) {
        filled.notify_all();
      } else {
        filled.notify_one();
      }
    });
  }
  all.wait();
  check(taken == 2, "both have taken one");
}

// A way out of the function that does not give the permit back.
template <bool IsFixed>
void lost_permit() {
  sley::counting_semaphore<2> permits(1);
  sley::testing::atomic<bool> is_failing = false;
  sley::wait_group all;
  all.go([&] { is_failing = true; });
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      permits.acquire();
      if (is_failing.exchange(false) && !IsFixed) return;
      permits.release();
    });
  }
  all.wait();
  permits.acquire();
}

// A barrier made by hand: a goroutine that comes round again is taken for one that has not come
// yet.
template <bool IsFixed>
void barrier_without_generations() {
  sley::mutex m;
  sley::condition_variable all_here;
  int arrived = 0;
  int generation = 0;
  const auto arrive_and_wait = [&] {
    std::unique_lock held(m);
    const int own = generation;
    if (++arrived == 2) {
      arrived = 0;
      ++generation;
      all_here.notify_all();
      return;
    }
    all_here.wait(held, [&] { return IsFixed ? generation != own : arrived == 0; });
  };
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      arrive_and_wait();
      arrive_and_wait();
    });
  }
  all.wait();
}

// The goroutines that the group must wait for join it only when they have begun.
template <bool IsFixed>
void joined_too_late() {
  auto all = std::make_shared<sley::wait_group>();
  auto done = std::make_shared<sley::testing::atomic<int>>(0);
  for (int i = 0; i < 2; ++i) {
    if (IsFixed) all->add(1);
    sley::go([all, done] {
      if (!IsFixed) all->add(1);
      ++*done;
      all->done();
    });
  }
  all->wait();
  check(*done == 2, "all have been waited for");
}

// One goroutine waits for a flag by looking, and another one takes the flag back.
template <bool IsFixed>
void flag_taken_back() {
  sley::testing::atomic<bool> may_go = false;
  sley::wait_group all;
  if (IsFixed) may_go = false;
  all.go([&] {
    while (!may_go) sley::this_goroutine::yield();
  });
  all.go([&] { may_go = true; });
  if (!IsFixed) may_go = false;
  all.wait();
}

// The result is promised, and on one way not given.
template <bool IsFixed>
void broken_promise() {
  const auto is_cached = std::make_shared<sley::testing::atomic<bool>>(false);
  sley::promise<int> promised;
  sley::future<int> result = promised.get_future();
  sley::go([is_cached] { *is_cached = true; });
  sley::go([p = std::move(promised), is_cached]() mutable {
    if (*is_cached && !IsFixed) return;
    p.set_value(1);
  });
  check(result.get() == 1, "the result comes");
}

// Builds with checks know of one upgrade already that it waits for itself.
constexpr failure of_an_upgrade =
    sley::detail::checks_lock_owners ? failure::fatal : failure::deadlock;

constexpr program programs[] = {
    {"opposite_orders", failure::deadlock, opposite_orders<false>, opposite_orders<true>},
    {"dining_philosophers", failure::deadlock, dining_philosophers<false>,
     dining_philosophers<true>, false},
    {"two_upgrades", of_an_upgrade, two_upgrades<false>, two_upgrades<true>},
    {"lost_wake_up", failure::deadlock, lost_wake_up<false>, lost_wake_up<true>},
    {"missed_signal", failure::deadlock, missed_signal<false>, missed_signal<true>},
    {"wrong_one_woken", failure::deadlock, wrong_one_woken<false>, wrong_one_woken<true>, false},
    {"if_for_while", failure::check, if_for_while<false>, if_for_while<true>, false},
    {"lost_permit", failure::deadlock, lost_permit<false>, lost_permit<true>},
    {"barrier_without_generations", failure::deadlock, barrier_without_generations<false>,
     barrier_without_generations<true>},
    {"joined_too_late", failure::check, joined_too_late<false>, joined_too_late<true>},
    {"flag_taken_back", failure::live_lock, flag_taken_back<false>, flag_taken_back<true>},
    {"broken_promise", failure::exception, broken_promise<false>, broken_promise<true>},
};

}  // namespace

std::span<const program> programs_with_waiting() { return programs; }

}  // namespace sley_test
