// Aim: the global queue is first in, first out, and each take gets a fair share. Method: one
// thread for order and sizes, real threads for loss.
#include "parts/global_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct element {
  element* next = nullptr;
  std::atomic<int> taken{0};
};

using queue = sley::parts::global_queue<element, &element::next>;

constexpr auto nobody = [](const element*) { return false; };

TEST(global_queue, is_first_in_first_out_over_single_elements_and_batches) {
  queue q;
  std::array<element, 4> e;
  EXPECT_TRUE(q.is_empty());
  EXPECT_EQ(q.pop(), nullptr);
  q.push_back(&e[0]);
  queue::list batch;
  batch.push_back(&e[1]);
  batch.push_back(&e[2]);
  q.append(std::move(batch));
  q.push_back(&e[3]);
  EXPECT_EQ(q.size(), 4U);
  for (element& x : e) EXPECT_EQ(q.pop(), &x);
  EXPECT_TRUE(q.is_empty());
}

TEST(global_queue, a_share_is_that_of_one_processor_and_one_more) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::uint32_t procs = 1; procs <= 8; ++procs) {
      for (const std::size_t most : {std::size_t{1}, std::size_t{5}, std::size_t{128}}) {
        queue q;
        std::vector<element> e(size);
        for (element& x : e) q.push_back(&x);
        queue::list share = q.take_share(procs, most, nobody);
        const std::size_t fair = std::min({size / procs + 1, size, most});
        ASSERT_EQ(share.size(), fair) << size << " elements, " << procs << " processors";
        ASSERT_EQ(q.size(), size - fair);
        for (std::size_t i = 0; i < fair; ++i) ASSERT_EQ(share.pop_front(), &e[i]);
        ASSERT_EQ(q.pop(), fair < size ? &e[fair] : nullptr);
      }
    }
  }
}

TEST(global_queue, a_prepended_list_comes_first_in_its_order) {
  queue q;
  std::array<element, 5> e;
  q.push_back(&e[3]);
  q.push_back(&e[4]);
  queue::list first;
  for (std::size_t i = 0; i < 3; ++i) first.push_back(&e[i]);
  q.prepend(std::move(first));
  EXPECT_EQ(q.size(), 5U);
  q.prepend(queue::list());
  EXPECT_EQ(q.size(), 5U);
  for (element& x : e) EXPECT_EQ(q.pop(), &x);
  queue::list alone;
  alone.push_back(&e[0]);
  q.prepend(std::move(alone));
  q.push_back(&e[1]);
  EXPECT_EQ(q.pop(), &e[0]);
  EXPECT_EQ(q.pop(), &e[1]);
}

TEST(global_queue, only_the_first_is_popped_on_a_condition) {
  queue q;
  std::array<element, 2> e;
  const auto is = [](const element* wanted) {
    return [wanted](const element* x) { return x == wanted; };
  };
  EXPECT_EQ(q.pop_if(is(nullptr)), nullptr) << "there is no element to ask about";
  q.push_back(&e[0]);
  q.push_back(&e[1]);
  EXPECT_EQ(q.pop_if(is(&e[1])), nullptr) << "it is not the first";
  EXPECT_EQ(q.size(), 2U);
  EXPECT_EQ(q.pop_if(is(&e[0])), &e[0]);
  EXPECT_EQ(q.size(), 1U);
  EXPECT_EQ(q.pop_if(is(&e[1])), &e[1]);
  EXPECT_TRUE(q.is_empty());
}

TEST(global_queue, elements_brought_forward_come_first_and_the_others_stay_in_order) {
  queue q;
  std::array<element, 4> e;
  for (element& x : e) q.push_back(&x);
  q.bring_forward(nobody);
  q.bring_forward([&e](const element* x) { return x == &e[2] || x == &e[3]; });
  EXPECT_EQ(q.size(), 4U);
  for (const std::size_t i : {2U, 0U, 1U, 3U}) EXPECT_EQ(q.pop(), &e[i]);
  q.bring_forward([](const element*) { return true; });
  EXPECT_TRUE(q.is_empty());
}

TEST(global_queue, extracted_elements_are_counted_out_and_the_rest_stays_in_order) {
  queue q;
  std::array<element, 6> e;
  for (element& x : e) q.push_back(&x);
  queue::list odd = q.extract([&e](const element* x) { return (x - e.data()) % 2 == 1; });
  EXPECT_EQ(odd.size(), 3U);
  EXPECT_EQ(q.size(), 3U);
  for (const std::size_t i : {1U, 3U, 5U}) EXPECT_EQ(odd.pop_front(), &e[i]);
  EXPECT_TRUE(q.extract(nobody).is_empty());
  for (const std::size_t i : {0U, 2U, 4U}) EXPECT_EQ(q.pop(), &e[i]);
}

TEST(global_queue, a_loner_is_a_share_of_its_own_or_in_none) {
  for (std::size_t loner = 0; loner < 4; ++loner) {
    queue q;
    std::array<element, 4> e;
    for (element& x : e) q.push_back(&x);
    const auto goes_alone = [&](const element* x) { return x == &e[loner]; };
    std::size_t next = 0;
    while (!q.is_empty()) {
      queue::list share = q.take_share(1, 128, goes_alone);
      ASSERT_FALSE(share.is_empty());
      const std::size_t expected = next == loner ? 1 : next < loner ? loner - next : 4 - next;
      ASSERT_EQ(share.size(), expected) << "at " << next << ", alone is " << loner;
      while (const element* x = share.pop_front()) EXPECT_EQ(x, &e[next++]);
    }
    EXPECT_EQ(next, 4U);
  }
}

TEST(global_queue, elements_that_stay_keep_their_place_in_front) {
  for (const std::size_t most : {1U, 3U, 4U, 128U}) {
    queue q;
    std::array<element, 6> e;
    for (element& x : e) q.push_back(&x);
    const auto stays = [&](const element* x) { return x == &e[0] || x == &e[2]; };
    queue::list share = q.take_share_without(1, most, 128, stays);
    const std::array<std::size_t, 4> others{1, 3, 4, 5};
    ASSERT_EQ(share.size(), std::min<std::size_t>(most, 4)) << "at most " << most;
    for (std::size_t i = 0; i < std::min<std::size_t>(most, 4); ++i) {
      EXPECT_EQ(share.pop_front(), &e[others[i]]);
    }
    EXPECT_EQ(q.size(), e.size() - std::min<std::size_t>(most, 4));
    EXPECT_EQ(q.pop(), &e[0]);
    EXPECT_EQ(q.pop(), &e[2]);
  }
}

TEST(global_queue, a_bounded_number_of_elements_is_passed_over) {
  for (const std::size_t looks : {0U, 2U, 3U, 4U, 5U, 128U}) {
    queue q;
    std::array<element, 5> e;
    for (element& x : e) q.push_back(&x);
    const auto stays = [&](const element* x) { return x != &e[2] && x != &e[4]; };
    const queue::list share = q.take_share_without(1, 128, looks, stays);
    EXPECT_EQ(share.size(), (looks > 2) + (looks > 4)) << looks << " looks";
    EXPECT_EQ(q.size(), e.size() - share.size());
    EXPECT_EQ(q.pop(), &e[0]);
    EXPECT_EQ(q.pop(), &e[1]);
  }
}

TEST(global_queue, nothing_is_lost_or_doubled_between_threads) {
  constexpr std::size_t each = 20'000;
  constexpr std::size_t writers = 2;
  const auto elements = std::make_unique<element[]>(each * writers);
  queue q;
  std::atomic<std::size_t> left{each * writers};
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < writers; ++w) {
    threads.emplace_back([&, w] {
      for (std::size_t i = 0; i < each; ++i) q.push_back(&elements[w * each + i]);
    });
    threads.emplace_back([&] {
      while (left > 0) {
        queue::list share = q.take_share(4, 16, nobody);
        while (element* e = share.pop_front()) {
          ++e->taken;
          --left;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < each * writers; ++i) ASSERT_EQ(elements[i].taken, 1) << i;
}

}  // namespace
