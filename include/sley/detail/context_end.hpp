// For a call that may wait: something is called if a context ends meanwhile.
#pragma once

#include <sley/context.hpp>
#include <sley/mutex.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace sley::detail {

// The call that ends the context calls f, if that is while this object lives. Its end waits for a
// call that is under way: so f may use what is on the stack. f must not wait for the object's end.
// It throws nothing, and is short, because others wait for it: it wakes the waiting goroutine.
class on_context_end {
 public:
  template <class F>
  on_context_end(const context& ctx, F f) : call_(std::make_shared<call>()) {
    call_->function = std::move(f);
    registration_ = call_at_end(ctx, [c = call_] { c->run(); });
  }
  ~on_context_end() {
    registration_.stop();
    const std::lock_guard guard(call_->lock);
    call_->function = nullptr;
  }
  on_context_end(const on_context_end&) = delete;
  on_context_end& operator=(const on_context_end&) = delete;

 private:
  struct call {
    mutex lock;
    std::function<void()> function;  // [lock: lock] empty: it is over

    void run() {
      const std::lock_guard guard(lock);
      if (function) function();
    }
  };

  std::shared_ptr<call> call_;
  context_callback registration_;
};

}  // namespace sley::detail
