// C++20 coroutines of three kinds that know nothing of sley.
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace sley_test {

// Begins at once, and its owner may destroy it wherever it is suspended.
class owned {
 public:
  struct promise_type {
    owned get_return_object() {
      return owned(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct last : std::suspend_always {
        void await_suspend(std::coroutine_handle<promise_type> h) const noexcept {
          h.promise().has_ended = true;
        }
      };
      return last();
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }

    std::atomic<bool> has_ended{false};
  };

  owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  owned& operator=(owned&&) = delete;
  ~owned() {
    if (handle_) handle_.destroy();
  }

  bool has_ended() const { return handle_.promise().has_ended; }

 private:
  explicit owned(std::coroutine_handle<promise_type> h) : handle_(h) {}
  std::coroutine_handle<promise_type> handle_;
};

// Begins at once, and destroys itself at its end.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

// Begins when it is awaited, and hands its result to the awaiting coroutine.
template <class T>
class task {
 public:
  struct promise_type {
    task get_return_object() {
      return task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct next : std::suspend_always {
        std::coroutine_handle<> await_suspend(
            std::coroutine_handle<promise_type> h) const noexcept {
          return h.promise().waiter;
        }
      };
      return next();
    }
    void return_value(T v) { value.emplace(std::move(v)); }
    void unhandled_exception() { error = std::current_exception(); }

    std::coroutine_handle<> waiter;
    std::optional<T> value;
    std::exception_ptr error;
  };

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&&) = delete;
  ~task() {
    if (handle_) handle_.destroy();
  }

  auto operator co_await() && {
    struct awaiter {
      std::coroutine_handle<promise_type> handle;
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
        handle.promise().waiter = waiter;
        return handle;
      }
      T&& await_resume() {
        if (handle.promise().error) std::rethrow_exception(handle.promise().error);
        return std::move(*handle.promise().value);
      }
    };
    return awaiter{handle_};
  }

 private:
  explicit task(std::coroutine_handle<promise_type> h) : handle_(h) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace sley_test
