// Goroutines that do not outlive a block.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/task_group.hpp>

#include <utility>

namespace sley {

// A local variable whose goroutines have ended when its block is left, however that happens. They
// may use by reference all that was there before it:
//
//   std::vector<page> pages(urls.size());
//   sley::scope all(ctx);
//   for (std::size_t i = 0; i < urls.size(); ++i) {
//     all.go([&, i] { pages[i] = fetch(urls[i], all.context()); });
//   }
//   all.join();
//
// Where error_group is Go's, this is structured: the end of the block waits. It is for the caller
// that made it, and go() and context() for its own goroutines as well. A goroutine and a foreign
// thread may make one.
class SLEY_API scope {
 public:
  // They throw std::bad_alloc.
  scope();
  // context() is made from the parent, and ends with it.
  explicit scope(const sley::context& parent);
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  // As join(), and then context() ends. When the block is left by an exception or by exit(),
  // context() ends first, and what the goroutines throw is dropped.
  ~scope() noexcept(false);

  // Calls f() in a goroutine; what it returns is dropped. If an exception leaves it, and it is the
  // first, that ends context() with the exception as its cause. Never parks. Throws what
  // sley::go() throws; no goroutine was started then.
  template <class F>
  void go(F&& f) {
    group_.go(std::forward<F>(f));
  }

  // Parks until all goroutines have ended, and throws the first exception if there was one since
  // the last join(). It may be called several times, with more goroutines in between. No context
  // ends this wait, as for error_group.
  void join();

  // Ends when the first goroutine fails, the parent ends or the block is left.
  const sley::context& context() const noexcept { return group_.context(); }

 private:
  detail::task_group group_;
  const int unwindings_ = detail::unwindings();
};

}  // namespace sley
