// <sley/opentelemetry.hpp> on the part of OpenTelemetry's API in support/opentelemetry. What is
// current belongs to a goroutine, on whatever thread it is.
#include "support/harness.hpp"

#include <sley/opentelemetry.hpp>

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace {

using opentelemetry::context::Context;
using opentelemetry::context::RuntimeContext;
using sley::opentelemetry::in_this_context;

void use_goroutines_contexts() {
  [[maybe_unused]] static const bool once = [] {
    RuntimeContext::SetRuntimeContextStorage(
        opentelemetry::nostd::shared_ptr<opentelemetry::context::RuntimeContextStorage>(
            new sley::opentelemetry::context_storage));
    return true;
  }();
}

// A context with a span, which here is a number.
auto attach(int span) {
  use_goroutines_contexts();
  return RuntimeContext::Attach(RuntimeContext::GetCurrent().SetValue("active_span", span));
}

// 0: there is none.
int active_span() {
  use_goroutines_contexts();
  return RuntimeContext::GetCurrent().GetValue("active_span");
}

GO_TEST(opentelemetry, a_goroutine_has_no_span_at_first) {
  EXPECT_EQ(active_span(), 0);
  const auto scope = attach(1);
  EXPECT_EQ(sley::async([] { return active_span(); }).get(), 0);
}

GO_TEST(opentelemetry, the_end_of_a_scope_brings_the_span_before_back) {
  {
    const auto outer = attach(1);
    {
      const auto inner = attach(2);
      EXPECT_EQ(active_span(), 2);
    }
    EXPECT_EQ(active_span(), 1);
  }
  EXPECT_EQ(active_span(), 0);
}

GO_TEST(opentelemetry, the_end_of_an_outer_scope_ends_inner_ones) {
  auto outer = attach(1);
  const auto inner = attach(2);
  outer.reset();
  EXPECT_EQ(active_span(), 0);
}

GO_TEST(opentelemetry, a_token_of_another_goroutine_detaches_nothing) {
  auto outer = attach(1);
  sley::async([&] {
    const auto own = attach(2);
    EXPECT_FALSE(RuntimeContext::Detach(*outer));
    EXPECT_EQ(active_span(), 2);
  }).get();
  EXPECT_EQ(active_span(), 1);
}

// Each goroutine goes on on whatever thread is free.
GO_TEST(opentelemetry, goroutines_that_share_threads_keep_their_spans) {
  sley::wait_group all;
  for (int i = 1; i <= 100; ++i) {
    all.go([i] {
      const auto scope = attach(i);
      for (int n = 0; n < 20; ++n) {
        sley::this_goroutine::yield();
        ASSERT_EQ(active_span(), i);
      }
    });
  }
  all.wait();
  EXPECT_EQ(active_span(), 0);
}

TEST(opentelemetry, a_thread_has_spans_of_its_own) {
  const auto scope = attach(1);
  std::thread([] {
    EXPECT_EQ(active_span(), 0);
    const auto own = attach(2);
    EXPECT_EQ(active_span(), 2);
  }).join();
  EXPECT_EQ(active_span(), 1);
}

// ---- in_this_context ----

GO_TEST(opentelemetry, a_function_takes_the_context_along) {
  const auto scope = attach(1);
  auto f = in_this_context([] { return active_span(); });
  const auto later = attach(2);
  EXPECT_EQ(sley::async(f).get(), 1);
  EXPECT_EQ(f(), 1);
  EXPECT_EQ(active_span(), 2);
}

GO_TEST(opentelemetry, arguments_results_and_exceptions_are_the_functions_own) {
  int value = 1;
  int& same = in_this_context([](int& x) -> int& { return x; })(value);
  EXPECT_EQ(&same, &value);
  EXPECT_EQ(in_this_context([](std::string s) { return s + "!"; })("x"), "x!");
  EXPECT_EQ(in_this_context([p = std::make_unique<int>(7)] { return *p; })(), 7);
  EXPECT_THROW(in_this_context([] { throw std::runtime_error("x"); })(), std::runtime_error);
  EXPECT_EQ(active_span(), 0);
}

}  // namespace
