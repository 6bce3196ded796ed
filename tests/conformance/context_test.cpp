// Contexts: which of them end, when, and what remains (context_cause_test.cpp tests the error
// and the cause). Answers rows J of Go's context tests, as far as they have a counterpart
// (tests/README.md).
#include "support/harness.hpp"

#include <sley/context.hpp>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace sley_test;
using sley::context;
using sley::context_errc;

namespace {

bool is_done(const context& ctx) {
  const auto done = ctx.done();
  return done && done.closed();
}

// J1 TestBackground
GO_TEST(context, background_never_ends_and_has_a_name) {
  const context& root = context::background();
  EXPECT_FALSE(root.done());
  EXPECT_FALSE(root.error());
  EXPECT_EQ(root.cause(), nullptr);
  EXPECT_FALSE(root.deadline());
  EXPECT_EQ(root.value<int>("any"), nullptr);
  EXPECT_FALSE(root.stop_token().stop_possible());
  EXPECT_EQ(root.to_string(), "background");
  EXPECT_EQ(context(), root);
}

// J1
GO_TEST(context, names_tell_how_it_was_made) {
  auto [ctx, cancel] = sley::with_cancel(context::background());
  EXPECT_EQ(sley::with_value(ctx, "user", 1).to_string(),
            "background.with_cancel.with_value(user)");
}

// J2 TestWithCancel
GO_TEST(context, all_below_have_ended_when_cancel_returns) {
  auto [parent, cancel] = sley::with_cancel(context::background());
  auto [child, cancel_child] = sley::with_timeout(sley::with_value(parent, "k", 1), 1h);
  const context grandchild = sley::with_cancel(child).first;
  EXPECT_FALSE(is_done(grandchild));
  EXPECT_FALSE(grandchild.error());
  cancel();
  for (const context& ctx : {parent, child, grandchild}) {
    EXPECT_TRUE(is_done(ctx));
    EXPECT_EQ(ctx.error(), context_errc::canceled);
    EXPECT_EQ(ctx.error(), std::errc::operation_canceled);
  }
  cancel();
  EXPECT_EQ(sley::with_cancel(parent).first.error(), context_errc::canceled);
}

// J3 TestDeadline, TestTimeout
GO_TEST(context, ends_at_the_earliest_deadline_of_the_chain) {
  auto [late, cancel_late] = sley::with_timeout(context::background(), 1h);
  auto [soon, cancel_soon] = sley::with_timeout(late, 1ms);
  auto [below, cancel_below] = sley::with_timeout(soon, 2h);
  EXPECT_EQ(below.deadline(), soon.deadline());
  EXPECT_FALSE(below.done().receive());
  EXPECT_EQ(below.error(), context_errc::deadline_exceeded);
  EXPECT_EQ(below.error(), std::errc::timed_out);
  EXPECT_EQ(soon.error(), context_errc::deadline_exceeded);
  EXPECT_FALSE(late.error());
}

// J3
GO_TEST(context, a_deadline_that_has_passed_ends_it_at_once) {
  auto [ctx, cancel] =
      sley::with_deadline(context::background(), std::chrono::steady_clock::now() - 1s);
  EXPECT_EQ(ctx.error(), context_errc::deadline_exceeded);
  EXPECT_TRUE(is_done(ctx));
}

// J4 TestCanceledTimeout
GO_TEST(context, cancel_before_the_deadline_is_a_cancel) {
  auto [ctx, cancel] = sley::with_timeout(context::background(), 1h);
  cancel();
  EXPECT_EQ(ctx.error(), context_errc::canceled);
  EXPECT_EQ(sley::runtime::read_stats().timers, 0U) << "the timer has gone with it";
}

// J5 TestValues
GO_TEST(context, the_nearest_value_of_the_key_and_type_wins) {
  const context one = sley::with_value(context::background(), "k", 1);
  const context two = sley::with_value(one, "k", std::string("two"));
  const context three = sley::with_value(two, "k", 3);
  EXPECT_EQ(*three.value<int>("k"), 3);
  EXPECT_EQ(*two.value<int>("k"), 1);
  EXPECT_EQ(*three.value<std::string>("k"), "two");
  EXPECT_EQ(three.value<long>("k"), nullptr);
  EXPECT_EQ(three.value<int>("other"), nullptr);
}

// J5 TestLayersCancel, TestLayersTimeout
void check_random_layers(bool by_deadline) {
  random_source random(by_deadline ? 1 : 2);
  for (int round = 0; round < rounds(30); ++round) {
    std::vector<sley::cancel_function> cancels;
    std::vector<std::pair<std::string, int>> values;
    context ctx;
    for (int layer = 0; layer < 30 || cancels.empty(); ++layer) {
      if (random.one_in(2)) {
        auto [next, cancel] = sley::with_cancel(ctx);
        cancels.push_back(cancel);
        ctx = next;
      } else {
        values.emplace_back("key " + std::to_string(layer), layer);
        ctx = sley::with_value(ctx, values.back().first, layer);
      }
    }
    for (const auto& [key, value] : values) EXPECT_EQ(*ctx.value<int>(key), value);
    EXPECT_FALSE(ctx.error());
    if (by_deadline) {
      auto [limited, cancel] = sley::with_timeout(ctx, 1ms);
      EXPECT_FALSE(limited.done().receive());
      EXPECT_EQ(limited.error(), context_errc::deadline_exceeded);
    } else {
      cancels[random.below(cancels.size())]();
      EXPECT_EQ(ctx.error(), context_errc::canceled);
    }
    for (const auto& [key, value] : values) EXPECT_EQ(*ctx.value<int>(key), value);
  }
}

GO_TEST(context, layers_of_values_and_cancels_end_together) { check_random_layers(false); }
GO_TEST(context, a_deadline_over_layers_ends_it) { check_random_layers(true); }

// J7 XTestChildFinishesFirst, XTestCancelRemoves
GO_TEST(context, a_child_that_ends_leaves_its_parent_alive) {
  auto [parent, cancel] = sley::with_cancel(context::background());
  auto [child, cancel_child] = sley::with_cancel(parent);
  cancel_child();
  EXPECT_TRUE(child.error());
  EXPECT_FALSE(parent.error());
  EXPECT_FALSE(is_done(parent));
}

// J9 TestSimultaneousCancels
GO_TEST(context, a_tree_cancelled_everywhere_at_once_ends) {
  for (int round = 0; round < rounds(20); ++round) {
    auto [root, cancel] = sley::with_cancel(context::background());
    std::vector<context> contexts{root};
    std::vector<sley::cancel_function> cancels{cancel};
    for (std::size_t i = 0; contexts.size() < 100; ++i) {
      for (int k = 0; k < 3; ++k) {
        auto [child, cancel_child] = sley::with_cancel(contexts[i]);
        contexts.push_back(child);
        cancels.push_back(cancel_child);
      }
    }
    std::shuffle(cancels.begin(), cancels.end(), random_source(static_cast<unsigned>(round)));
    sley::wait_group all;
    for (const auto& c : cancels) all.go([&c] { c(); });
    for (const context& ctx : contexts) ctx.done().receive();
    for (const context& ctx : contexts) EXPECT_EQ(ctx.error(), context_errc::canceled);
    all.wait();
  }
}

// J9: also when a second cancel() returns.
GO_TEST(context, all_below_have_ended_when_any_cancel_returns) {
  for (int round = 0; round < rounds(30); ++round) {
    auto [root, cancel] = sley::with_cancel(context::background());
    std::vector<context> leaves;
    for (int i = 0; i < 200; ++i) leaves.push_back(sley::with_cancel(root).first);
    sley::wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&, &stop = cancel] {
        stop();
        for (const context& leaf : leaves) EXPECT_TRUE(leaf.error());
      });
    }
    all.wait();
  }
}

// J10 TestInterlockedCancels
GO_TEST(context, a_goroutine_that_waits_for_the_parent_cancels_the_child) {
  auto [parent, cancel_parent] = sley::with_cancel(context::background());
  auto [child, cancel_child] = sley::with_cancel(parent);
  sley::wait_group all;
  all.go([&, &p = parent, &stop = cancel_child] {
    p.done().receive();
    stop();
  });
  cancel_parent();
  child.done().receive();
  all.wait();
}

// J12 TestWithoutCancel
GO_TEST(context, without_cancel_keeps_the_values_alone) {
  auto [parent, cancel] = sley::with_timeout(context::background(), 1h);
  const context kept = sley::without_cancel(sley::with_value(parent, "k", 7));
  cancel();
  EXPECT_FALSE(kept.done());
  EXPECT_FALSE(kept.error());
  EXPECT_FALSE(kept.deadline());
  EXPECT_EQ(kept.cause(), nullptr);
  EXPECT_EQ(*kept.value<int>("k"), 7);
  auto [below, cancel_below] = sley::with_cancel(kept);
  EXPECT_FALSE(below.error());
  cancel_below();
  EXPECT_TRUE(below.error());
}

// ---- functions and stop tokens ----

// TestAfterFunc
GO_TEST(context, a_function_runs_once_after_the_end) {
  auto [ctx, cancel] = sley::with_cancel(context::background());
  sley::chan<std::uint64_t> ran(2);
  const auto registered = sley::after_func(ctx, [ran] { ran.send(sley::this_goroutine::id()); });
  let_others_run();
  EXPECT_EQ(ran.size(), 0U);
  cancel();
  EXPECT_NE(*ran.receive(), sley::this_goroutine::id()) << "in a goroutine of its own";
  EXPECT_FALSE(registered.stop());
  sley::after_func(ctx, [ran] { ran.send(0); });
  EXPECT_TRUE(ran.receive()) << "at once, as it has ended";
}

GO_TEST(context, a_function_that_was_stopped_does_not_run) {
  auto [ctx, cancel] = sley::with_cancel(context::background());
  std::atomic<int> ran = 0;
  const auto registered = sley::after_func(ctx, [&ran] { ++ran; });
  EXPECT_TRUE(registered.stop());
  EXPECT_FALSE(registered.stop());
  cancel();
  let_others_run();
  EXPECT_EQ(ran, 0);
  EXPECT_FALSE(sley::context_callback().stop());
  const auto never = sley::after_func(context::background(), [&ran] { ++ran; });
  EXPECT_TRUE(never.stop());
  EXPECT_FALSE(never.stop());
}

GO_TEST(context, a_registered_function_keeps_its_context_alive) {
  auto [parent, cancel] = sley::with_cancel(context::background());
  sley::chan<void> ran(1);
  sley::after_func(sley::with_value(sley::with_cancel(parent).first, "k", 1),
                   [ran] { ran.send(); });
  cancel();
  EXPECT_TRUE(ran.receive());
}

GO_TEST(context, either_the_function_runs_or_stop_says_that_it_does_not) {
  for (int round = 0; round < rounds(300); ++round) {
    auto [ctx, cancel] = sley::with_cancel(context::background());
    std::atomic<int> ran = 0;
    std::atomic<int> stopped = 0;
    const auto registered = sley::after_func(ctx, [&ran] { ++ran; });
    sley::wait_group all;
    all.go([&stop = cancel] { stop(); });
    all.go([&] { stopped += registered.stop() ? 1 : 0; });
    all.wait();
    EXPECT_TRUE(eventually([&] { return ran + stopped == 1; }));
  }
}

GO_TEST(context, its_stop_token_is_stopped_when_cancel_returns) {
  auto [ctx, cancel] = sley::with_cancel(context::background());
  auto [child, cancel_child] = sley::with_cancel(ctx);
  const std::stop_token token = child.stop_token();
  EXPECT_EQ(token, child.stop_token()) << "one for each context";
  EXPECT_FALSE(token.stop_requested());
  cancel();
  EXPECT_TRUE(token.stop_requested());
  EXPECT_TRUE(sley::with_cancel(ctx).first.stop_token().stop_requested());
}

GO_TEST(context, a_stop_token_ends_it_before_request_stop_returns) {
  std::stop_source source;
  const context ctx = sley::with_stop_token(context::background(), source.get_token());
  const context below = sley::with_cancel(ctx).first;
  EXPECT_FALSE(ctx.error());
  source.request_stop();
  EXPECT_EQ(below.error(), context_errc::canceled);
  EXPECT_TRUE(sley::with_stop_token(context::background(), source.get_token()).error());
}

GO_TEST(context, tokens_and_contexts_that_go_at_the_same_time) {
  for (int round = 0; round < rounds(300); ++round) {
    std::stop_source source;
    sley::wait_group all;
    context ctx = sley::with_stop_token(context::background(), source.get_token());
    all.go([c = std::move(ctx)] { sley::this_goroutine::yield(); });
    all.go([&source] { source.request_stop(); });
    all.wait();
  }
}

// ---- size and lifetime ----

GO_TEST(context, a_hundred_thousand_children_end_in_linear_time) {
  const auto time_for = [](int children) {
    auto [parent, cancel] = sley::with_cancel(context::background());
    std::vector<context> all;
    for (int i = 0; i < children; ++i) all.push_back(sley::with_cancel(parent).first);
    const std::clock_t start = std::clock();  // CPU time: others may have the CPUs meanwhile
    cancel();
    const std::clock_t took = std::clock() - start;
    for (const context& ctx : all) EXPECT_TRUE(ctx.error());
    return took;
  };
  const int many = rounds(100'000);
  time_for(many);
  EXPECT_LT(time_for(many), 30 * (time_for(many / 10) + CLOCKS_PER_SEC / 1000));
}

GO_TEST(context, a_chain_may_be_any_number_deep) {
  auto [root, cancel] = sley::with_cancel(context::background());
  context leaf = root;
  for (int i = 0; i < rounds(100'000); ++i) leaf = sley::with_cancel(leaf).first;
  cancel();
  EXPECT_TRUE(leaf.error());
}

GO_TEST(context, children_that_are_dropped_leave_nothing_with_their_parent) {
  auto [parent, cancel] = sley::with_cancel(context::background());
  const std::weak_ptr<int> watched = [&above = parent] {
    auto value = std::make_shared<int>(1);
    auto [child, cancel_child] = sley::with_timeout(above, 1h);
    const context below = sley::with_value(child, "k", value);
    return std::weak_ptr<int>(value);
  }();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(sley::runtime::read_stats().timers, 0U);
}

GO_TEST(context, children_come_and_go_while_their_parent_ends) {
  for (int round = 0; round < rounds(200); ++round) {
    auto [parent, cancel] = sley::with_cancel(context::background());
    sley::wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&p = parent] {
        for (int k = 0; k < 20; ++k) {
          auto [child, cancel_child] = sley::with_timeout(p, 1ms);
          auto [below, cancel_below] = sley::with_cancel(child);
          if (k % 3 == 0) cancel_child();
        }
      });
    }
    sley::this_goroutine::yield();
    cancel();
    EXPECT_TRUE(parent.error());
    all.wait();
  }
}

FOREIGN_TEST(context, works_on_threads_of_others) {
  auto [ctx, cancel] = sley::with_cancel(context::background());
  std::jthread other([&stop = cancel] { stop(); });
  EXPECT_FALSE(ctx.done().receive());
  EXPECT_EQ(ctx.error(), context_errc::canceled);
}

}  // namespace
