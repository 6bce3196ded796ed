// goroutine_local: each goroutine has its own value, made when first used and destroyed at its end.
#include "support/counted.hpp"
#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using sley::goroutine_local;
using sley_test::eventually;
using sley_test::rounds;

GO_TEST(goroutine_local, each_goroutine_has_its_own_wherever_it_runs) {
  goroutine_local<int> number([] { return 7; });
  sley::wait_group group;
  for (int g = 0; g < 50; ++g) {
    group.go([&, g] {
      EXPECT_FALSE(number.has_value());
      EXPECT_EQ(*number, 7);
      int* const place = &number.get();
      for (int i = 0; i < 20; ++i) {
        *number = g * 100 + i;
        sley::this_goroutine::yield();
        EXPECT_EQ(*number, g * 100 + i);
        EXPECT_EQ(&*number, place);
      }
    });
  }
  group.wait();
  EXPECT_FALSE(number.has_value());
}

GO_TEST(goroutine_local, values_are_destroyed_at_the_end_of_their_goroutine_on_it) {
  struct last_words {
    std::uint64_t id = sley::this_goroutine::id();
    std::atomic<int>* ended = nullptr;
    ~last_words() {
      EXPECT_EQ(sley::this_goroutine::id(), id);
      sley::this_goroutine::yield();
      EXPECT_EQ(sley::this_goroutine::id(), id);
      if (ended != nullptr) ++*ended;
    }
  };
  goroutine_local<last_words> words;
  std::atomic<int> ended{0};
  for (int way = 0; way < 3; ++way) {
    sley::go({.name = way == 0 ? "named" : ""}, [&, way] {
      words->ended = &ended;
      if (way == 1) sley::this_goroutine::exit();
    });
  }
  EXPECT_TRUE(eventually([&] { return ended == 3; }));
}

GO_TEST(goroutine_local, the_last_made_is_destroyed_first) {
  const sley::chan<int> order(2);
  struct note {
    const sley::chan<int>* order = nullptr;
    int number = 0;
    ~note() {
      if (order != nullptr) order->send(number);
    }
  };
  goroutine_local<note> first;
  goroutine_local<note> second;
  sley::go([&] {
    second->number = 2;
    first->number = 1;
    second->order = first->order = &order;
  });
  EXPECT_EQ(order.receive(), 1) << "`first` was made after `second`";
  EXPECT_EQ(order.receive(), 2);
}

GO_TEST(goroutine_local, a_destructor_may_use_another_variable) {
  goroutine_local<sley_test::counted> other;
  struct user {
    goroutine_local<sley_test::counted>* other = nullptr;
    ~user() {
      if (other == nullptr) return;
      EXPECT_EQ(other->get().value(), 0);
    }
  };
  goroutine_local<user> variable;
  const sley_test::counted_check check;
  sley::wait_group group;
  group.go([&] { variable->other = &other; });
  group.wait();
  EXPECT_TRUE(eventually([&] { return sley::runtime::num_goroutines() == 1; }));
}

GO_TEST(goroutine_local, a_variable_may_go_before_the_goroutines_that_used_it) {
  const sley_test::counted_check check;
  sley::chan<void> used;
  sley::chan<void> gone;
  sley::chan<void> done;
  auto variable = std::make_unique<goroutine_local<sley_test::counted>>();
  sley::go([&, used, gone, done] {
    EXPECT_EQ((*variable)->value(), 0);
    used.send();
    gone.receive();
    goroutine_local<std::string> in_its_place([] { return std::string("new"); });
    EXPECT_FALSE(in_its_place.has_value());
    EXPECT_EQ(*in_its_place, "new");
    done.close();
  });
  used.receive();
  variable.reset();
  gone.close();
  done.receive();
  EXPECT_TRUE(eventually([&] { return sley::runtime::num_goroutines() == 1; }));
}

GO_TEST(goroutine_local, an_initialiser_that_throws_makes_nothing) {
  bool fails = true;
  goroutine_local<int> number([&] { return fails ? throw std::runtime_error("not yet") : 1; });
  EXPECT_THROW(*number, std::runtime_error);
  EXPECT_FALSE(number.has_value());
  fails = false;
  EXPECT_EQ(*number, 1);
}

FOREIGN_TEST(goroutine_local, threads_have_values_that_end_with_them) {
  const sley_test::counted_check check;
  goroutine_local<sley_test::counted> value;
  for (int i = 0; i < rounds(50); ++i) {
    std::thread([&] {
      EXPECT_FALSE(value.has_value());
      EXPECT_EQ(value->value(), 0);
      EXPECT_TRUE(value.has_value());
      sley::blocking([&] { EXPECT_TRUE(value.has_value()); });
    }).join();
  }
}
