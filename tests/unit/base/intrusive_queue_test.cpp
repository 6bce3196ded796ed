// Aim: the intrusive queue keeps order and count. Method: small sequences, and a std::deque beside.
#include "base/intrusive_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <utility>

#include "base/random.hpp"

namespace {

struct element {
  int value = 0;
  element* next = nullptr;
};

using queue = sley::base::intrusive_queue<element, &element::next>;

TEST(intrusive_queue, a_new_queue_is_empty) {
  queue q;
  EXPECT_TRUE(q.is_empty());
  EXPECT_EQ(q.size(), 0U);
  EXPECT_EQ(q.pop_front(), nullptr);
}

TEST(intrusive_queue, push_back_adds_the_last_and_push_front_the_first) {
  std::array<element, 3> e;
  queue q;
  q.push_back(&e[0]);
  q.push_back(&e[1]);
  q.push_front(&e[2]);
  EXPECT_EQ(q.size(), 3U);
  EXPECT_EQ(q.pop_front(), &e[2]);
  EXPECT_EQ(q.pop_front(), &e[0]);
  EXPECT_EQ(q.pop_front(), &e[1]);
  EXPECT_TRUE(q.is_empty());
}

TEST(intrusive_queue, an_element_in_front_of_an_empty_queue_is_also_the_last) {
  std::array<element, 2> e;
  queue q;
  q.push_front(&e[0]);
  q.push_back(&e[1]);
  EXPECT_EQ(q.pop_front(), &e[0]);
  EXPECT_EQ(q.pop_front(), &e[1]);
}

TEST(intrusive_queue, append_moves_all_and_leaves_the_other_empty) {
  std::array<element, 4> e;
  queue a;
  queue b;
  a.push_back(&e[0]);
  a.push_back(&e[1]);
  b.push_back(&e[2]);
  a.append(std::move(b));
  EXPECT_EQ(a.size(), 3U);
  EXPECT_TRUE(b.is_empty());
  b.push_back(&e[3]);
  EXPECT_EQ(b.pop_front(), &e[3]);
  a.append(queue());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(a.pop_front(), &e[i]);
  a.append(std::move(b));
  EXPECT_TRUE(a.is_empty());
}

TEST(intrusive_queue, behaves_like_a_deque) {
  std::array<element, 32> elements;
  std::deque<element*> reference;
  std::deque<element*> unused;
  for (element& e : elements) unused.push_back(&e);
  queue q;
  sley::base::random random(7);
  for (int step = 0; step < 10'000; ++step) {
    const std::uint32_t what = random.below(3);
    if (what == 2 || unused.empty()) {
      element* expected = reference.empty() ? nullptr : reference.front();
      ASSERT_EQ(q.pop_front(), expected);
      if (expected != nullptr) {
        reference.pop_front();
        unused.push_back(expected);
      }
    } else {
      element* e = unused.front();
      unused.pop_front();
      if (what == 0) {
        q.push_back(e);
        reference.push_back(e);
      } else {
        q.push_front(e);
        reference.push_front(e);
      }
    }
    ASSERT_EQ(q.size(), reference.size());
  }
}

TEST(intrusive_queue, the_front_is_the_next_to_be_popped) {
  std::array<element, 2> e;
  queue q;
  EXPECT_EQ(q.front(), nullptr);
  q.push_back(&e[0]);
  q.push_back(&e[1]);
  EXPECT_EQ(q.front(), &e[0]);
  EXPECT_EQ(q.size(), 2U) << "it is only looked at";
  EXPECT_EQ(q.pop_front(), &e[0]);
  EXPECT_EQ(q.front(), &e[1]);
  EXPECT_EQ(q.pop_front(), &e[1]);
  EXPECT_EQ(q.front(), nullptr);
}

TEST(intrusive_queue, the_elements_that_are_wanted_are_counted) {
  std::array<element, 5> e;
  queue q;
  const auto is_odd = [](const element* x) { return x->value % 2 == 1; };
  EXPECT_EQ(q.count(is_odd), 0U);
  for (std::size_t i = 0; i < e.size(); ++i) {
    e[i].value = static_cast<int>(i);
    q.push_back(&e[i]);
  }
  EXPECT_EQ(q.count(is_odd), 2U);
  EXPECT_EQ(q.size(), 5U) << "they are only looked at";
}

// All subsets of five, so that first, last, all and none are among them.
TEST(intrusive_queue, extracted_and_remaining_elements_keep_their_order) {
  for (unsigned subset = 0; subset < 32; ++subset) {
    std::array<element, 6> e;
    queue q;
    for (int i = 0; i < 5; ++i) {
      e[static_cast<std::size_t>(i)].value = i;
      q.push_back(&e[static_cast<std::size_t>(i)]);
    }
    queue taken = q.extract([subset](const element* x) { return (subset >> x->value & 1) != 0; });
    EXPECT_EQ(taken.size() + q.size(), 5U);
    q.push_back(&e[5]);  // both can go on
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ((subset >> i & 1) != 0 ? taken.pop_front() : q.pop_front(), &e[i]) << subset;
    }
    EXPECT_EQ(q.pop_front(), &e[5]);
    EXPECT_TRUE(taken.is_empty());
    EXPECT_TRUE(q.is_empty());
    taken.push_back(&e[0]);
    EXPECT_EQ(taken.pop_front(), &e[0]);
  }
}

}  // namespace
