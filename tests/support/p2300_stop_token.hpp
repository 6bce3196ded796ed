// The stop tokens of support/p2300.hpp.
#pragma once

#include <atomic>
#include <concepts>
#include <mutex>
#include <thread>
#include <utility>

namespace p2300 {

template <class Token, class F>
using stop_callback_for_t = typename Token::template callback_type<F>;

template <class Token>
concept stoppable_token =
    std::copyable<Token> && std::equality_comparable<Token> && requires(const Token& token) {
      typename Token::template callback_type<void (*)()>;
      { token.stop_requested() } noexcept -> std::same_as<bool>;
      { token.stop_possible() } noexcept -> std::same_as<bool>;
      { Token(token) } noexcept;
    };

struct never_stop_token {
  template <class F>
  struct callback_type {
    callback_type(never_stop_token, F&&) noexcept {}
  };
  static constexpr bool stop_requested() noexcept { return false; }
  static constexpr bool stop_possible() noexcept { return false; }
  friend bool operator==(const never_stop_token&, const never_stop_token&) = default;
};

class inplace_stop_source;

// Not std::mutex: a goroutine may be on another thread when it unlocks.
class spin_lock {
 public:
  void lock() noexcept {
    while (is_locked_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() noexcept { is_locked_.clear(std::memory_order_release); }

 private:
  std::atomic_flag is_locked_;
};

class inplace_callback_base {
 public:
  inplace_callback_base(const inplace_callback_base&) = delete;

 protected:
  using function = void (*)(inplace_callback_base*) noexcept;
  inplace_callback_base(const inplace_stop_source* source, function call)
      : source_(source), call_(call) {}
  ~inplace_callback_base() = default;
  void attach();
  void detach() noexcept;

 private:
  friend inplace_stop_source;

  const inplace_stop_source* source_;
  function call_;
  inplace_callback_base* next_ = nullptr;
};

class inplace_stop_token {
 public:
  template <class F>
  class callback_type final : inplace_callback_base {
   public:
    template <class Initializer>
    callback_type(inplace_stop_token token, Initializer&& f)
        : inplace_callback_base(token.source_, call), f_(std::forward<Initializer>(f)) {
      this->attach();
    }
    ~callback_type() { this->detach(); }

   private:
    static void call(inplace_callback_base* self) noexcept {
      static_cast<callback_type*>(self)->f_();
    }
    F f_;
  };

  inplace_stop_token() = default;
  explicit inplace_stop_token(const inplace_stop_source* source) : source_(source) {}
  bool stop_requested() const noexcept;
  bool stop_possible() const noexcept { return source_ != nullptr; }
  friend bool operator==(const inplace_stop_token&, const inplace_stop_token&) = default;

 private:
  const inplace_stop_source* source_ = nullptr;
};

// Like that of the standard, it tells by the thread whether a callback destroys itself.
class inplace_stop_source {
 public:
  inplace_stop_source() = default;
  inplace_stop_source(const inplace_stop_source&) = delete;

  inplace_stop_token get_token() const noexcept { return inplace_stop_token(this); }
  bool stop_requested() const noexcept { return is_requested_; }
  bool request_stop() noexcept {
    std::unique_lock lock(guard_);
    if (is_requested_.exchange(true)) return false;
    requester_ = std::this_thread::get_id();
    while (callbacks_ != nullptr) {
      running_ = std::exchange(callbacks_, callbacks_->next_);
      lock.unlock();
      running_.load()->call_(running_);
      lock.lock();
      running_ = nullptr;
    }
    return true;
  }

 private:
  friend inplace_callback_base;

  // Whether it was taken in; otherwise stop has been requested already.
  bool add(inplace_callback_base* c) const {
    const std::lock_guard lock(guard_);
    if (is_requested_) return false;
    c->next_ = std::exchange(callbacks_, c);
    return true;
  }
  void remove(inplace_callback_base* c) const noexcept {
    {
      const std::lock_guard lock(guard_);
      for (auto** at = &callbacks_; *at != nullptr; at = &(*at)->next_) {
        if (*at == c) {
          *at = c->next_;
          return;
        }
      }
      if (running_ != c || requester_ == std::this_thread::get_id()) return;
    }
    while (running_ == c) std::this_thread::yield();
  }

  mutable spin_lock guard_;
  mutable inplace_callback_base* callbacks_ = nullptr;
  std::atomic<inplace_callback_base*> running_{nullptr};
  std::thread::id requester_;
  std::atomic<bool> is_requested_{false};
};

inline bool inplace_stop_token::stop_requested() const noexcept {
  return source_ != nullptr && source_->stop_requested();
}
inline void inplace_callback_base::attach() {
  if (source_ != nullptr && !source_->add(this)) call_(this);
}
inline void inplace_callback_base::detach() noexcept {
  if (source_ != nullptr) source_->remove(this);
}

}  // namespace p2300
