// go: which callables and arguments it takes and what becomes of them, options, and what a
// goroutine knows about itself.
#include "support/counted.hpp"
#include "support/harness.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using sley::go_options;
using sley_test::counted;
using sley_test::counted_check;
using sley_test::eventually;
using sley_test::rounds;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

std::atomic<int> called{0};

void free_function() { called = 1; }
void function_of_two(int a, const std::string& b) { called = a + static_cast<int>(b.size()); }

// Runs what `start` starts, and expects that it sets `called` to the value.
template <class Start>
void expect_called(int value, Start start) {
  called = -1;
  start();
  EXPECT_TRUE(eventually([=] { return called == value; })) << called;
}

struct object {
  int base = 10;
  void method(int n) { called = base + n; }
  void const_method() const { called = base; }
};

// Callable, and convertible to options as well.
struct both_callable_and_options {
  operator go_options() const { return {}; }
  void operator()() const { called = 1; }
  void operator()(int n) const { called = n; }
};

struct throws_when_copied {
  throws_when_copied() = default;
  throws_when_copied(const throws_when_copied&) { throw std::runtime_error("no copy"); }
  void operator()() const { ADD_FAILURE() << "was started"; }
};

struct throws_when_moved {
  throws_when_moved() = default;
  throws_when_moved(throws_when_moved&& other) : owned(std::move(other.owned)) {}
  std::unique_ptr<int> owned = std::make_unique<int>(4);
  void operator()() { called = *owned; }
};

}  // namespace

GO_TEST(go, starts_callables_of_every_kind) {
  expect_called(1, [] { sley::go(free_function); });
  expect_called(1, [] { sley::go(&free_function); });
  expect_called(5, [] { sley::go(function_of_two, 2, "abc"); });
  expect_called(2, [] { sley::go([] { called = 2; }); });
  expect_called(3, [] { sley::go(std::function<void()>([] { called = 3; })); });
  expect_called(4, [] { sley::go(std::bind([](int n) { called = n; }, 4)); });
  expect_called(5, [] {
    sley::go([] {
      called = 5;
      return "a result without a reader";
    });
  });
  const auto constant = [] { called = 6; };
  expect_called(6, [&] { sley::go(constant); });
  auto mutable_lambda = [n = 6]() mutable { called = ++n; };
  expect_called(7, [&] { sley::go(mutable_lambda); });
  expect_called(7, [&] { sley::go(mutable_lambda); });  // the first call changed a copy
  struct rvalue_only {
    void operator()() && { called = 8; }
  };
  expect_called(8, [] { sley::go(rvalue_only()); });
}

GO_TEST(go, starts_members_on_objects_pointers_and_references) {
  object o;
  expect_called(13, [&] { sley::go(&object::method, &o, 3); });
  expect_called(14, [&] { sley::go(&object::method, std::ref(o), 4); });
  expect_called(15, [&] { sley::go(&object::method, o, 5); });
  expect_called(10, [&] { sley::go(&object::const_method, std::make_unique<object>()); });
  expect_called(10, [&] { sley::go(&object::const_method, std::make_shared<const object>()); });
}

GO_TEST(go, takes_move_only_callables_and_arguments) {
  expect_called(4, [] { sley::go([owned = std::make_unique<int>(4)] { called = *owned; }); });
  expect_called(
      5, [] { sley::go([](std::unique_ptr<int> p) { called = *p; }, std::make_unique<int>(5)); });
  expect_called(
      6, [] { sley::go([](std::unique_ptr<int>&& p) { called = *p; }, std::make_unique<int>(6)); });
  expect_called(4, [] { sley::go(throws_when_moved()); });
}

GO_TEST(go, takes_large_and_over_aligned_callables) {
  std::array<int, 5000> large;
  large.fill(3);
  expect_called(15000, [&] {
    sley::go([large] {
      int sum = 0;
      for (const int n : large) sum += n;
      called = sum;
    });
  });
  struct alignas(128) aligned {
    int n = 9;
  };
  expect_called(9, [] {
    sley::go([a = aligned()] {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % 128, 0u);
      called = a.n;
    });
  });
  // Around the room inside the goroutine's record.
  expect_called(1, [] { sley::go([a = std::array<char, 63>{1}] { called = a[0]; }); });
  expect_called(1, [] { sley::go([a = std::array<char, 64>{1}] { called = a[0]; }); });
  expect_called(1, [] { sley::go([a = std::array<char, 65>{1}] { called = a[0]; }); });
}

GO_TEST(go, arguments_are_decay_copied) {
  int number = 1;
  sley::chan<int> seen;
  sley::go([seen](int n) { seen.send(n); }, number);
  number = 2;
  EXPECT_EQ(seen.receive(), 1);
  std::atomic<int> shared{1};
  sley::go([](std::atomic<int>& n) { n = 7; }, std::ref(shared));
  EXPECT_TRUE(eventually([&] { return shared == 7; }));
  char text[] = "before";
  sley::go([seen](const std::string& s) { seen.send(s == "before" ? 1 : 0); }, std::string(text));
  EXPECT_EQ(seen.receive(), 1);
  int array[3] = {1, 2, 3};
  sley::go([seen](int* p) { seen.send(p[2]); }, array);  // an array decays to a pointer
  EXPECT_EQ(seen.receive(), 3);
}

GO_TEST(go, callables_and_arguments_are_destroyed_once_when_the_goroutine_ends) {
  const counted_check check;
  const std::size_t before = sley::runtime::num_goroutines();
  {
    const counted argument(3);
    sley::go([](const counted& c) { EXPECT_EQ(c.value(), 3); }, argument);
    sley::go([c = counted(4)] { EXPECT_EQ(c.value(), 4); });
    sley::go(
        [c = counted(5), large = std::array<char, 500>()] { EXPECT_EQ(c.value(), 5 + large[0]); });
    sley::go([c = counted(6)] { this_goroutine::exit(); });
    sley::go([c = counted(7), large = std::array<char, 500>()] {
      if (large[0] == 0) this_goroutine::exit();
    });
    EXPECT_EQ(argument.value(), 3);
  }
  EXPECT_TRUE(eventually([=] { return sley::runtime::num_goroutines() == before; }));
}

GO_TEST(go, an_exception_from_copying_comes_out_and_starts_nothing) {
  const counted_check check;
  const std::size_t before = sley::runtime::num_goroutines();
  const auto spawned = sley::runtime::read_stats().spawned;
  const throws_when_copied bad;
  EXPECT_THROW(sley::go(bad), std::runtime_error);
  EXPECT_THROW(sley::go(go_options{.name = "bad"}, bad), std::runtime_error);
  EXPECT_THROW(sley::go([](const counted&, const throws_when_copied&) {}, counted(1), bad),
               std::runtime_error);
  EXPECT_EQ(sley::runtime::num_goroutines(), before);
  EXPECT_EQ(sley::runtime::read_stats().spawned, spawned);
}

namespace {

// Known to be empty, though it is not made of nullptr.
struct empty_delegate {
  void operator()() const {}
  bool operator==(std::nullptr_t) const { return true; }
};

}  // namespace

// E12, TestGoNil
GO_TEST(go, a_null_function_is_refused) {
  EXPECT_THROW(sley::go(empty_delegate()), std::logic_error);
  EXPECT_THROW(sley::go(static_cast<void (*)()>(nullptr)), std::logic_error);
  EXPECT_THROW(sley::go(std::function<void()>()), std::logic_error);
  object o;
  EXPECT_THROW(sley::go(static_cast<void (object::*)(int)>(nullptr), &o, 1), std::logic_error);
}

GO_TEST(go, options_of_every_value_category_are_options) {
  go_options options{.name = "worker", .stack_size = 64 << 10};
  const go_options constant = options;
  expect_called(1, [&] { sley::go(options, [] { called = 1; }); });
  expect_called(2, [&] { sley::go(constant, [] { called = 2; }); });
  expect_called(3, [&] { sley::go(std::move(options), [] { called = 3; }); });
  expect_called(4, [&] { sley::go(std::move(constant), [] { called = 4; }); });
  expect_called(5, [&] { sley::go(go_options{}, [] { called = 5; }); });
  expect_called(6, [&] { sley::go({.name = "braces"}, [] { called = 6; }); });
  expect_called(9, [&] { sley::go(constant, function_of_two, 6, "abc"); });
}

GO_TEST(go, a_callable_is_never_mistaken_for_options) {
  both_callable_and_options f;
  expect_called(1, [&] { sley::go(f); });
  expect_called(1, [&] { sley::go(both_callable_and_options()); });
  expect_called(7, [&] { sley::go(f, 7); });
  expect_called(8, [&] { sley::go(std::as_const(f), 8); });
  // A callable that takes options as its argument.
  expect_called(4, [] {
    sley::go([](const go_options& o) { called = static_cast<int>(o.name.size()); },
             go_options{.name = "four"});
  });
}

GO_TEST(go, a_name_is_copied_and_cut_at_31_bytes) {
  sley::chan<std::string> names;
  std::string name = "reader";
  sley::go({.name = name}, [names] { names.send(std::string(this_goroutine::name())); });
  name = "XXXXXX";
  EXPECT_EQ(names.receive(), "reader");
  sley::go({.name = std::string(100, 'n')},
           [names] { names.send(std::string(this_goroutine::name())); });
  EXPECT_EQ(names.receive(), std::string(31, 'n'));
  sley::go({.name = std::string(30, 'n') + "\xc3\xa4"},
           [names] { names.send(std::string(this_goroutine::name())); });
  EXPECT_EQ(names.receive(), std::string(30, 'n')) << "no part of a character";
  sley::go([names] {
    names.send(std::string(this_goroutine::name()));
    this_goroutine::set_name(std::string(32, 'm'));
    names.send(std::string(this_goroutine::name()));
    this_goroutine::set_name("");
    names.send(std::string(this_goroutine::name()));
  });
  EXPECT_EQ(names.receive(), "");
  EXPECT_EQ(names.receive(), std::string(31, 'm'));
  EXPECT_EQ(names.receive(), "");
}

namespace {

[[gnu::noinline]] std::size_t use_stack(std::size_t pages) {
  volatile char page[4096];
  page[0] = 1;
  page[4095] = 1;
  if (pages == 0) return 0;
  return use_stack(pages - 1) + static_cast<std::size_t>(page[4095]);
}

}  // namespace

GO_TEST(go, a_stack_has_the_size_asked_for) {
  sley::chan<std::size_t> used;
  sley::go({.stack_size = 4 << 20}, [used] { used.send(use_stack(700)); });
  EXPECT_EQ(used.receive(), 700u);
  sley::go({.stack_size = 1}, [used] { used.send(use_stack(0)); });  // rounded up
  EXPECT_EQ(used.receive(), 0u);
  sley::go({.stack_size = 100001}, [used] { used.send(use_stack(8)); });
  EXPECT_EQ(used.receive(), 8u);
  sley::go([used] { used.send(use_stack(30)); });  // the default one
  EXPECT_EQ(used.receive(), 30u);
}

GO_TEST(go, an_absurd_stack_size_throws_length_error) {
  const std::size_t before = sley::runtime::num_goroutines();
  EXPECT_THROW(sley::go({.stack_size = std::size_t{1} << 40}, [] {}), std::length_error);
  EXPECT_THROW(sley::go({.stack_size = std::numeric_limits<std::size_t>::max()}, [] {}),
               std::length_error);
  EXPECT_EQ(sley::runtime::num_goroutines(), before);
}

GO_TEST(go, ids_are_never_reused) {
  const int count = rounds(2000);
  sley::chan<std::uint64_t> ids(10);
  for (int i = 0; i < count; ++i) sley::go([ids] { ids.send(this_goroutine::id()); });
  std::set<std::uint64_t> seen = {0, this_goroutine::id()};
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(seen.insert(*ids.receive()).second);
  }
  const std::uint64_t mine = this_goroutine::id();
  this_goroutine::sleep_for(1us);
  this_goroutine::yield();
  EXPECT_EQ(this_goroutine::id(), mine);
}

namespace {

struct marker {
  std::vector<int>& order;
  int number;
  ~marker() { order.push_back(number); }
};

[[gnu::noinline]] void exit_below(std::vector<int>& order, int depth) {
  const marker m{order, depth};
  if (depth > 0) exit_below(order, depth - 1);
  if (order.empty()) this_goroutine::exit();
  ADD_FAILURE() << "went on after exit";
}

}  // namespace

// E4, TestGoexitDefer
GO_TEST(go, exit_unwinds_the_stack_and_runs_destructors) {
  std::vector<int> order;
  sley::wait_group group;
  bool passed = false;
  group.go([&] {
    exit_below(order, 3);
    passed = true;
  });
  group.wait();
  EXPECT_FALSE(passed);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

GO_TEST(go, exit_passes_handlers_that_rethrow_and_handlers_of_other_types) {
  std::vector<int> order;
  sley::wait_group group;
  group.go([&] {
    try {
      try {
        const marker m{order, 1};
        this_goroutine::exit();
      } catch (const std::exception&) {
        ADD_FAILURE() << "exit is not an exception of the standard library";
      }
    } catch (...) {
      order.push_back(2);
      throw;
    }
    ADD_FAILURE() << "went on after exit";
  });
  group.wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

GO_TEST(go, destructors_may_park_while_exit_unwinds) {
  struct parks {
    sley::chan<int> c;
    ~parks() {
      for (int i = 0; i < 3; ++i) c.send(i);
      this_goroutine::sleep_for(1ms);
      c.close();
    }
  };
  const sley::chan<int> c;
  sley::go([c] {
    const parks p{c};
    this_goroutine::exit();
  });
  int expected = 0;
  for (const int value : c) EXPECT_EQ(value, expected++);
  EXPECT_EQ(expected, 3);
}

// E5, TestPanicAfterGoexit and TestRecoveredPanicAfterGoexit: what a destructor throws and catches
// while exit unwinds does not end the exit.
GO_TEST(go, exceptions_may_be_handled_while_exit_unwinds) {
  struct handles {
    int& handled;
    ~handles() {
      try {
        throw counted(1);
      } catch (const counted&) {
        this_goroutine::yield();
        ++handled;
      }
    }
  };
  const counted_check check;
  int handled = 0;
  bool passed = false;
  sley::wait_group group;
  group.go([&] {
    const handles outer{handled};
    [&] {
      const handles inner{handled};
      this_goroutine::exit();
    }();
    passed = true;
  });
  group.wait();
  EXPECT_EQ(handled, 2);
  EXPECT_FALSE(passed);
}

GO_TEST(go, exit_in_a_handler_drops_the_exception) {
  const counted_check check;
  sley::wait_group group;
  group.go([] {
    try {
      throw counted(1);
    } catch (const counted&) {
      this_goroutine::exit();
    }
  });
  group.wait();
  EXPECT_EQ(std::current_exception(), nullptr);
}
