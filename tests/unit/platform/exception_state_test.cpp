// Aim: the exception state is all that must be swapped so that a goroutine may stop in the middle
// of a catch block or of unwinding, and go on. Method: throw, swap, throw, swap back.
#include "platform/exception_state.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using sley::platform::exception_state;
using sley::platform::thread_exception_state;

namespace {

// Another goroutine, which throws and catches on its own.
void elsewhere() {
  const exception_state saved = std::exchange(*thread_exception_state(), {});
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
  try {
    throw std::runtime_error("inner");
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "inner");
  }
  *thread_exception_state() = saved;
}

TEST(exception_state, is_empty_outside_of_exceptions) {
  EXPECT_EQ(thread_exception_state()->caught, nullptr);
  EXPECT_EQ(static_cast<unsigned>(thread_exception_state()->uncaught), 0U);
}

TEST(exception_state, each_thread_has_one_at_a_fixed_address) {
  exception_state* mine = thread_exception_state();
  EXPECT_EQ(thread_exception_state(), mine);
  exception_state* other = nullptr;
  std::thread([&] { other = thread_exception_state(); }).join();
  EXPECT_NE(other, mine);
}

TEST(exception_state, a_catch_block_survives_a_swap) {
  std::string what;
  try {
    try {
      throw std::runtime_error("outer");
    } catch (const std::runtime_error&) {
      EXPECT_NE(thread_exception_state()->caught, nullptr);
      elsewhere();
      throw;
    }
  } catch (const std::runtime_error& e) {
    what = e.what();
  }
  EXPECT_EQ(what, "outer");
}

struct swaps_in_destructor {
  ~swaps_in_destructor() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    elsewhere();
    EXPECT_EQ(std::uncaught_exceptions(), 1);
  }
};

TEST(exception_state, unwinding_survives_a_swap) {
  std::string what;
  try {
    const swaps_in_destructor guard;
    throw std::runtime_error("outer");
  } catch (const std::runtime_error& e) {
    what = e.what();
  }
  EXPECT_EQ(what, "outer");
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

}  // namespace
