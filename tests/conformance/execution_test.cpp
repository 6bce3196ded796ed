// <sley/execution.hpp> on the implementation of P2300 in support/p2300.hpp.
#include "support/harness.hpp"
#include "support/p2300.hpp"

#define SLEY_EXECUTION_NAMESPACE p2300
#include <sley/execution.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

using sley::chan;
namespace ex = sley::execution;

namespace {

static_assert(p2300::scheduler<ex::scheduler>);
static_assert(p2300::stoppable_token<ex::stop_token>);
static_assert(p2300::forwarding_query(ex::get_context));
static_assert(p2300::get_forward_progress_guarantee(ex::scheduler()) ==
              p2300::forward_progress_guarantee::parallel);

struct answer {
  int operator()() const { return 42; }
};
static_assert(std::same_as<p2300::completion_signatures_of_t<decltype(ex::async(answer()))>,
                           p2300::completion_signatures<p2300::set_value_t(int),
                                                        p2300::set_error_t(std::exception_ptr),
                                                        p2300::set_stopped_t()>>);
static_assert(
    std::same_as<decltype(ex::sync_wait(ex::scheduler().schedule())), std::optional<std::tuple<>>>);

// What a sender has come to, for a goroutine that waits.
struct ending {
  sley::wait_group completed;
  std::string how;
};

struct env {
  p2300::inplace_stop_token token;
  sley::context ctx;
  p2300::inplace_stop_token query(p2300::get_stop_token_t) const noexcept { return token; }
  const sley::context& query(ex::get_context_t) const noexcept { return ctx; }
};

// Has a stop token and a context of the test's.
struct receiver {
  using receiver_concept = p2300::receiver_t;
  ending* end;
  env surroundings;

  template <class... Values>
  void set_value(Values&&...) && noexcept {
    complete("value");
  }
  void set_error(const std::exception_ptr&) && noexcept { complete("error"); }
  void set_stopped() && noexcept { complete("stopped"); }
  const env& get_env() const noexcept { return surroundings; }

  void complete(const char* how) const noexcept {
    end->how = how;
    end->completed.done();
  }
};

// Starts the sender, has stop requested by `stop(source)`, and says how it ended.
template <class Sender, class Stop>
std::string stopped_by(Sender sender, const Stop& stop) {
  ending end;
  end.completed.add(1);
  {
    p2300::inplace_stop_source source;
    auto operation =
        p2300::connect(std::move(sender), receiver{&end, {source.get_token(), sley::context()}});
    p2300::start(operation);
    stop(source);
    end.completed.wait();
  }
  return end.how;
}

// Completes when stop is requested, in the call that requests it, and destroys its callback there.
struct until_stop {
  using sender_concept = p2300::sender_t;
  using completion_signatures =
      p2300::completion_signatures<p2300::set_value_t(), p2300::set_stopped_t()>;
  template <class Receiver>
  struct operation {
    using operation_state_concept = p2300::operation_state_t;
    struct stop {
      operation* self;
      void operator()() const noexcept {
        operation* const of = self;  // this object goes
        if (of->count.fetch_add(1) == 1) of->complete();
      }
    };
    Receiver receiver;
    std::optional<
        p2300::stop_callback_for_t<p2300::stop_token_of_t<p2300::env_of_t<Receiver>>, stop>>
        callback{};
    std::atomic<int> count{0};  // start() has made the callback; the callback has been called

    void start() & noexcept {
      callback.emplace(p2300::get_stop_token(p2300::get_env(receiver)), stop{this});
      if (count.fetch_add(1) == 1) complete();
    }
    void complete() noexcept {
      callback.reset();
      p2300::set_stopped(std::move(receiver));
    }
  };
  template <class Receiver>
  operation<Receiver> connect(Receiver r) const {
    return {std::move(r)};
  }
};

// Completes with an error.
template <class Error>
struct failing {
  using sender_concept = p2300::sender_t;
  using completion_signatures =
      p2300::completion_signatures<p2300::set_value_t(), p2300::set_error_t(Error)>;
  template <class Receiver>
  struct operation {
    using operation_state_concept = p2300::operation_state_t;
    Receiver receiver;
    Error error;
    void start() & noexcept { p2300::set_error(std::move(receiver), std::move(error)); }
  };
  template <class Receiver>
  operation<Receiver> connect(Receiver r) const {
    return {std::move(r), error};
  }
  Error error;
};

// Completes on a thread of its own.
struct on_a_thread {
  using sender_concept = p2300::sender_t;
  using completion_signatures = p2300::completion_signatures<p2300::set_value_t(std::string&&)>;
  template <class Receiver>
  struct operation {
    using operation_state_concept = p2300::operation_state_t;
    Receiver receiver;
    void start() & noexcept {
      std::thread([this] { p2300::set_value(std::move(receiver), std::string("done")); }).detach();
    }
  };
  template <class Receiver>
  operation<Receiver> connect(Receiver r) const {
    return {std::move(r)};
  }
};

}  // namespace

GO_TEST(execution, scheduled_work_runs_in_a_goroutine_of_its_own_and_may_park) {
  const chan<int> numbers;
  auto work = p2300::schedule(ex::scheduler()) | p2300::then([numbers] {
                EXPECT_NE(sley::this_goroutine::id(), 1U);
                return *numbers.receive();
              });
  sley::go([numbers] { numbers.send(5); });
  EXPECT_EQ(ex::sync_wait(std::move(work)), std::tuple(5));
}

FOREIGN_TEST(execution, a_foreign_thread_waits_for_what_it_has_scheduled) {
  for (int i = 0; i < 100; ++i) {
    auto [id] = *ex::sync_wait(p2300::schedule(ex::scheduler()) |
                               p2300::then([] { return sley::this_goroutine::id(); }));
    EXPECT_NE(id, 0U);
  }
}

GO_TEST(execution, sync_wait_parks_until_another_thread_completes) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ex::sync_wait(on_a_thread()), std::tuple(std::string("done")));
  }
}

GO_TEST(execution, sync_wait_returns_values_and_throws_errors) {
  EXPECT_EQ(ex::sync_wait(p2300::just(1, std::string("two"))), std::tuple(1, std::string("two")));
  auto [owned] =
      *ex::sync_wait(p2300::just() | p2300::then([] { return std::make_unique<int>(3); }));
  EXPECT_EQ(*owned, 3);
  int number = 4;
  const auto sender = ex::async([&]() -> int& { return number; });  // is used again
  EXPECT_EQ(ex::sync_wait(sender), std::tuple(4));
  EXPECT_EQ(ex::sync_wait(sender), std::tuple(4));
  EXPECT_THROW(ex::sync_wait(ex::async([] { throw std::out_of_range(""); })), std::out_of_range);
  EXPECT_THROW(ex::sync_wait(ex::async([] { throw 7; })), int);
  EXPECT_THROW(ex::sync_wait(failing<int>{7}), int);
  try {
    ex::sync_wait(failing<std::error_code>{std::make_error_code(std::errc::timed_out)});
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::timed_out);
  }
}

GO_TEST(execution, the_environment_of_sync_wait_schedules_and_has_the_context) {
  auto [ctx, cancel] = sley::with_cancel(sley::with_value({}, "user", std::string("ann")));
  auto work = ex::async([](const sley::context& c) { return *c.value<std::string>("user"); }) |
              p2300::then([](const std::string& user) { return user + "!"; });
  EXPECT_EQ(ex::sync_wait(std::move(work), ctx), std::tuple(std::string("ann!")));
  cancel();
  EXPECT_FALSE(ex::sync_wait(ex::async([] {}), ctx));
  EXPECT_FALSE(ex::sync_wait(ex::scheduler().schedule(), ctx));
  EXPECT_TRUE(ex::sync_wait(p2300::just(), ctx));  // it asks no token
}

GO_TEST(execution, a_function_that_ends_its_goroutine_has_stopped) {
  EXPECT_FALSE(ex::sync_wait(ex::async([] { sley::this_goroutine::exit(); })));
}

GO_TEST(execution, only_the_error_of_its_own_ended_context_is_a_stop) {
  auto [other, cancel] = sley::with_cancel({});
  cancel();
  const auto fail = [c = other](const sley::context&) {
    throw std::system_error(c.error(), "another context");
  };
  EXPECT_THROW(ex::sync_wait(ex::async(fail)), std::system_error);
}

GO_TEST(execution, a_requested_stop_ends_the_context_of_a_function) {
  for (int i = 0; i < sley_test::rounds(50); ++i) {
    const chan<void> never;
    const chan<void> begun(1);
    auto work = ex::async([=](const sley::context& ctx) {
      begun.send();
      never.receive(ctx);
    });
    EXPECT_EQ(stopped_by(std::move(work),
                         [&](auto& source) {
                           begun.receive();
                           EXPECT_TRUE(ex::request_stop(source));
                         }),
              "stopped");
  }
  const auto before = [](auto& source) { ex::request_stop(source); };
  EXPECT_EQ(stopped_by(until_stop(), before), "stopped");
}

GO_TEST(execution, a_context_that_ends_requests_stop) {
  for (int i = 0; i < sley_test::rounds(200); ++i) {
    auto [ctx, cancel] = sley::with_cancel({});
    sley::wait_group canceler;
    canceler.go([c = cancel] { c(); });
    EXPECT_FALSE(ex::sync_wait(until_stop(), ctx));
    EXPECT_TRUE(ctx.error());
    canceler.wait();
  }
  auto [late, cancel_late] = sley::with_timeout({}, std::chrono::milliseconds(1));
  EXPECT_FALSE(ex::sync_wait(until_stop(), late));
  EXPECT_EQ(late.error(), sley::context_errc::deadline_exceeded);
}

GO_TEST(execution, stop_when_stops_for_the_receiver_and_for_the_context) {
  const auto by = [](bool of_receiver, bool of_context) {
    auto [ctx, cancel] = sley::with_cancel({});
    return stopped_by(ex::stop_when(until_stop(), ctx), [&](auto& source) {
      sley::wait_group both;
      if (of_receiver) both.go([&] { ex::request_stop(source); });
      if (of_context) both.go([&, c = cancel] { c(); });
      both.wait();
    });
  };
  for (int i = 0; i < sley_test::rounds(200); ++i) {
    EXPECT_EQ(by(true, false), "stopped");
    EXPECT_EQ(by(false, true), "stopped");
    EXPECT_EQ(by(true, true), "stopped");
  }
}

GO_TEST(execution, stop_when_passes_on_values_errors_and_stops) {
  auto [ctx, cancel] = sley::with_cancel(sley::with_value({}, "user", 7));
  const auto user = ex::async([](const sley::context& c) { return *c.value<int>("user"); });
  EXPECT_EQ(ex::sync_wait(ex::stop_when(user, ctx)), std::tuple(7));
  EXPECT_THROW(ex::sync_wait(ex::stop_when(ex::async([] { throw 7; }), ctx)), int);
  EXPECT_FALSE(ex::sync_wait(
      ex::stop_when(ex::async([](const sley::context&) { sley::this_goroutine::exit(); }), ctx)));
  cancel();
  EXPECT_FALSE(ex::sync_wait(ex::stop_when(user, ctx)));
}
