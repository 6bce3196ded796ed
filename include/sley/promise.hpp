// promise and packaged_task: results for futures that no goroutine of async brings.
#pragma once

#include <sley/detail/future_state.hpp>
#include <sley/future.hpp>

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

namespace sley {

namespace detail {

// Where a future's result is to come from, and whether the future has been taken.
template <class R>
class future_source {
 public:
  future_source() noexcept = default;
  explicit future_source(std::shared_ptr<future_state<R>> state) noexcept
      : state_(std::move(state)) {}
  future_source(future_source&& other) noexcept { swap(other); }
  future_source& operator=(future_source&& other) noexcept {
    future_source(std::move(other)).swap(*this);
    return *this;
  }
  ~future_source() {
    if (state_ != nullptr && is_taken_ && state_->done.claim()) {
      state_->error = broken_promise();
      state_->done.set();
    }
  }

  void swap(future_source& other) noexcept {
    state_.swap(other.state_);
    std::swap(is_taken_, other.is_taken_);
  }
  bool valid() const noexcept { return state_ != nullptr; }
  future_state<R>& checked() const {
    if (state_ == nullptr) throw std::future_error(std::future_errc::no_state);
    return *state_;
  }
  future<R> get_future() {
    checked();
    if (std::exchange(is_taken_, true)) {
      throw std::future_error(std::future_errc::future_already_retrieved);
    }
    return future_access::make<R>(state_);
  }

 private:
  std::shared_ptr<future_state<R>> state_;
  bool is_taken_ = false;
};

// What is the same for values, references and nothing.
template <class R>
class promise_base {
 public:
  promise_base() : source_(std::make_shared<future_state<R>>()) {}
  template <class Allocator>
  promise_base(std::allocator_arg_t, const Allocator& allocator)
      : source_(std::allocate_shared<future_state<R>>(allocator, std::allocator_arg)) {}

  // The future that gets the result. Once.
  future<R> get_future() { return source_.get_future(); }
  // The result is this exception.
  void set_exception(std::exception_ptr error) { source_.checked().set_error(std::move(error)); }

 protected:
  void swap(promise_base& other) noexcept { source_.swap(other.source_); }

  future_source<R> source_;
};

// R(Args...) of a call operator.
template <class Operator>
struct call_signature;
template <class R, class C, class... Args>
struct call_signature<R (C::*)(Args...)> : std::type_identity<R(Args...)> {};
template <class R, class C, class... Args>
struct call_signature<R (C::*)(Args...) const> : std::type_identity<R(Args...)> {};
template <class R, class C, class... Args>
struct call_signature<R (C::*)(Args...) noexcept> : std::type_identity<R(Args...)> {};
template <class R, class C, class... Args>
struct call_signature<R (C::*)(Args...) const noexcept> : std::type_identity<R(Args...)> {};

}  // namespace detail

// As std::promise: the future that get_future() returns gets what set_value() or set_exception()
// brings, once. Any thread may bring it; nothing parks. std::future_error: no_state after it was
// moved from, future_already_retrieved, promise_already_satisfied; std::invalid_argument for a null
// exception, which is not brought; and a promise that is destroyed
// before leaves broken_promise to its future. If copying the value throws, nothing was brought.
// There are no set_value_at_thread_exit and set_exception_at_thread_exit: goroutines have no such
// end of a thread.
template <class R>
class promise : public detail::promise_base<R> {
 public:
  using detail::promise_base<R>::promise_base;
  void set_value(const R& value) { this->source_.checked().set_value(value); }
  void set_value(R&& value) { this->source_.checked().set_value(std::move(value)); }
  void swap(promise& other) noexcept { detail::promise_base<R>::swap(other); }
};

// As std::promise of a reference.
template <class R>
class promise<R&> : public detail::promise_base<R&> {
 public:
  using detail::promise_base<R&>::promise_base;
  void set_value(R& value) { this->source_.checked().set_value(&value); }
  void swap(promise& other) noexcept { detail::promise_base<R&>::swap(other); }
};

// As std::promise of nothing.
template <>
class promise<void> : public detail::promise_base<void> {
 public:
  using detail::promise_base<void>::promise_base;
  void set_value() { source_.checked().set_value(); }
  void swap(promise& other) noexcept { detail::promise_base<void>::swap(other); }
};

// As std::swap.
template <class R>
void swap(promise<R>& a, promise<R>& b) noexcept {
  a.swap(b);
}

template <class Signature>
class packaged_task;

// As std::packaged_task: a callable, called once, whose result or exception goes to the future of
// get_future(). Errors as promise's. A task that is never called breaks its promise, and so does a
// call that ends by this_goroutine::exit().
template <class R, class... Args>
class packaged_task<R(Args...)> {
 public:
  packaged_task() noexcept = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, packaged_task> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
  explicit packaged_task(F&& f)
      : callable_(std::make_unique<holder<std::decay_t<F>>>(std::forward<F>(f))),
        source_(std::make_shared<detail::future_state<R>>()) {}

  packaged_task(packaged_task&&) noexcept = default;
  packaged_task& operator=(packaged_task&&) noexcept = default;

  bool valid() const noexcept { return source_.valid(); }
  future<R> get_future() { return source_.get_future(); }
  // std::future_error{promise_already_satisfied} if it has been called.
  void operator()(Args... args) {
    auto& state = source_.checked();
    state.claim();
    state.run_in_place([&]() -> R { return callable_->call(std::forward<Args>(args)...); });
  }
  // The same callable with a new result to come; the old one's promise is broken if it never came.
  void reset() {
    source_.checked();
    source_ = detail::future_source<R>(std::make_shared<detail::future_state<R>>());
  }
  // As std::packaged_task's.
  void swap(packaged_task& other) noexcept {
    callable_.swap(other.callable_);
    source_.swap(other.source_);
  }

 private:
  struct erased {
    virtual ~erased() = default;
    virtual R call(Args&&... args) = 0;
  };
  template <class F>
  struct holder final : erased {
    template <class G>
    explicit holder(G&& g) : f(std::forward<G>(g)) {}
    R call(Args&&... args) override {
      if constexpr (std::is_void_v<R>) {
        std::invoke(f, std::forward<Args>(args)...);
      } else {
        return std::invoke(f, std::forward<Args>(args)...);
      }
    }
    F f;
  };

  std::unique_ptr<erased> callable_;
  detail::future_source<R> source_;
};

// As std::swap.
template <class Signature>
void swap(packaged_task<Signature>& a, packaged_task<Signature>& b) noexcept {
  a.swap(b);
}

// The signature of a function, or of a function object with one call operator.
template <class R, class... Args>
packaged_task(R (*)(Args...)) -> packaged_task<R(Args...)>;
template <class F>
packaged_task(F) -> packaged_task<typename detail::call_signature<decltype(&F::operator())>::type>;

}  // namespace sley
