// Tests of GoogleTest that fail if goroutines outlive them. Header-only; needs GoogleTest, which
// the library does not.
//
//   int main(int argc, char** argv) {
//     testing::InitGoogleTest(&argc, argv);
//     sley::debug::fail_tests_that_leak();
//     return RUN_ALL_TESTS();
//   }
#pragma once

#include <sley/debug.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace sley::debug {

// Each test is in a debug::no_leaks, from before its fixture is made until after that is destroyed.
// A test that leaves goroutines behind fails, with their stacks.
class no_leaks_listener : public ::testing::EmptyTestEventListener {
 private:
  void OnTestStart(const ::testing::TestInfo& test) override {
    guard_.emplace(
        [&test](const std::string& report) { ADD_FAILURE_AT(test.file(), test.line()) << report; });
  }
  void OnTestEnd(const ::testing::TestInfo&) override { guard_.reset(); }

  std::optional<no_leaks> guard_;
};

// From now on there is such a listener. Before RUN_ALL_TESTS().
inline void fail_tests_that_leak() {
  ::testing::UnitTest::GetInstance()->listeners().Append(new no_leaks_listener);
}

}  // namespace sley::debug
