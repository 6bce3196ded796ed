// The error and cause of an ended context come from the first end at or above it. Answers J12 and
// J13, Go's TestCause and its kin.
#include "support/harness.hpp"

#include <sley/context.hpp>

#include <exception>
#include <stdexcept>
#include <string>

using namespace sley_test;
using sley::context;
using sley::context_errc;

namespace {

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

GO_TEST(context, error_and_cause_come_from_the_first_end_above) {
  for (const cause_case& c : cause_cases) {
    const context ctx = c.make();
    const auto error = ctx.error();
    EXPECT_EQ(error ? error.message() : "", c.error) << c.name;
    EXPECT_EQ(text_of(ctx.cause()), c.cause) << c.name;
    const auto done = ctx.done();
    EXPECT_EQ(done && done.closed(), static_cast<bool>(error)) << c.name;
  }
}

// J13 TestCauseRace, TestContextErrDoneRace
GO_TEST(context, an_error_implies_a_cause_and_a_closed_channel) {
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

}  // namespace
