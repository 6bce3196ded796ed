// Aim: the global queue is first in, first out, and each take gets a fair share. Method: one
// thread for order and sizes, real threads for loss.
#include "parts/global_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace {

struct element {
  element* next = nullptr;
  bool is_loner = false;
  std::atomic<int> taken{0};
};

bool is_loner(const element* e) noexcept { return e->is_loner; }

using queue = sley::parts::global_queue<element, &element::next, &is_loner>;

std::vector<element*> take_share(queue& q, std::uint32_t procs, std::size_t most) {
  std::vector<element*> share(most);
  share.resize(q.take_share(procs, share));
  return share;
}

std::vector<element*> take_share_without_loners(queue& q, std::size_t most, std::size_t looks) {
  std::vector<element*> share(most);
  share.resize(q.take_share_without_loners(1, share, looks));
  return share;
}

constexpr std::uint32_t two = 2;  // processors, so that nothing is kept by a holder

TEST(global_queue, is_first_in_first_out_over_single_elements_and_batches) {
  queue q;
  std::array<element, 4> e;
  EXPECT_TRUE(q.is_empty());
  EXPECT_EQ(q.pop(two), nullptr);
  q.push_back(&e[0]);
  queue::list batch;
  batch.push_back(&e[1]);
  batch.push_back(&e[2]);
  q.append(std::move(batch));
  q.push_back(&e[3]);
  EXPECT_EQ(q.size(), 4U);
  for (element& x : e) EXPECT_EQ(q.pop(two), &x);
  EXPECT_TRUE(q.is_empty());
}

TEST(global_queue, a_share_is_that_of_one_processor_and_one_more) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::uint32_t procs = 1; procs <= 8; ++procs) {
      for (const std::size_t most : {std::size_t{1}, std::size_t{5}, std::size_t{128}}) {
        queue q;
        std::vector<element> e(size);
        for (element& x : e) q.push_back(&x);
        const std::vector<element*> share = take_share(q, procs, most);
        const std::size_t fair = std::min({size / procs + 1, size, most});
        ASSERT_EQ(share.size(), fair) << size << " elements, " << procs << " processors";
        ASSERT_EQ(q.size(), size - fair);
        for (std::size_t i = 0; i < fair; ++i) ASSERT_EQ(share[i], &e[i]);
        ASSERT_EQ(q.pop(procs), fair < size ? &e[fair] : nullptr);
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
  for (element& x : e) EXPECT_EQ(q.pop(two), &x);
  queue::list alone;
  alone.push_back(&e[0]);
  q.prepend(std::move(alone));
  q.push_back(&e[1]);
  EXPECT_EQ(q.pop(two), &e[0]);
  EXPECT_EQ(q.pop(two), &e[1]);
}

TEST(global_queue, a_loner_is_popped_if_it_is_the_first) {
  for (const std::uint32_t procs : {1U, 2U}) {
    queue q;
    std::array<element, 2> e;
    EXPECT_EQ(q.pop_if_loner(procs), nullptr) << "there is no element";
    e[1].is_loner = true;
    for (element& x : e) procs == 1 ? q.push_back_held(&x) : q.push_back(&x);
    EXPECT_EQ(q.pop_if_loner(procs), nullptr) << "it is not the first";
    EXPECT_EQ(q.size(), 2U);
    EXPECT_EQ(q.pop(procs), &e[0]);
    EXPECT_EQ(q.pop_if_loner(procs), &e[1]);
    EXPECT_TRUE(q.is_empty());
  }
}

TEST(global_queue, the_first_loner_is_popped_and_the_others_stay_in_order) {
  queue q;
  std::array<element, 4> e;
  for (element& x : e) q.push_back(&x);
  EXPECT_EQ(q.pop_first_loner(), nullptr);
  for (element& x : e) ASSERT_EQ(q.pop(two), &x);
  e[1].is_loner = e[3].is_loner = true;
  for (element& x : e) q.push_back(&x);
  EXPECT_EQ(q.pop_first_loner(), &e[1]);
  EXPECT_EQ(q.pop_first_loner(), &e[3]);
  EXPECT_EQ(q.pop_first_loner(), nullptr);
  EXPECT_EQ(q.size(), 2U);
  for (const std::size_t i : {0U, 2U}) EXPECT_EQ(q.pop(two), &e[i]);
}

TEST(global_queue, a_loner_brought_forward_comes_first_and_the_others_stay_in_order) {
  queue q;
  std::array<element, 4> e;
  q.bring_loner_forward();
  EXPECT_TRUE(q.is_empty());
  for (element& x : e) q.push_back(&x);
  q.bring_loner_forward();
  for (element& x : e) EXPECT_EQ(q.pop(two), &x) << "there is no loner";
  e[2].is_loner = e[3].is_loner = true;
  for (element& x : e) q.push_back(&x);
  q.bring_loner_forward();
  EXPECT_EQ(q.size(), 4U);
  for (const std::size_t i : {2U, 0U, 1U, 3U}) EXPECT_EQ(q.pop(two), &e[i]);
}

TEST(global_queue, extracted_loners_are_counted_out_and_the_rest_stays_in_order) {
  queue q;
  std::array<element, 6> e;
  for (const std::size_t i : {1U, 3U, 4U, 5U}) e[i].is_loner = true;
  for (element& x : e) q.push_back(&x);
  const auto is_odd = [&e](const element* x) { return (x - e.data()) % 2 == 1; };
  queue::list odd = q.extract_loners(is_odd);
  EXPECT_EQ(odd.size(), 3U);
  EXPECT_EQ(q.size(), 3U);
  for (const std::size_t i : {1U, 3U, 5U}) EXPECT_EQ(odd.pop_front(), &e[i]);
  EXPECT_TRUE(q.extract_loners(is_odd).is_empty());
  for (const std::size_t i : {0U, 2U, 4U}) EXPECT_EQ(q.pop(two), &e[i]);
}

TEST(global_queue, a_loner_is_a_share_of_its_own_or_in_none) {
  for (std::size_t loner = 0; loner < 4; ++loner) {
    queue q;
    std::array<element, 4> e;
    e[loner].is_loner = true;
    for (element& x : e) q.push_back(&x);
    std::size_t next = 0;
    while (!q.is_empty()) {
      const std::vector<element*> share = take_share(q, 1, 128);
      ASSERT_FALSE(share.empty());
      const std::size_t expected = next == loner ? 1 : next < loner ? loner - next : 4 - next;
      ASSERT_EQ(share.size(), expected) << "at " << next << ", alone is " << loner;
      for (const element* x : share) EXPECT_EQ(x, &e[next++]);
    }
    EXPECT_EQ(next, 4U);
  }
}

TEST(global_queue, elements_that_stay_keep_their_place_in_front) {
  for (const std::size_t most : {1U, 3U, 4U, 128U}) {
    queue q;
    std::array<element, 6> e;
    e[0].is_loner = e[2].is_loner = true;
    for (element& x : e) q.push_back(&x);
    const std::vector<element*> share = take_share_without_loners(q, most, 128);
    const std::array<std::size_t, 4> others{1, 3, 4, 5};
    ASSERT_EQ(share.size(), std::min<std::size_t>(most, 4)) << "at most " << most;
    for (std::size_t i = 0; i < std::min<std::size_t>(most, 4); ++i) {
      EXPECT_EQ(share[i], &e[others[i]]);
    }
    EXPECT_EQ(q.size(), e.size() - std::min<std::size_t>(most, 4));
    EXPECT_EQ(q.pop(two), &e[0]);
    EXPECT_EQ(q.pop(two), &e[2]);
  }
}

TEST(global_queue, a_bounded_number_of_elements_is_passed_over) {
  for (const std::size_t looks : {0U, 2U, 3U, 4U, 5U, 128U}) {
    queue q;
    std::array<element, 5> e;
    for (const std::size_t i : {0U, 1U, 3U}) e[i].is_loner = true;
    for (element& x : e) q.push_back(&x);
    const std::vector<element*> share = take_share_without_loners(q, 128, looks);
    EXPECT_EQ(share.size(), (looks > 2) + (looks > 4)) << looks << " looks";
    EXPECT_EQ(q.size(), e.size() - share.size());
    EXPECT_EQ(q.pop(two), &e[0]);
    EXPECT_EQ(q.pop(two), &e[1]);
  }
}

// Many steps by chance, by the holder of the only processor and by others. Beside the queue, one
// plain list of all elements takes the same steps.
TEST(global_queue, elements_that_a_holder_keeps_come_before_later_ones_of_others) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sley::base::random random(seed);
    queue q;
    std::vector<element> e(200);
    std::deque<element*> plain;
    const bool has_loners = seed % 2 == 1;
    const auto expect_first = [&plain](const element* taken) {
      ASSERT_FALSE(plain.empty());
      EXPECT_EQ(taken, plain.front());
      plain.pop_front();
    };
    for (element& x : e) {
      x.is_loner = has_loners && random.below(20) == 0;
      plain.push_back(&x);
      if (random.below(2) == 0) {
        q.push_back_held(&x);
      } else if (random.below(2) == 0) {
        q.push_back(&x);
      } else {
        queue::list one;
        one.push_back(&x);
        q.append(std::move(one));
      }
      switch (random.below(4)) {
        case 0:
          if (element* first = q.pop(1)) expect_first(first);
          break;
        case 1:
          for (const element* taken : take_share(q, 1, random.below(8))) expect_first(taken);
          break;
        case 2:
          if (element* loner = q.pop_first_loner()) {
            EXPECT_TRUE(loner->is_loner);
            EXPECT_EQ(std::erase(plain, loner), 1U);
          }
          break;
        default: break;
      }
      EXPECT_EQ(q.size(), plain.size());
    }
    q.share();
    while (const element* taken = q.pop(two)) expect_first(taken);
    EXPECT_TRUE(plain.empty());
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
        for (element* e : take_share(q, 4, 16)) {
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
