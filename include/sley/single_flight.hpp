// Calls that are made once for all callers that want their result at the same time.
#pragma once

#include <sley/context.hpp>
#include <sley/future.hpp>
#include <sley/mutex.hpp>
#include <sley/promise.hpp>

#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace sley {

// While do_(key, f) is under way, other callers with the same key do not call f, but get its
// result. Any thread. It may be destroyed when no call is under way. From Go's
// golang.org/x/sync/singleflight.
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class single_flight {
 public:
  single_flight() = default;
  single_flight(const single_flight&) = delete;
  single_flight& operator=(const single_flight&) = delete;

  // Returns what f() returns, here or where it is under way; waiting parks a goroutine and blocks a
  // foreign thread. What f throws comes out of all of them: std::future_error{broken_promise} out
  // of the others if f left by this_goroutine::exit().
  template <class F>
  Value do_(const Key& key, F&& f) {
    return fly(key, std::forward<F>(f));
  }
  // The same, given up when the context ends, with std::system_error and its error: a call that
  // another caller makes goes on. A call of f is not ended; give f the context as well.
  template <class F>
  Value do_(const Key& key, const context& ctx, F&& f) {
    if (const std::error_code error = ctx.error()) {
      throw std::system_error(error, "sley::single_flight: do_");
    }
    return fly(key, std::forward<F>(f), ctx);
  }

  // The next do_(key, f) calls, though one is under way.
  void forget(const Key& key) {
    const std::lock_guard lock(mutex_);
    flights_.erase(key);
  }

 private:
  template <class F, class... Context>
  Value fly(const Key& key, F&& f, const Context&... ctx) {
    packaged_task<Value()> call([&f]() -> Value { return std::invoke(std::forward<F>(f)); });
    std::unique_lock lock(mutex_);
    const auto [place, is_ours] = flights_.try_emplace(key);
    if (!is_ours) {
      const shared_future<Value> result = place->second.result;
      lock.unlock();
      result.wait(ctx...);
      return result.get();
    }
    const shared_future<Value> result = place->second.result = call.get_future();
    const std::uint64_t number = place->second.number = ++last_number_;
    lock.unlock();
    const landing guard{this, key, number};
    call();
    return result.get();
  }

  struct flight {
    shared_future<Value> result;
    std::uint64_t number = 0;
  };

  // The call is over, whichever way; another one with the key may be under way if it was forgotten.
  struct landing {
    single_flight* all;
    const Key& key;
    std::uint64_t number;
    ~landing() {
      const std::lock_guard lock(all->mutex_);
      const auto place = all->flights_.find(key);
      if (place != all->flights_.end() && place->second.number == number) {
        all->flights_.erase(place);
      }
    }
  };

  mutex mutex_;
  std::unordered_map<Key, flight, Hash, Equal> flights_;  // [lock: mutex_]
  std::uint64_t last_number_ = 0;                         // [lock: mutex_]
};

}  // namespace sley
