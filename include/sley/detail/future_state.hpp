// What a future shares with the function that brings its result.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/lost_exception.hpp>
#include <sley/detail/made_in_place.hpp>
#include <sley/detail/wait_list.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley::this_goroutine {
SLEY_API std::uint64_t id() noexcept;
}

namespace sley::detail {

// Something that happens once, and can be waited for.
class SLEY_API one_shot {
 public:
  one_shot() noexcept = default;
  // The first member of an object of that alignment, which std::make_shared has made.
  explicit one_shot(std::size_t alignment_of_shared) noexcept
      : alignment_of_shared_(static_cast<std::uint32_t>(alignment_of_shared)) {}

  // 0: it is in no such object. For the search for leaked goroutines, which looks for its owners.
  std::uint32_t alignment_of_shared() const noexcept { return alignment_of_shared_; }

  // FU-1  The result is handed over: store_release in set <-> load_acquire in is_set; through the
  //       lock for a waiter that parked.
  bool is_set() const noexcept { return phase_.load_acquire("FU-1") == has_come; }
  void set() noexcept;
  void wait();
  // False: the time is up. std::bad_alloc without memory for a timer.
  bool wait_until(wait_limit limit);
  void wait(const context& ctx, std::error_code& error);

  // For results that several callers might bring: true for the caller that must do so. It then
  // calls set() or, if it can't, unclaim().
  // FU-2  One at a time touches the result: cas_acquire in claim <-> store_release in unclaim.
  [[nodiscard]] bool claim() noexcept {
    std::uint32_t expected = is_open;
    return phase_.cas_acquire(expected, is_claimed, "FU-2");
  }
  void unclaim() noexcept { phase_.store_release(is_open, "FU-2"); }

 private:
  enum phase : std::uint32_t { is_open, is_claimed, has_come };

  atomic<std::uint32_t> phase_{is_open};         // [atomic FU-1, FU-2]
  const std::uint32_t alignment_of_shared_ = 0;  // [const]
  wait_list waiters_;
};

inline std::exception_ptr broken_promise() {
  return std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
}

template <class R>
struct future_state {
  using stored = std::conditional_t<
      std::is_void_v<R>, char,
      std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, R>>;

  // For std::make_shared.
  future_state() noexcept : done(alignof(future_state)) {}
  // For std::allocate_shared, which may keep the allocator in front of it.
  explicit future_state(std::allocator_arg_t) noexcept {}
  ~future_state() {
    if (error && is_thrown_by_call_ && !is_asked_.load_relaxed()) {
      report_lost(error, ran_in_, "its future was dropped without get()");
    }
  }

  // The result of call(), which is destroyed before the result is there.
  template <class F>
  void run(F& call) {
    const setter guard{this};
    struct destroyer {
      F& call;
      ~destroyer() { call.~F(); }
    } const end{call};
    produce([&]() -> R { return std::invoke(std::move(call)); });
  }

  // The result of call(), which stays.
  template <class F>
  void run_in_place(F&& call) {
    const setter guard{this};
    produce(call);
  }

  // By a promise. What the value's constructor throws comes out, and nothing is set then.
  template <class... Args>
  void set_value(Args&&... args) {
    claim();
    try {
      value.make([&] { return stored(std::forward<Args>(args)...); });
    } catch (...) {
      done.unclaim();
      throw;
    }
    done.set();
  }
  void set_error(std::exception_ptr e) {
    if (e == nullptr) throw std::invalid_argument("sley::promise: the exception is null");
    claim();
    error = std::move(e);
    done.set();
  }
  void claim() {
    if (!done.claim()) throw std::future_error(std::future_errc::promise_already_satisfied);
  }

  // The value, or the exception thrown.
  stored& result() {
    done.wait();
    is_asked_.store_relaxed(true);
    if (error) std::rethrow_exception(error);
    return *value;
  }
  // As result(), for the only caller that asks. The exception then ends with that caller, because
  // the function that brought it may hold the state for longer.
  stored& take_result() {
    done.wait();
    if (error) std::rethrow_exception(std::move(error));
    return *value;
  }

  one_shot done;  // the first member: see its constructor
  made_in_place<stored> value;
  std::exception_ptr error;

 private:
  // The result is set also when call() is left by exit(): as a broken promise.
  struct setter {
    future_state* state;
    ~setter() {
      if (!state->value && !state->error) state->error = broken_promise();
      state->done.set();
    }
  };

  template <class F>
  void produce(F&& call) {
    try {
      if constexpr (std::is_void_v<R>) {
        call();
        value.make([] { return stored(); });
      } else if constexpr (std::is_reference_v<R>) {
        value.make([&] { return std::addressof(call()); });
      } else {
        value.make(call);
      }
    } catch (...) {
      error = std::current_exception();
      if (!error) throw;  // no exception, but exit() unwinding the stack
      is_thrown_by_call_ = true;
      ran_in_ = this_goroutine::id();
    }
  }

  // An exception of a call is reported if nothing has asked for it when the state goes. What a
  // promise brings is not: the function that brings it has it in hand.
  bool is_thrown_by_call_ = false;  // [with error]
  std::uint64_t ran_in_ = 0;        // [with error] the goroutine; 0: a thread
  atomic<bool> is_asked_;           // relaxed: the last reference orders it
};

}  // namespace sley::detail
