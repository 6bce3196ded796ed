// Contexts: who ends when, with what, and what stays. Answers rows J of Go's context tests, as far
// as they have a counterpart (docs/go_map.md).
#include "support/harness.hpp"

#include <sley/context.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
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

std::string text_of(const std::exception_ptr& e) {
  if (e == nullptr) return "none";
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    return x.what();
  }
}

std::exception_ptr reason(const char* text) {
  return std::make_exception_ptr(std::runtime_error(text));
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

// J9: also for who comes second.
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
GO_TEST(context, a_child_is_cancelled_by_who_waits_for_its_parent) {
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

// J12 TestCause
GO_TEST(context, the_first_end_gives_error_and_cause) {
  auto [parent, end_parent] = sley::with_cancel_cause(context::background());
  auto [child, end_child] = sley::with_cancel_cause(parent);
  EXPECT_EQ(child.cause(), nullptr);
  end_child(reason("the child's"));
  end_parent(reason("the parent's"));
  EXPECT_EQ(text_of(parent.cause()), "the parent's");
  EXPECT_EQ(text_of(child.cause()), "the child's");
  EXPECT_EQ(text_of(sley::with_cancel(parent).first.cause()), "the parent's");
  end_parent(reason("too late"));
  EXPECT_EQ(text_of(parent.cause()), "the parent's");
  EXPECT_EQ(parent.error(), context_errc::canceled);
}

// J12
GO_TEST(context, without_a_cause_the_error_is_the_cause) {
  auto [ctx, cancel] = sley::with_cancel_cause(context::background());
  cancel(nullptr);
  EXPECT_EQ(text_of(ctx.cause()), "context canceled");
  auto [late, cancel_late] = sley::with_timeout(context::background(), -1s);
  EXPECT_EQ(text_of(late.cause()), "context deadline exceeded");
}

// J12 WithTimeoutCause
GO_TEST(context, a_deadline_has_its_own_cause_and_a_cancel_has_not) {
  auto [late, cancel_late] = sley::with_timeout(context::background(), 1ms, reason("too slow"));
  late.done().receive();
  EXPECT_EQ(text_of(late.cause()), "too slow");
  EXPECT_EQ(late.error(), context_errc::deadline_exceeded);
  auto [ctx, cancel] = sley::with_timeout(context::background(), 1h, reason("too slow"));
  cancel();
  EXPECT_EQ(text_of(ctx.cause()), "context canceled");
}

// J12 TestCause, its table: what a chain of contexts has been ended with, seen from its lower end.
struct cause_case {
  const char* name;
  context (*make)();  // has ended, where it is to
  const char* error;  // empty: live
  const char* cause;
};

constexpr const char* canceled = "context canceled";
constexpr const char* exceeded = "context deadline exceeded";

const cause_case cause_cases[] = {
    {"background", [] { return context(); }, "", "none"},
    {"a live one", [] { return sley::with_cancel_cause(context::background()).first; }, "", "none"},
    {"cancel gives none",
     [] {
       auto [ctx, cancel] = sley::with_cancel(context::background());
       cancel();
       return ctx;
     },
     canceled, canceled},
    {"cancel with a cause",
     [] {
       auto [ctx, cancel] = sley::with_cancel_cause(context::background());
       cancel(reason("parent"));
       return ctx;
     },
     canceled, "parent"},
    {"a live child has the cause of its parent",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       auto [child, cancel_child] = sley::with_cancel_cause(parent);
       cancel(reason("parent"));
       cancel_child(reason("child"));
       return child;
     },
     canceled, "parent"},
    {"a live child of a parent that is given none",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       auto [child, cancel_child] = sley::with_cancel_cause(parent);
       cancel(nullptr);
       cancel_child(reason("child"));
       return child;
     },
     canceled, canceled},
    {"a child that has ended keeps its cause",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       auto [child, cancel_child] = sley::with_cancel_cause(parent);
       cancel_child(reason("child"));
       cancel(reason("parent"));
       return child;
     },
     canceled, "child"},
    {"a child that has ended without one keeps that",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       auto [child, cancel_child] = sley::with_cancel_cause(parent);
       cancel_child(nullptr);
       cancel(reason("parent"));
       return child;
     },
     canceled, canceled},
    {"an ended child leaves its parent live",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       sley::with_cancel_cause(parent).second(reason("child"));
       return parent;
     },
     "", "none"},
    {"through one that can't be given any",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       auto [child, cancel_child] = sley::with_cancel(parent);
       const context below = sley::with_cancel_cause(child).first;
       cancel(reason("parent"));
       return below;
     },
     canceled, "parent"},
    {"made below one that had ended",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       cancel(reason("parent"));
       return sley::with_cancel_cause(sley::with_value(parent, "k", 1)).first;
     },
     canceled, "parent"},
    {"a value's",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       const context value = sley::with_value(parent, "k", 1);
       cancel(reason("parent"));
       return value;
     },
     canceled, "parent"},
    {"a live child below values",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       const context values = sley::with_value(sley::with_value(parent, "k", 1), "l", 2);
       const context child = sley::with_value(sley::with_cancel_cause(values).first, "k", 3);
       cancel(reason("parent"));
       return child;
     },
     canceled, "parent"},
    {"a timeout", [] { return sley::with_timeout(context::background(), -1s).first; }, exceeded,
     exceeded},
    {"a timeout with a cause",
     [] { return sley::with_timeout(context::background(), -1s, reason("late")).first; }, exceeded,
     "late"},
    {"a timeout with a cause, cancelled",
     [] {
       auto [ctx, cancel] = sley::with_timeout(context::background(), 1h, reason("late"));
       cancel();
       return ctx;
     },
     canceled, canceled},
    {"a timeout with a cause, whose parent is cancelled",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       const context child = sley::with_timeout(parent, 1h, reason("late")).first;
       cancel(reason("parent"));
       return child;
     },
     canceled, "parent"},
    {"the earlier timeout is the parent's",
     [] {
       auto [parent, cancel] = sley::with_timeout(context::background(), 5ms, reason("late"));
       const context child = sley::with_timeout(parent, 1h, reason("later")).first;
       child.done().receive();
       return child;
     },
     exceeded, "late"},
    {"the earlier timeout is the child's",
     [] {
       auto [parent, cancel] = sley::with_timeout(context::background(), 1h, reason("later"));
       const context child = sley::with_timeout(parent, 1ms, reason("late")).first;
       child.done().receive();
       return child;
     },
     exceeded, "late"},
    {"the child of one that is late",
     [] {
       auto [parent, cancel] = sley::with_timeout(context::background(), 1ms, reason("late"));
       const context child = sley::with_cancel_cause(parent).first;
       child.done().receive();
       return child;
     },
     exceeded, "late"},
    {"without_cancel below one that had ended",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       cancel(reason("parent"));
       return sley::without_cancel(parent);
     },
     "", "none"},
    {"without_cancel below one that ends",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       const context kept = sley::with_value(sley::without_cancel(parent), "k", 1);
       cancel(reason("parent"));
       return kept;
     },
     "", "none"},
    {"without_cancel below one that is late",
     [] {
       return sley::without_cancel(
           sley::with_timeout(context::background(), -1s, reason("late")).first);
     },
     "", "none"},
    {"a child of without_cancel whose grandparent ends",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       const context child = sley::with_cancel_cause(sley::without_cancel(parent)).first;
       cancel(reason("parent"));
       return child;
     },
     "", "none"},
    {"a child of without_cancel has its own",
     [] {
       auto [parent, cancel] = sley::with_cancel_cause(context::background());
       auto [child, cancel_child] = sley::with_cancel_cause(sley::without_cancel(parent));
       cancel(reason("parent"));
       cancel_child(reason("child"));
       return sley::with_value(child, "k", 1);
     },
     canceled, "child"},
};

GO_TEST(context, error_and_cause_are_those_of_the_first_end_above) {
  for (const cause_case& c : cause_cases) {
    const context ctx = c.make();
    const auto error = ctx.error();
    EXPECT_EQ(error ? error.message() : "", c.error) << c.name;
    EXPECT_EQ(text_of(ctx.cause()), c.cause) << c.name;
    EXPECT_EQ(is_done(ctx), static_cast<bool>(error)) << c.name;
  }
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

// J13 TestCauseRace, TestContextErrDoneRace
GO_TEST(context, who_sees_an_error_sees_the_cause_and_the_channel_closed) {
  for (int round = 0; round < rounds(300); ++round) {
    auto [ctx, cancel] = sley::with_cancel_cause(context::background());
    sley::wait_group all;
    all.go([&stop = cancel] { stop(reason("raced")); });
    all.go([&c = ctx] {
      const auto done = c.done();
      while (!c.error()) sley::this_goroutine::yield();
      EXPECT_TRUE(done.closed());
      EXPECT_EQ(text_of(c.cause()), "raced");
    });
    all.go([&c = ctx] {
      c.done().receive();
      EXPECT_EQ(c.error(), context_errc::canceled);
    });
    all.wait();
  }
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

GO_TEST(context, a_registered_function_holds_a_context_that_nobody_else_does) {
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
    const auto start = std::chrono::steady_clock::now();
    cancel();
    const auto took = std::chrono::steady_clock::now() - start;
    for (const context& ctx : all) EXPECT_TRUE(ctx.error());
    return took;
  };
  const int many = rounds(100'000);
  time_for(many);
  EXPECT_LT(time_for(many), 100 * (time_for(many / 10) + 1ms));
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
