// Aim: the heap always knows the element that is due first, whatever was inserted, moved and
// removed. Method: random operations, with a sorted set beside.
#include "parts/timer_heap.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "base/random.hpp"

using sley::parts::heap_place;
using sley::parts::timer_heap;

namespace {

void insert(timer_heap& heap, heap_place& place, std::int64_t when_ns) {
  ASSERT_TRUE(heap.reserve_one());
  heap.insert(&place, when_ns);
}

TEST(timer_heap, a_new_heap_is_empty) {
  const timer_heap heap;
  EXPECT_TRUE(heap.is_empty());
  EXPECT_EQ(heap.size(), 0U);
  EXPECT_EQ(heap.first(), nullptr);
}

TEST(timer_heap, elements_come_out_in_the_order_of_their_time) {
  timer_heap heap;
  std::vector<heap_place> places(1000);
  sley::base::random random(1);
  for (heap_place& p : places) insert(heap, p, random.below(100));
  std::int64_t last = -1;
  while (heap_place* p = heap.first()) {
    ASSERT_GE(p->when_ns, last);
    last = p->when_ns;
    heap.remove(p);
    ASSERT_FALSE(p->is_in_heap());
  }
  EXPECT_TRUE(heap.is_empty());
}

TEST(timer_heap, agrees_with_a_sorted_set_over_random_operations) {
  timer_heap heap;
  std::vector<heap_place> places(300);
  std::multiset<std::int64_t> reference;
  sley::base::random random(2);
  for (int step = 0; step < 100'000; ++step) {
    heap_place& p = places[random.below(static_cast<std::uint32_t>(places.size()))];
    const std::int64_t when = static_cast<std::int64_t>(random.below(1000)) - 500;
    if (!p.is_in_heap()) {
      insert(heap, p, when);
      reference.insert(when);
    } else {
      reference.erase(reference.find(p.when_ns));
      if (random.below(2) == 0) {
        heap.remove(&p);
      } else {
        heap.move(&p, when);
        ASSERT_EQ(p.when_ns, when);
        reference.insert(when);
      }
    }
    ASSERT_EQ(heap.size(), reference.size());
    ASSERT_EQ(heap.first() == nullptr, reference.empty());
    if (!reference.empty()) {
      ASSERT_EQ(heap.first()->when_ns, *reference.begin());
    }
  }
}

// A guest comes out only as the first, and the heap does not touch it. The others can be removed
// all the same.
TEST(timer_heap, guests_and_placed_elements_share_one_order) {
  timer_heap heap;
  std::vector<heap_place> places(150);
  std::vector<std::int64_t> guests(150);  // each is its own time
  sley::base::random random(3);
  for (int round = 0; round < 100; ++round) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      insert(heap, places[i], random.below(50));
      guests[i] = random.below(50);
      ASSERT_TRUE(heap.reserve_one());
      heap.insert_guest(&guests[i], guests[i]);
      left += 2;
    }
    for (heap_place& p : places) {
      if (random.below(2) == 0) continue;
      heap.remove(&p);
      --left;
    }
    std::int64_t before = -1;
    for (; left > 0; --left) {
      heap_place* p = heap.first();
      const auto* guest = static_cast<std::int64_t*>(heap.first_guest());
      ASSERT_NE(p == nullptr, guest == nullptr);
      ASSERT_EQ(p != nullptr ? p->when_ns : *guest, heap.first_when_ns());
      ASSERT_GE(heap.first_when_ns(), before);
      before = heap.first_when_ns();
      heap.pop_first();
      if (p != nullptr) {
        ASSERT_FALSE(p->is_in_heap());
      }
    }
    ASSERT_TRUE(heap.is_empty());
    ASSERT_EQ(heap.first_guest(), nullptr);
  }
}

TEST(timer_heap, the_ends_of_time_are_times_like_others) {
  timer_heap heap;
  heap_place first;
  heap_place last;
  insert(heap, last, INT64_MAX);
  insert(heap, first, INT64_MIN);
  EXPECT_EQ(heap.first(), &first);
  heap.move(&first, INT64_MAX);
  heap.move(&last, 0);
  EXPECT_EQ(heap.first(), &last);
}

TEST(timer_heap_death_test, an_element_is_in_one_heap) {
  timer_heap a;
  timer_heap b;
  heap_place p;
  heap_place q;
  insert(a, p, 1);
  ASSERT_TRUE(a.reserve_one());
  EXPECT_DEATH(a.insert(&p, 2), "a timer is in one heap");
  EXPECT_DEATH(b.remove(&p), "a timer knows its place");
  EXPECT_DEATH(a.remove(&q), "a timer knows its place");
  EXPECT_DEATH(a.move(&q, 1), "a timer knows its place");
}

}  // namespace
