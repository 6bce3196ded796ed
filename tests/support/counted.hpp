// A value that knows how many of its kind are alive, and notices a double destruction.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace sley_test {

// Moved-from objects are alive, too, but are not counted as values.
class counted {
 public:
  explicit counted(int value = 0) : value_(value), holds_(true) {
    ++objects_;
    ++values_;
  }
  counted(counted&& other) noexcept
      : value_(other.value_), holds_(std::exchange(other.holds_, false)) {
    other.check();
    ++objects_;
  }
  counted& operator=(counted&& other) noexcept {
    check();
    other.check();
    if (this == &other) return *this;
    drop_value();
    value_ = other.value_;
    holds_ = std::exchange(other.holds_, false);
    return *this;
  }
  counted(const counted& other) : value_(other.value_), holds_(other.holds_) {
    other.check();
    ++objects_;
    if (holds_) ++values_;
  }
  counted& operator=(const counted& other) { return *this = counted(other); }
  ~counted() {
    check();
    drop_value();
    magic_ = dead;
    --objects_;
  }

  int value() const {
    check();
    return value_;
  }
  // False once it has been moved from.
  bool holds() const { return holds_; }

  static int objects() { return objects_; }
  static int values() { return values_; }

 private:
  static constexpr std::uint32_t alive = 0xa11ce5a1;
  static constexpr std::uint32_t dead = 0xdeadbeef;

  void check() const {
    const std::uint32_t magic = magic_;
    EXPECT_EQ(magic, alive) << "use of a destroyed or never made value";
  }
  void drop_value() {
    if (holds_) --values_;
    holds_ = false;
  }

  static inline std::atomic<int> objects_{0};
  static inline std::atomic<int> values_{0};

  volatile std::uint32_t magic_ = alive;
  int value_;
  bool holds_;
};

// Expects that no counted object is left over when it goes.
class counted_check {
 public:
  counted_check() : objects_(counted::objects()), values_(counted::values()) {}
  ~counted_check() {
    EXPECT_EQ(counted::objects(), objects_) << "objects leaked or destroyed twice";
    EXPECT_EQ(counted::values(), values_) << "values leaked or destroyed twice";
  }
  counted_check(const counted_check&) = delete;
  counted_check& operator=(const counted_check&) = delete;

 private:
  int objects_;
  int values_;
};

}  // namespace sley_test
