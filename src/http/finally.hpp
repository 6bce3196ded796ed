// Calls at the end of a block, whichever way it is left.
#pragma once

#include <utility>

namespace sley::http::detail {

// Calls f when it goes out of scope, also when exit() unwinds the stack.
template <class F>
class finally {
 public:
  explicit finally(F f) : f_(std::move(f)) {}
  ~finally() { f_(); }
  finally(const finally&) = delete;
  finally& operator=(const finally&) = delete;

 private:
  F f_;
};

}  // namespace sley::http::detail
