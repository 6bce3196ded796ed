// Aim: releases of Linux are read as the kernel and distributions write them. Method: texts.
#include "platform/kernel_release.hpp"

#include <gtest/gtest.h>

using sley::platform::kernel_release;
using sley::platform::read_kernel_release;

namespace {

TEST(kernel_release, is_read_from_the_text_of_uname) {
  EXPECT_EQ(read_kernel_release("6.1.0-18-amd64"), (kernel_release{6, 1}));
  EXPECT_EQ(read_kernel_release("5.15.167.4-microsoft-standard-WSL2"), (kernel_release{5, 15}));
  EXPECT_EQ(read_kernel_release("6.9-rc1"), (kernel_release{6, 9}));
  EXPECT_EQ(read_kernel_release("10.0"), (kernel_release{10, 0}));
}

TEST(kernel_release, is_the_oldest_one_if_the_text_is_none) {
  for (const char* text : {"", "6", "6.", ".9", "x.y", "six", "99999999999.1"}) {
    EXPECT_EQ(read_kernel_release(text), kernel_release{}) << text;
  }
}

TEST(kernel_release, is_ordered_by_numbers_and_not_by_text) {
  EXPECT_LT((kernel_release{6, 9}), (kernel_release{6, 10}));
  EXPECT_LT((kernel_release{6, 12}), (kernel_release{10, 0}));
  EXPECT_LT(kernel_release{}, (kernel_release{4, 14}));
}

}  // namespace
