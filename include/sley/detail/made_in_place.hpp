// Room for a value that comes from a call, and is made where it stays.
#pragma once

#include <sley/detail/language.hpp>

#include <memory>
#include <new>
#include <utility>

namespace sley::detail {

// As std::optional, but that what a function returns is not moved there: it may be larger than a
// goroutine's stack.
template <class T>
class made_in_place {
 public:
  made_in_place() noexcept {}
  ~made_in_place() {
    if (is_made_) value_.~T();
  }
  made_in_place(const made_in_place&) = delete;
  made_in_place& operator=(const made_in_place&) = delete;

  // With what make() returns. Once.
  template <class Make>
  void make(Make&& make) {
    ::new (const_cast<void*>(static_cast<const volatile void*>(std::addressof(value_)))) T(make());
    is_made_ = true;
  }
  explicit operator bool() const noexcept { return is_made_; }
  T& operator*() noexcept { return value_; }

 private:
  union {
    T value_;
  };
  bool is_made_ = false;
};

}  // namespace sley::detail
