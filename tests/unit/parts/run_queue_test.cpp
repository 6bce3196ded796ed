// Aim: a run queue is first in, first out for its owner; thieves take half; nothing is lost or
// taken twice. Method: one thread where order is the point, real threads where it is races. Answers
// Go's TestSchedLocalQueue, TestSchedLocalQueueSteal and TestSchedLocalQueueEmpty.
#include "parts/run_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "parts/next_slot.hpp"

namespace {

constexpr std::uint32_t capacity = 256;

struct element {
  std::atomic<int> taken{0};
};

using queue = sley::parts::run_queue<element, capacity>;
using slot = sley::parts::next_slot<element>;

// C13, TestSchedLocalQueue
TEST(run_queue, gives_back_any_number_of_elements_in_order) {
  queue q;
  std::array<element, capacity> e;
  for (std::size_t n = 0; n <= capacity; ++n) {  // the indices go round many times
    EXPECT_TRUE(q.is_empty());
    EXPECT_EQ(q.pop(), nullptr);
    for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(q.push(&e[i]));
    EXPECT_EQ(q.size(), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(q.pop(), &e[i]);
  }
  EXPECT_TRUE(q.is_empty());
}

TEST(run_queue, refuses_more_than_its_capacity) {
  queue q;
  std::array<element, capacity + 1> e;
  for (std::size_t i = 0; i < capacity; ++i) ASSERT_TRUE(q.push(&e[i]));
  EXPECT_FALSE(q.push(&e[capacity]));
  EXPECT_EQ(q.pop(), &e[0]);
  EXPECT_TRUE(q.push(&e[capacity]));
}

TEST(run_queue, half_is_taken_from_a_full_ring_only_and_is_the_older_half) {
  queue q;
  std::array<element, capacity> e;
  element* out[queue::half] = {};
  for (std::size_t i = 0; i + 1 < capacity; ++i) q.push(&e[i]);
  EXPECT_EQ(q.take_half(out), 0U);
  q.push(&e[capacity - 1]);
  ASSERT_EQ(q.take_half(out), queue::half);
  for (std::size_t i = 0; i < queue::half; ++i) ASSERT_EQ(out[i], &e[i]);
  for (std::size_t i = queue::half; i < capacity; ++i) ASSERT_EQ(q.pop(), &e[i]);
}

// C14, TestSchedLocalQueueSteal
TEST(run_queue, a_thief_takes_half_rounded_up_and_each_element_is_seen_once) {
  std::array<element, capacity> e;
  for (std::uint32_t n = 0; n <= capacity; ++n) {
    queue victim;
    queue thief;
    for (std::uint32_t i = 0; i < n; ++i) {
      e[i].taken = 0;
      victim.push(&e[i]);
    }
    std::uint32_t stolen = 99;
    element* first = thief.steal_half_from(victim, stolen);
    EXPECT_EQ(first == nullptr, n == 0);
    EXPECT_EQ(stolen, n - n / 2);
    EXPECT_EQ(victim.size(), n / 2);
    EXPECT_EQ(thief.size(), n == 0 ? 0 : stolen - 1);
    if (first != nullptr) ++first->taken;
    while (element* x = thief.pop()) ++x->taken;
    while (element* x = victim.pop()) ++x->taken;
    for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(e[i].taken, 1);
  }
}

TEST(run_queue_death_test, a_thief_with_work_of_its_own_is_stopped) {
  queue victim;
  queue thief;
  std::array<element, 2> e;
  victim.push(&e[0]);
  thief.push(&e[1]);
  std::uint32_t stolen = 0;
  EXPECT_DEATH(thief.steal_half_from(victim, stolen), "RQ-3");
}

// The owner pushes and pops, and makes room as spawn does; thieves steal all the while.
TEST(run_queue, with_thieves_each_element_is_taken_once) {
  constexpr std::size_t count = 200'000;
  constexpr int thieves = 3;
  const auto elements = std::make_unique<element[]>(count);
  queue victim;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < thieves; ++t) {
    threads.emplace_back([&] {
      queue own;
      for (bool last = false; !last;) {
        last = done;
        std::uint32_t stolen = 0;
        if (element* x = own.steal_half_from(victim, stolen)) {
          ++x->taken;
          last = false;
        }
        while (element* x = own.pop()) ++x->taken;
      }
    });
  }
  for (std::size_t i = 0; i < count; ++i) {
    while (!victim.push(&elements[i])) {
      element* out[queue::half];
      const std::uint32_t n = victim.take_half(out);
      for (std::uint32_t k = 0; k < n; ++k) ++out[k]->taken;
    }
    if (i % 3 == 0) {
      if (element* x = victim.pop()) ++x->taken;
    }
  }
  while (element* x = victim.pop()) ++x->taken;
  done = true;
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(elements[i].taken, 1) << i;
}

TEST(run_queue, an_observer_never_sees_it_empty_while_one_is_put_before_one_is_taken) {
  queue q;
  std::array<element, 2> e;
  q.push(&e[0]);
  std::atomic<bool> done{false};
  std::thread observer([&] {
    while (!done) ASSERT_FALSE(q.is_empty());
  });
  for (int i = 1; i < 100'000; ++i) {
    q.push(&e[static_cast<std::size_t>(i % 2)]);
    q.pop();
  }
  done = true;
  observer.join();
}

// With the next slot in front, the slot's element may move to the queue between two looks. So an
// observer that must not miss it looks at the queue, the slot and the queue again.
TEST(run_queue, with_the_next_slot_three_looks_do_not_miss_an_element_that_a_put_moves) {
  constexpr int rounds = 20'000;
  queue q;
  slot next;
  std::array<element, 2> e;
  std::atomic<int> begun{0};
  std::atomic<int> looked{0};
  int missed = 0;
  std::thread observer([&] {
    for (int round = 1; round <= rounds; ++round) {
      while (begun < round) std::this_thread::yield();
      if (q.is_empty() && next.is_empty() && q.is_empty()) ++missed;
      looked = round;
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    next.put(&e[0]);
    begun = round;
    q.push(next.put(&e[1]));  // the slot's element goes to the queue
    EXPECT_EQ(next.take(), &e[1]);
    while (looked < round) std::this_thread::yield();
    EXPECT_EQ(q.pop(), &e[0]);
  }
  observer.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
