// Small programs with a classic bug each, and the same without it.
#pragma once

#include <sley/mutex.hpp>
#include <sley/testing.hpp>

#include <mutex>
#include <span>
#include <string_view>

namespace sley_test {

using sley::testing::check;
using sley::testing::failure;
using sley::testing::point;
using lock = std::lock_guard<sley::mutex>;

struct program {
  std::string_view name;
  failure bug;  // what it ends with, in some orders
  void (*buggy)();
  void (*fixed)();
  bool is_small = true;  // two changes away from a runnable goroutine show it
};

std::span<const program> programs_with_data();      // corpus_data.cpp
std::span<const program> programs_with_waiting();   // corpus_waiting.cpp
std::span<const program> programs_with_channels();  // corpus_channels.cpp

}  // namespace sley_test
