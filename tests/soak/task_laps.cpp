// Goroutines by the thousand and in trees: futures, contexts, exceptions, deep stacks, ends of all
// kinds.
#include "soak/soak.hpp"
#include "support/scale.hpp"
#include "support/sleepers.hpp"

#include <sley/context.hpp>
#include <sley/future.hpp>
#include <sley/goroutine_local.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using sley::chan;
using sley::context;
using sley::wait_group;
using sley_test::random_source;
using sley_test::rounds;
using soak::count;
using soak::tally;
using namespace std::chrono_literals;

namespace {

// --- trees of futures ----------------------------------------------------------------------------

std::uint64_t fibonacci(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  auto left = sley::async([n] { return fibonacci(n - 1); });
  const std::uint64_t right = fibonacci(n - 2);
  return left.get() + right;
}

void grow_futures(random_source& random) {
  static constexpr std::uint64_t expected[] = {0,  1,  1,  2,   3,   5,   8,   13,  21,
                                               34, 55, 89, 144, 233, 377, 610, 987, 1597};
  const int n = random.index(sley_test::under_sanitizer ? 12 : 18);
  EXPECT_EQ(fibonacci(n), expected[n]);
  count(tally::waits, expected[n]);
}

// One result, or one error, for many waiters.
void share_a_future(random_source& random) {
  const bool fails = random.one_in(3);
  const auto value = random();
  const auto delay = random.below(500) * 1us;
  const sley::shared_future<std::uint64_t> result = sley::async([=] {
    sley::this_goroutine::sleep_for(delay);
    if (fails) throw std::runtime_error(std::to_string(value));
    return value;
  });
  const auto readers = 1 + random.below(50);
  std::atomic<std::uint64_t> got{0};
  wait_group group;
  for (std::uint64_t i = 0; i < readers; ++i) {
    group.go([&] {
      try {
        EXPECT_EQ(result.get(), value);
        EXPECT_FALSE(fails);
      } catch (const std::runtime_error& error) {
        EXPECT_TRUE(fails);
        EXPECT_EQ(error.what(), std::to_string(value));
      }
      ++got;
    });
  }
  group.wait();
  EXPECT_EQ(got, readers);
  count(tally::waits, readers);
}

// --- trees of contexts ---------------------------------------------------------------------------

// Each node has a goroutine that waits for its end, and a function that is called then or kept from
// it. Some nodes are ended by hand, some by time, all with the root in the end.
class forest {
 public:
  explicit forest(random_source& random) {
    nodes_.push_back(sley::with_cancel(context::background()));
    const auto size = 2 + random.below(static_cast<std::uint64_t>(rounds(200)));
    while (nodes_.size() < size) {
      const context parent = nodes_[random.below(nodes_.size())].first;
      nodes_.push_back(random.one_in(3) ? sley::with_timeout(parent, random.below(3000) * 1us)
                                        : sley::with_cancel(parent));
    }
  }

  void run(random_source& random) {
    wait_group waiting;
    std::vector<sley::context_callback> callbacks;
    calls_.add(static_cast<std::int32_t>(nodes_.size()));
    for (const auto& node : nodes_) {
      waiting.go([this, ctx = node.first] {
        ctx.done().receive();
        EXPECT_TRUE(ctx.error());
        ++woken_;
      });
      callbacks.push_back(sley::after_func(node.first, [this] {
        ++called_;
        calls_.done();
      }));
    }
    for (auto cuts = random.below(10); cuts > 0; --cuts) {
      nodes_[1 + random.below(nodes_.size() - 1)].second();
      sley::this_goroutine::sleep_for(random.below(200) * 1us);
    }
    for (std::size_t i = 0; i < callbacks.size(); i += 1 + random.below(8)) {
      if (!callbacks[i].stop()) continue;
      ++kept_;
      calls_.done();
    }
    nodes_.front().second();
    waiting.wait();
    calls_.wait();
    EXPECT_EQ(woken_, nodes_.size());
    EXPECT_EQ(called_ + kept_, nodes_.size());
    count(tally::contexts, woken_);
  }

 private:
  std::vector<std::pair<context, sley::cancel_function>> nodes_;
  wait_group calls_;
  std::atomic<std::uint64_t> woken_{0}, called_{0};
  std::uint64_t kept_ = 0;
};

// --- bursts --------------------------------------------------------------------------------------

// They have all parked before the first goes on. One time in thirty there are a hundred thousand.
void burst(random_source& random) {
  const int wanted = random.one_in(30) ? 100'000 : 1 + random.index(5000);
  const int number = sley_test::as_many_as_fit(sley_test::at_most(rounds(wanted)), 16 << 10);
  const chan<void> release;
  wait_group parked, all;
  std::atomic<std::int64_t> sum{0};
  parked.add(number);
  for (int i = 1; i <= number; ++i) {
    all.go([&, i] {
      parked.done();
      EXPECT_FALSE(release.receive());
      sum.fetch_add(i, std::memory_order_relaxed);
    });
  }
  parked.wait();
  release.close();
  all.wait();
  EXPECT_EQ(sum, std::int64_t{number} * (number + 1) / 2);
  count(tally::goroutines, static_cast<std::uint64_t>(number));
}

// Each starts two, down to the leaves.
void split(int levels, std::atomic<int>& leaves, wait_group& group) {
  if (levels == 0) {
    ++leaves;
    return;
  }
  for (int i = 0; i < 2; ++i) {
    group.go([levels, &leaves, &group] { split(levels - 1, leaves, group); });
  }
}

void grow_a_tree(random_source& random) {
  const int levels = random.index(sley_test::under_sanitizer ? 8 : 13);
  std::atomic<int> leaves{0};
  wait_group group;
  split(levels, leaves, group);
  group.wait();
  EXPECT_EQ(leaves, 1 << levels);
  count(tally::goroutines, (std::uint64_t{2} << levels) - 2);
}

// --- deep stacks ---------------------------------------------------------------------------------

// On stacks of several sizes, with values of their own in each frame while they are parked.
void go_deep(random_source& random) {
  wait_group group;
  const chan<void> release;
  const auto number = 1 + random.below(30);
  for (std::uint64_t i = 0; i < number; ++i) {
    const int frames = 1 + random.index(300);
    const auto stack = static_cast<std::size_t>(frames + 64) * 4096;
    group.add(1);
    sley::go({.name = "deep", .stack_size = stack}, [&group, release, frames, i] {
      EXPECT_TRUE(sley_test::park_below(frames, static_cast<int>(i), release));
      group.done();
    });
  }
  sley::this_goroutine::sleep_for(random.below(2000) * 1us);
  release.close();
  group.wait();
  count(tally::goroutines, number);
}

// --- exceptions ----------------------------------------------------------------------------------

void park_somehow(random_source& random) {
  switch (random.below(3)) {
    case 0: sley::this_goroutine::yield(); break;
    case 1: sley::this_goroutine::sleep_for(random.below(50) * 1us); break;
    default: {
      const chan<int> c;
      sley::go([c] { c.send(1); });
      EXPECT_EQ(c.receive(), 1);
    }
  }
}

// Parks while the stack is unwound.
struct parks_when_destroyed {
  random_source& random;
  ~parks_when_destroyed() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    park_somehow(random);
    EXPECT_EQ(std::uncaught_exceptions(), 1);
  }
};

[[gnu::noinline]] void throw_below(int depth, std::uint64_t number, random_source& random) {
  const parks_when_destroyed parks{random};
  if (depth == 0) throw number;
  throw_below(depth - 1, number, random);
}

// Throws through frames that park, parks in the handler, and throws the same again.
void throw_and_park(std::uint64_t number, random_source& random) {
  std::exception_ptr kept;
  try {
    throw_below(random.index(6), number, random);
  } catch (std::uint64_t caught) {
    EXPECT_EQ(caught, number);
    park_somehow(random);
    kept = std::current_exception();
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
  park_somehow(random);
  try {
    std::rethrow_exception(kept);
  } catch (std::uint64_t caught) {
    EXPECT_EQ(caught, number);
  }
  EXPECT_EQ(std::current_exception(), nullptr);
}

void throw_much(random_source& random) {
  wait_group group;
  const auto number = 1 + random.below(50);
  const int times = rounds(20);
  for (std::uint64_t i = 0; i < number; ++i) {
    group.go([=, own = random_source(random())]() mutable {
      for (int t = 0; t < times; ++t) throw_and_park(i << 32 | static_cast<unsigned>(t), own);
    });
  }
  group.wait();
  count(tally::exceptions, 2 * number * static_cast<std::uint64_t>(times));
}

// --- the ends of goroutines ----------------------------------------------------------------------

// By return, by exit() from below, and with what they called their own.
void end_somehow(random_source& random) {
  struct mourner {
    std::atomic<std::uint64_t>* ends = nullptr;
    ~mourner() {
      if (ends != nullptr) ++*ends;
    }
  };
  std::atomic<std::uint64_t> unwound{0}, locals{0};
  const auto number = 1 + random.below(static_cast<std::uint64_t>(rounds(500)));
  {
    sley::goroutine_local<mourner> mine;
    wait_group group;
    for (std::uint64_t i = 0; i < number; ++i) {
      group.go([&, own = random_source(random())]() mutable {
        const mourner here{&unwound};
        mine.get().ends = &locals;
        park_somehow(own);
        EXPECT_EQ(mine.get().ends, &locals);
        if (own.one_in(2)) sley::this_goroutine::exit();
      });
    }
    group.wait();
    EXPECT_TRUE(sley_test::eventually([&] { return locals == number; }));
  }
  EXPECT_EQ(unwound, number);
  count(tally::goroutines, number);
}

}  // namespace

SOAK_LAP(task_futures) { grow_futures(random); }
SOAK_LAP(task_shared_future) { share_a_future(random); }
SOAK_LAP(task_contexts) { forest(random).run(random); }
SOAK_LAP(task_burst) { burst(random); }
SOAK_LAP(task_tree) { grow_a_tree(random); }
SOAK_LAP(task_deep_stacks) { go_deep(random); }
SOAK_LAP(task_exceptions) { throw_much(random); }
SOAK_LAP(task_ends) { end_somehow(random); }
