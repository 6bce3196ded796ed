// Goroutines that park with much on their stacks, and look whether it is still there when they
// wake.
#pragma once

#include "support/harness.hpp"
#include "support/scale.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sley_test {

inline constexpr int deep_pages = 15;  // 64 KiB with the frames' own

// A pattern in a frame, which only its owner knows.
class pattern {
 public:
  explicit pattern(int seed) : seed_(static_cast<std::uint64_t>(seed)) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = word(i);
  }
  bool is_intact() const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] != word(i)) return false;
    }
    return true;
  }

 private:
  std::uint64_t word(std::size_t i) const { return (seed_ + i + 1) * 0x9e3779b97f4a7c15U; }

  std::uint64_t seed_;
  std::array<volatile std::uint64_t, 256> words_;  // 2 KiB
};

// Parks with `frames` frames full of values above, and looks whether they are the same after.
[[gnu::noinline]] inline bool park_below(int frames, int seed, const sley::chan<void>& release) {
  const pattern here(seed + frames);
  if (frames > 0) return park_below(frames - 1, seed, release) && here.is_intact();
  release.receive();
  return here.is_intact();
}

// Goroutines that have used 64 KiB of stack and park. Most of them need little of it any more; one
// in ten parks at the deep end.
class sleepers {
 public:
  explicit sleepers(int count) : count_(count) {
    for (int i = 0; i < count; ++i) {
      group_.go([this, i] {
        EXPECT_EQ(use_stack(deep_pages), deep_pages);
        arrived_.fetch_add(1, std::memory_order_relaxed);
        if (park_below(i % 10 == 0 ? 20 : 0, i, release_)) {
          intact_.fetch_add(1, std::memory_order_relaxed);
        }
        EXPECT_EQ(use_stack(deep_pages), deep_pages);  // there for use as before
      });
    }
    EXPECT_TRUE(eventually([this] { return arrived_ == count_; }));
  }
  void wake() {
    release_.close();
    group_.wait();
    EXPECT_EQ(intact_, count_) << "values on parked stacks have changed";
  }

 private:
  const int count_;
  const sley::chan<void> release_;
  std::atomic<int> arrived_{0};
  std::atomic<int> intact_{0};
  sley::wait_group group_;
};

}  // namespace sley_test
