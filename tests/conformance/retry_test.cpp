// sley::retry: what is tried again, how often, after which pauses, and what ends it.
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/retry.hpp>
#include <sley/sync.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

using sley::context;
using sley::retry;
using sley::retry_policy;
using sley_test::rounds;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

const context& endless = context::background();

retry_policy at_once(int max_tries) { return {.max_tries = max_tries, .first_pause = 0s}; }

// Fails as often as it is told to, and returns the number of calls then.
class failing {
 public:
  explicit failing(int failures) : failures_(failures) {}
  int operator()() {
    if (++calls > failures_) return calls;
    throw std::runtime_error("failure " + std::to_string(calls));
  }
  int calls = 0;

 private:
  int failures_;
};

template <class E = std::exception, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return {};
}

// The time from each call to the next, of calls that all fail.
std::vector<std::chrono::nanoseconds> pauses_of(const retry_policy& policy) {
  std::vector<std::chrono::nanoseconds> pauses;
  steady_clock::time_point last;
  EXPECT_THROW(retry(policy, endless,
                     [&] {
                       const auto now = steady_clock::now();
                       if (last != steady_clock::time_point()) pauses.push_back(now - last);
                       last = now;
                       throw std::runtime_error("again");
                     }),
               std::runtime_error);
  return pauses;
}

}  // namespace

// ---- tries ----

GO_TEST(retry, returns_what_the_first_success_returns) {
  for (int failures = 0; failures < 4; ++failures) {
    failing f(failures);
    EXPECT_EQ(retry(at_once(4), endless, f), failures + 1);
    EXPECT_EQ(f.calls, failures + 1);
  }
  const auto moved = retry({}, endless, [] { return std::make_unique<int>(7); });
  EXPECT_EQ(*moved, 7);
  int value = 1;
  int& same = retry({}, endless, [&]() -> int& { return value; });
  EXPECT_EQ(&same, &value);
  retry({}, endless, [&] { value = 2; });
  EXPECT_EQ(value, 2);
}

GO_TEST(retry, throws_the_last_failure_when_the_tries_are_used_up) {
  for (int tries = 1; tries < 5; ++tries) {
    failing f(100);
    EXPECT_EQ(message_of<std::runtime_error>([&] { retry(at_once(tries), endless, f); }),
              "failure " + std::to_string(tries));
    EXPECT_EQ(f.calls, tries);
  }
}

GO_TEST(retry, unlimited_tries_go_on) {
  failing f(10'000);
  EXPECT_EQ(retry(at_once(retry_policy::unlimited), endless, f), 10'001);
}

GO_TEST(retry, asks_whether_it_may) {
  failing f(100);
  retry_policy policy = at_once(50);
  policy.may_retry = [](const std::exception& e) { return e.what() != std::string("failure 3"); };
  EXPECT_EQ(message_of<std::runtime_error>([&] { retry(policy, endless, f); }), "failure 3");
  EXPECT_EQ(f.calls, 3);
  policy.may_retry = [](const std::exception&) -> bool { throw std::logic_error("do not ask"); };
  EXPECT_EQ(message_of<std::logic_error>([&] { retry(policy, endless, f); }), "do not ask");
}

GO_TEST(retry, other_exceptions_pass) {
  int calls = 0;
  EXPECT_THROW(retry(at_once(5), endless,
                     [&] {
                       ++calls;
                       throw 1;
                     }),
               int);
  EXPECT_EQ(calls, 1);
}

GO_TEST(retry, a_policy_that_makes_no_sense_is_refused_before_the_first_try) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto message = [](const retry_policy& policy) {
    failing f(0);
    const std::string text = message_of<std::invalid_argument>([&] { retry(policy, endless, f); });
    EXPECT_EQ(f.calls, 0);
    return text.substr(0, text.find('.'));
  };
  EXPECT_EQ(message({.max_tries = 0}), "sley: retry with a max_tries of 0");
  EXPECT_EQ(message({.max_tries = -1}), "sley: retry with a max_tries of -1");
  EXPECT_EQ(message({.factor = 0.5}), "sley: retry with a factor of 0");
  EXPECT_EQ(message({.factor = nan}), "sley: retry with a factor of nan");
  EXPECT_EQ(message({.jitter = -1}), "sley: retry with a jitter of -1");
  EXPECT_EQ(message({.jitter = 2}), "sley: retry with a jitter of 2");
  EXPECT_EQ(message({.jitter = nan}), "sley: retry with a jitter of nan");
}

// ---- pauses ----

GO_TEST(retry, pauses_grow_up_to_the_longest) {
  const auto pauses = pauses_of(
      {.max_tries = 6, .first_pause = 1ms, .longest_pause = 4ms, .factor = 2, .jitter = 0});
  const std::vector<std::chrono::nanoseconds> least = {1ms, 2ms, 4ms, 4ms, 4ms};
  ASSERT_EQ(pauses.size(), least.size());
  for (std::size_t i = 0; i < least.size(); ++i) EXPECT_GE(pauses[i], least[i]) << i;
}

GO_TEST(retry, jitter_takes_no_more_than_its_part) {
  for (const auto pause :
       pauses_of({.max_tries = 10, .first_pause = 2ms, .factor = 1, .jitter = 0.5})) {
    EXPECT_GE(pause, 1ms);
  }
}

// With a context that ends them: any pause but an endless one would be over too soon.
GO_TEST(retry, extreme_pauses_do_not_overflow) {
  for (const retry_policy& policy :
       {retry_policy{.first_pause = std::chrono::hours::max(), .longest_pause = 0s},
        retry_policy{.first_pause = -1s},
        retry_policy{.first_pause = std::chrono::nanoseconds::min(), .longest_pause = -1h},
        retry_policy{.first_pause = 1ns, .longest_pause = 1ns, .factor = HUGE_VAL},
        retry_policy{.first_pause = 0ns, .factor = HUGE_VAL},
        retry_policy{.first_pause = -1ns, .factor = 1e300}}) {
    failing f(4);
    EXPECT_EQ(retry(policy, endless, f), 5);
  }
  for (const retry_policy& policy :
       {retry_policy{.first_pause = std::chrono::hours::max(),
                     .longest_pause = std::chrono::hours::max(),
                     .jitter = 1},
        retry_policy{.first_pause = std::chrono::hours(1'000'000), .longest_pause = 24h * 365},
        retry_policy{.first_pause = 1ns,
                     .longest_pause = std::chrono::nanoseconds::max(),
                     .factor = HUGE_VAL,
                     .jitter = 0}}) {
    failing f(100);
    const auto [ctx, cancel] = sley::with_timeout(endless, 2ms);
    EXPECT_THROW(retry(policy, ctx, f), std::system_error);
    EXPECT_LE(f.calls, 2);
  }
}

// ---- contexts ----

GO_TEST(retry, an_ended_context_allows_no_try) {
  const auto [ctx, cancel] = sley::with_cancel(endless);
  cancel();
  failing f(0);
  EXPECT_EQ(message_of([&, &c = ctx] { retry({}, c, f); }),
            "sley: retry, after 0 tries: context canceled");
  EXPECT_EQ(f.calls, 0);
}

GO_TEST(retry, the_error_says_which_context_and_which_failure_ended_it) {
  const auto [ctx, cancel] = sley::with_cancel(endless);
  failing f(100);
  try {
    retry(at_once(10), ctx, [&, &stop = cancel] {
      if (f.calls == 2) stop();
      return f();
    });
    ADD_FAILURE() << "it returned";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), sley::context_errc::canceled);
    EXPECT_STREQ(e.what(),
                 "sley: retry, after 3 tries, the last of which failed (failure 3): context "
                 "canceled");
  }
  const auto [late, stop] = sley::with_timeout(endless, 1ms);
  try {
    retry({.first_pause = 1h, .longest_pause = 1h}, late, failing(100));
    ADD_FAILURE() << "it returned";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), sley::context_errc::deadline_exceeded);
  }
}

GO_TEST(retry, the_last_failure_is_thrown_as_it_is_though_the_context_has_ended) {
  const auto [ctx, cancel] = sley::with_cancel(endless);
  EXPECT_EQ(message_of([&, &c = ctx, &stop = cancel] {
              retry(at_once(1), c, [&] {
                stop();
                throw std::runtime_error("mine");
              });
            }),
            "mine");
}

// Contexts end at any moment of tries and pauses; every caller comes back, with a result or with
// the context's error, and soon.
GO_TEST(retry, contexts_that_end_at_any_moment_end_every_pause) {
  std::atomic<int> successes{0}, ends{0};
  sley::wait_group all;
  sley_test::random_source random(3);
  const int callers = rounds(500);
  for (int i = 0; i < callers; ++i) {
    const auto limit = std::chrono::microseconds(random.below(3000));
    const int failures = i % 2 == 0 ? 2 : 1000;
    all.go([&, limit, failures] {
      const auto [ctx, cancel] = sley::with_timeout(endless, limit);
      try {
        retry({.max_tries = 2000, .first_pause = 100us}, ctx, failing(failures));
        ++successes;
      } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), sley::context_errc::deadline_exceeded);
        ++ends;
      }
    });
  }
  all.wait();
  EXPECT_EQ(successes + ends, callers);
  EXPECT_GE(ends, callers / 2);
}

FOREIGN_TEST(retry, threads_of_others_may_retry) {
  failing f(3);
  EXPECT_EQ(retry({.first_pause = 1ms}, endless, f), 4);
}
