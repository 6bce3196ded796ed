// Goroutines that work on one task, of which each may fail.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/task_group.hpp>

#include <cstddef>
#include <utility>

namespace sley {

// Goroutines whose first exception ends the others' work and comes out of wait():
//
//   sley::error_group group(ctx);
//   for (const url& u : urls) group.go([&] { fetch(u, group.context()); });
//   group.wait();
//
// A group is for one task: when wait() has returned its context has ended, and the first exception
// stays. Any thread may call everything here. It must not be destroyed while a call is under way,
// except calls of its own goroutines; see the destructor. From Go's golang.org/x/sync/errgroup,
// with exceptions in the place of errors.
class SLEY_API error_group {
 public:
  // They throw std::bad_alloc.
  error_group();
  // context() is made from the parent, and ends with it.
  explicit error_group(const sley::context& parent);
  error_group(const error_group&) = delete;
  error_group& operator=(const error_group&) = delete;
  // If goroutines are still running, as when an exception comes between go() and wait(), it ends
  // context() and parks until they have ended. Exceptions that they throw then are dropped. An
  // exception from before, which no wait() has thrown, is a line of <sley/log.hpp>, unless the
  // block is left by another.
  ~error_group();

  // Calls f() in a goroutine; what it returns is dropped. If an exception leaves it, and it is the
  // group's first, that ends context() with the exception as its cause. A goroutine that ends by
  // exit() has not failed. While there are as many as the limit allows, parks until one of them has
  // ended, which no context ends; callers that wait get their places in order. Throws what
  // sley::go() throws; no goroutine was started then, and the group has not failed.
  template <class F>
  void go(F&& f) {
    group_.go(std::forward<F>(f));
  }
  // The same, but never parks: false, and nothing happened, if the limit is reached.
  template <class F>
  [[nodiscard]] bool try_go(F&& f) {
    return group_.try_go(std::forward<F>(f));
  }

  // From now on at most n goroutines of the group run at a time, none if n is zero; negative: any
  // number, as at first. std::logic_error, and nothing changed, while a goroutine runs or a go()
  // waits. Not at the same time as other calls.
  void set_limit(std::ptrdiff_t n);

  // Parks until all goroutines have ended, ends context(), and throws the first exception if there
  // was one, each time. No context ends this wait, because the goroutines may use the caller's
  // variables: goroutines that look at context() end soon after it.
  void wait();

  // Ends when the first goroutine fails, wait() returns, the parent ends or the group is destroyed.
  const sley::context& context() const noexcept { return group_.context(); }

 private:
  detail::task_group group_;
  detail::atomic<bool> is_asked_;  // relaxed: a note for the destructor
  const int unwindings_ = detail::unwindings();
};

}  // namespace sley
