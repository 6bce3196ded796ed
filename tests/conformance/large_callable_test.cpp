// Callables and results that are larger than a stack: they are made on the heap, and no function of
// the library has them on a stack on the way. The goroutines that start them have default stacks,
// too.
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/executor.hpp>
#include <sley/once.hpp>
#include <sley/promise.hpp>
#include <sley/time.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

using namespace std::chrono_literals;

namespace {

// Copied from one on the heap.
struct large {
  std::array<char, 400 * 1024> bytes{};
};

std::unique_ptr<large> make_large(char mark) {
  auto made = std::make_unique<large>();
  made->bytes[300 * 1024] = mark;
  return made;
}
char mark_of(const large& l) { return l.bytes[300 * 1024]; }

struct large_callable {
  explicit large_callable(sley::chan<char> c) : marks(std::move(c)) {
    bytes.bytes[300 * 1024] = 'x';
  }

  void operator()() { marks.send(mark_of(bytes)); }

  large bytes;
  sley::chan<char> marks;
};

template <class Start>
void expect_call(Start start) {
  sley::chan<char> marks(2);
  const auto callable = std::make_unique<large_callable>(marks);
  start(*callable);
  EXPECT_EQ(marks.receive(), 'x');
  start(std::move(*callable));
  EXPECT_EQ(marks.receive(), 'x');
}

// What starts it is a goroutine with a default stack, not the main one.
template <class F>
void in_a_goroutine(F f) {
  sley::wait_group done;
  done.go(std::move(f));
  done.wait();
}

}  // namespace

GO_TEST(large_callable, is_run_by_everything_that_starts_goroutines) {
  in_a_goroutine([] {
    expect_call([](auto&& f) { sley::go(std::forward<decltype(f)>(f)); });
    expect_call([](auto&& f) { sley::go({.name = "named"}, std::forward<decltype(f)>(f)); });
    expect_call([](auto&& f) { sley::async(std::forward<decltype(f)>(f)).get(); });
    expect_call([](auto&& f) { (void)sley::async(std::forward<decltype(f)>(f)); });
    expect_call([](auto&& f) { sley::executor().execute(std::forward<decltype(f)>(f)); });
    expect_call([](auto&& f) {
      sley::wait_group group;
      group.go(std::forward<decltype(f)>(f));
      group.wait();
    });
    expect_call([](auto&& f) {
      sley::error_group group;
      group.go(std::forward<decltype(f)>(f));
      group.wait();
    });
    expect_call([](auto&& f) {
      sley::error_group group;
      EXPECT_TRUE(group.try_go(std::forward<decltype(f)>(f)));
      group.wait();
    });
    expect_call([](auto&& f) {
      sley::scope scope;
      scope.go(std::forward<decltype(f)>(f));
    });
  });
}

GO_TEST(large_callable, is_run_by_timers_contexts_tasks_and_once) {
  in_a_goroutine([] {
    expect_call([](auto&& f) { (void)sley::after_func(0ns, std::forward<decltype(f)>(f)); });
    expect_call([](auto&& f) {
      auto [ctx, cancel] = sley::with_cancel({});
      sley::after_func(ctx, std::forward<decltype(f)>(f));
      cancel();
    });
    expect_call([](auto&& f) {
      sley::packaged_task<void()> task(std::forward<decltype(f)>(f));
      sley::go(std::move(task));
    });
    expect_call([](auto&& f) { sley::once_value(std::forward<decltype(f)>(f))(); });
  });
}

GO_TEST(large_callable, may_be_an_argument) {
  in_a_goroutine([] {
    sley::chan<char> marks(1);
    const auto argument = make_large('a');
    sley::go([marks](const large& l) { marks.send(mark_of(l)); }, *argument);
    EXPECT_EQ(marks.receive(), 'a');
    EXPECT_EQ(sley::async([](const large& l) { return mark_of(l); }, *argument).get(), 'a');
  });
}

namespace {

// Made where it is returned to.
large returns_large() { return large{}; }

}  // namespace

GO_TEST(large_result, is_made_where_it_stays) {
  in_a_goroutine([] {
    auto shared = sley::async(returns_large).share();
    EXPECT_EQ(mark_of(shared.get()), 0);

    sley::packaged_task<large()> task(returns_large);
    auto result = task.get_future().share();
    sley::go(std::move(task));
    EXPECT_EQ(mark_of(result.get()), 0);

    const auto value = make_large('v');
    sley::promise<large> copied;
    auto copy = copied.get_future().share();
    copied.set_value(*value);
    EXPECT_EQ(mark_of(copy.get()), 'v');
    sley::promise<large> moved;
    auto move = moved.get_future().share();
    moved.set_value(std::move(*value));
    EXPECT_EQ(mark_of(move.get()), 'v');

    const auto once = sley::once_value(returns_large);
    EXPECT_EQ(mark_of(once()), 0);
  });
}

namespace {

struct alignas(256) wide {
  bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(this) % 256 == 0; }
  std::array<char, 256> bytes{};
};

}  // namespace

GO_TEST(large_callable, keeps_its_alignment) {
  sley::chan<bool> seen(1);
  const auto expect_aligned = [seen] { EXPECT_EQ(seen.receive(), true); };
  const auto call = [seen, w = wide{}] { seen.send(w.is_aligned()); };
  sley::go(call);
  expect_aligned();
  sley::async(call).get();
  expect_aligned();
  (void)sley::after_func(0ns, call);
  expect_aligned();
  const auto timer = sley::after_func(0ns, [seen, w = wide{}] { seen.send(w.is_aligned()); });
  expect_aligned();
  EXPECT_TRUE(sley::async([] { return wide{}; }).share().get().is_aligned());
}

GO_TEST(large_callable, may_be_a_plain_function) {
  static sley::chan<int> called(1);
  struct functions {
    static void call() { called.send(1); }
  };
  (void)sley::after_func(0ns, functions::call);
  EXPECT_EQ(called.receive(), 1);
  (void)sley::after_func(0ns, &functions::call);
  EXPECT_EQ(called.receive(), 1);
  auto [ctx, cancel] = sley::with_cancel({});
  sley::after_func(ctx, functions::call);
  cancel();
  EXPECT_EQ(called.receive(), 1);
}
