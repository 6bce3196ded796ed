// Aim: the intrusive queue keeps order and count. Method: small sequences, and a std::deque beside.
#include "base/intrusive_queue.hpp"

#include <gtest/gtest.h>

#include <array>
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

TEST(intrusive_queue, what_is_pushed_behind_comes_last_and_what_is_pushed_in_front_first) {
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

}  // namespace
