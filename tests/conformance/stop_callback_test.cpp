// std::stop_callback on contexts: its destructor waits for its function, unless that function calls
// it, also if the function parks, because the standard library tells the two apart by the thread.
#include "support/harness.hpp"

#include <sley/context.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include <unistd.h>

using sley::chan;
using namespace std::chrono_literals;

namespace {

using stop_callback = std::stop_callback<std::function<void()>>;

}  // namespace

GO_TEST(stop_callback, its_destructor_waits_for_a_function_that_parks) {
  for (int i = 0; i < 20; ++i) {
    auto [ctx, cancel] = sley::with_cancel({});
    chan<void> begun(1);
    chan<void> go_on;
    std::atomic<bool> is_inside{false};
    std::optional<stop_callback> callback;
    callback.emplace(ctx.stop_token(), [&] {
      is_inside = true;
      begun.send();
      go_on.try_receive_for(2ms);
      is_inside = false;
    });
    sley::wait_group canceler;
    canceler.go([c = cancel] { c(); });
    begun.receive();
    callback.reset();
    EXPECT_FALSE(is_inside);
    canceler.wait();
  }
}

// The function goes on where it parked, so its own destructor does not wait for it.
GO_TEST(stop_callback, may_be_destroyed_by_its_function_after_that_has_parked) {
  for (int i = 0; i < 20; ++i) {
    auto [ctx, cancel] = sley::with_cancel({});
    std::optional<stop_callback> callback;
    bool is_over = false;
    callback.emplace(ctx.stop_token(), [&] {
      for (int k = 0; k < 20; ++k) sley::this_goroutine::yield();
      sley::this_goroutine::sleep_for(100us);
      bool& end = is_over;  // outlives what is destroyed
      callback.reset();
      end = true;
    });
    sley::wait_group others;
    for (int k = 0; k < 4; ++k) {
      others.go([] {
        for (int n = 0; n < 50; ++n) sley::this_goroutine::yield();
      });
    }
    others.go([c = cancel] { c(); });
    others.wait();
    EXPECT_TRUE(is_over);
  }
}

// A deadline runs the functions in a goroutine of the library's.
GO_TEST(stop_callback, of_a_deadline_is_waited_for_as_well) {
  for (int i = 0; i < 10; ++i) {
    auto [ctx, cancel] = sley::with_timeout({}, 100us);
    chan<void> begun(1);
    std::atomic<bool> is_inside{false};
    std::optional<stop_callback> callback;
    callback.emplace(ctx.stop_token(), [&] {
      is_inside = true;
      begun.send();
      sley::this_goroutine::sleep_for(2ms);
      is_inside = false;
    });
    begun.receive();
    callback.reset();
    EXPECT_FALSE(is_inside);
  }
}

// The other direction: a context made from a token ends inside of request_stop(), and ending its
// tree may park.
GO_TEST(stop_callback, a_context_ends_on_the_thread_that_requests_the_stop) {
  for (int i = 0; i < 50; ++i) {
    std::stop_source source;
    auto ended = sley::with_stop_token({}, source.get_token());
    sley::wait_group done;
    std::atomic<bool> stop{false};
    for (int k = 0; k < 3; ++k) {
      done.go([&] {  // the tree's lock is taken all the time
        while (!stop) {
          auto [below, cancel] = sley::with_cancel(ended);
          cancel();
          sley::this_goroutine::yield();
        }
      });
    }
    bool is_same = false;
    const std::stop_callback check(ended.stop_token(), [&] {
      const auto before = ::gettid();
      sley::this_goroutine::sleep_for(50us);
      is_same = before == ::gettid();
    });
    source.request_stop();
    EXPECT_TRUE(is_same);
    EXPECT_TRUE(ended.error());
    stop = true;
    done.wait();
  }
}
