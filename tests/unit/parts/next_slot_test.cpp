// Aim: the next slot holds one element, which is taken once. Method: one thread for what it
// returns, two for races.
#include "parts/next_slot.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace {

struct element {
  std::atomic<int> taken{0};
};

TEST(next_slot, a_second_element_displaces_the_first) {
  sley::parts::next_slot<element> slot;
  element a;
  element b;
  EXPECT_TRUE(slot.is_empty());
  EXPECT_EQ(slot.take(), nullptr);
  EXPECT_EQ(slot.put(&a), nullptr);
  EXPECT_FALSE(slot.is_empty());
  EXPECT_EQ(slot.put(&b), &a);
  EXPECT_EQ(slot.take(), &b);
  EXPECT_TRUE(slot.is_empty());
}

TEST(next_slot, a_thief_takes_what_the_owner_has_left) {
  sley::parts::next_slot<element> slot;
  element a;
  EXPECT_EQ(slot.steal(), nullptr);
  EXPECT_EQ(slot.put(&a), nullptr);
  EXPECT_EQ(slot.steal(), &a);
  EXPECT_EQ(slot.take(), nullptr);
}

TEST(next_slot, with_a_thief_each_element_is_taken_once) {
  constexpr std::size_t count = 100'000;
  const auto elements = std::make_unique<element[]>(count);
  sley::parts::next_slot<element> slot;
  std::atomic<bool> done{false};
  std::thread thief([&] {
    while (!done) {
      if (element* e = slot.steal()) ++e->taken;
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (element* e = slot.put(&elements[i])) ++e->taken;
    if (i % 2 == 0) {
      if (element* e = slot.take()) ++e->taken;
    }
  }
  if (element* e = slot.take()) ++e->taken;
  done = true;
  thief.join();
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(elements[i].taken, 1) << i;
}

}  // namespace
