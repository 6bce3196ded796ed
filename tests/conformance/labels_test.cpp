// debug::labels: which goroutines have which labels, and where they are shown. Answers Go's
// runtime/pprof TestLabels..., TestGoroutineProfileLabelRace and TestDo.
#include "support/burn.hpp"
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/profile.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using sley::chan;
using sley::debug::label;
using sley::debug::labels;
using sley::debug::profile_kind;
using sley_test::eventually;
using namespace std::chrono_literals;

using label_list = std::vector<label>;

label_list labels_of(std::uint64_t id) {
  for (const auto& g : sley::debug::goroutines()) {
    if (g.id == id) return g.labels;
  }
  ADD_FAILURE() << "no goroutine " << id;
  return {};
}

label_list own_labels() { return labels_of(sley::this_goroutine::id()); }

// What a goroutine has that is started now.
label_list childs_labels() {
  return sley::async([] { return own_labels(); }).get();
}

GO_TEST(labels, a_goroutine_has_none_at_first) { EXPECT_EQ(own_labels(), label_list()); }

GO_TEST(labels, a_goroutine_has_them_until_the_scope_ends) {
  {
    const labels scope{{"tenant", "a"}, {"endpoint", "/login"}};
    EXPECT_EQ(own_labels(), (label_list{{"endpoint", "/login"}, {"tenant", "a"}}));
  }
  EXPECT_EQ(own_labels(), label_list());
}

GO_TEST(labels, an_inner_scope_adds_and_replaces) {
  const labels outer{{"a", "1"}, {"b", "2"}};
  {
    const labels inner{{"b", "3"}, {"c", "4"}};
    EXPECT_EQ(own_labels(), (label_list{{"a", "1"}, {"b", "3"}, {"c", "4"}}));
  }
  EXPECT_EQ(own_labels(), (label_list{{"a", "1"}, {"b", "2"}}));
}

GO_TEST(labels, an_empty_value_takes_a_label_away) {
  const labels outer{{"a", "1"}, {"b", "2"}};
  const labels inner{{"a", ""}, {"unknown", ""}};
  EXPECT_EQ(own_labels(), (label_list{{"b", "2"}}));
}

GO_TEST(labels, of_one_key_the_last_label_counts) {
  const label_list given = {{"a", "1"}, {"a", "2"}};
  const labels scope{std::span<const label>(given)};
  EXPECT_EQ(own_labels(), (label_list{{"a", "2"}}));
}

GO_TEST(labels, an_exception_ends_the_scope) {
  try {
    const labels scope{{"a", "1"}};
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(own_labels(), label_list());
}

GO_TEST(labels, a_child_has_its_parents_labels_of_that_moment) {
  chan<void> go_on(0);
  std::optional<labels> scope;
  scope.emplace(std::initializer_list<label>{{"a", "1"}});
  sley::future<label_list> child = sley::async([&] {
    go_on.receive();
    return childs_labels();
  });
  scope.reset();
  const labels other{{"a", "2"}};
  go_on.send();
  EXPECT_EQ(child.get(), (label_list{{"a", "1"}}));
  EXPECT_EQ(childs_labels(), (label_list{{"a", "2"}}));
}

GO_TEST(labels, a_childs_scope_does_not_change_its_parents_labels) {
  const labels scope{{"a", "1"}};
  sley::async([] { const labels inner{{"a", "2"}}; }).get();
  EXPECT_EQ(own_labels(), (label_list{{"a", "1"}}));
}

GO_TEST(labels, a_goroutine_with_a_name_and_a_stack_size_inherits_too) {
  const labels scope{{"a", "1"}};
  chan<label_list> result(1);
  sley::go(sley::go_options{.name = "x", .stack_size = 1 << 20},
           [result] { result.send(own_labels()); });
  EXPECT_EQ(result.receive(), (label_list{{"a", "1"}}));
}

GO_TEST(labels, a_name_that_is_set_later_keeps_them) {
  const labels scope{{"a", "1"}};
  sley::this_goroutine::set_name("other");
  EXPECT_EQ(own_labels(), (label_list{{"a", "1"}}));
}

GO_TEST(labels, an_after_func_has_the_labels_of_its_maker) {
  chan<label_list> result(1);
  sley::timer t = [&] {
    const labels scope{{"a", "1"}};
    return sley::after_func(1ms, [result] { result.send(own_labels()); });
  }();
  EXPECT_EQ(result.receive(), (label_list{{"a", "1"}}));
}

GO_TEST(labels, a_guard_against_leaks_keeps_them) {
  const labels scope{{"a", "1"}};
  const sley::debug::no_leaks guard([](const std::string& report) { ADD_FAILURE() << report; });
  const labels inner{{"b", "2"}};
  EXPECT_EQ(childs_labels(), (label_list{{"a", "1"}, {"b", "2"}}));
}

TEST(labels, a_thread_passes_its_labels_on) {
  std::thread([] {
    const labels scope{{"a", "1"}};
    EXPECT_EQ(childs_labels(), (label_list{{"a", "1"}}));
  }).join();
}

GO_TEST(labels, bad_ones_are_refused_and_change_nothing) {
  const labels scope{{"a", "1"}};
  const auto begin = [](const label_list& all) { labels{std::span<const label>(all)}; };
  EXPECT_THROW(begin({{"", "x"}}), std::invalid_argument);
  EXPECT_THROW(begin({{"b", "x"}, {"name", "x"}}), std::invalid_argument);
  EXPECT_THROW(begin({{"state", "x"}}), std::invalid_argument);
  EXPECT_THROW(begin({{std::string(64, 'k'), "x"}}), std::length_error);
  label_list many;
  for (int i = 0; i < 16; ++i) many.push_back({"k" + std::to_string(i), "x"});
  EXPECT_THROW(begin(many), std::length_error);
  EXPECT_EQ(own_labels(), (label_list{{"a", "1"}}));
  many.pop_back();
  EXPECT_NO_THROW(begin(many));
}

GO_TEST(labels, a_long_value_is_cut_at_a_character) {
  const labels scope{{std::string(63, 'k'), std::string(126, 'v') + "\u00e4"}};
  EXPECT_EQ(own_labels(), (label_list{{std::string(63, 'k'), std::string(126, 'v')}}));
}

// ---- where they are shown ----

GO_TEST(labels, texts_have_them_in_the_header) {
  const labels scope{{"tenant", "a"}, {"endpoint", "/log\x1bin"}};
  const auto all = sley::debug::goroutines();
  const auto own =
      std::ranges::find(all, sley::this_goroutine::id(), &sley::debug::goroutine_info::id);
  EXPECT_NE(sley::debug::goroutines_text(std::span(&*own, 1))
                .find(R"(] {endpoint: "/log\x1bin", tenant: "a"}:)"),
            std::string::npos);
}

GO_TEST(labels, json_has_them) {
  const labels scope{{"tenant", "a"}, {"endpoint", "/log\"in"}};
  EXPECT_NE(sley::debug::goroutines_json().find(R"("labels":{"endpoint":"/log\"in","tenant":"a"})"),
            std::string::npos);
}

GO_TEST(labels, the_goroutine_profile_has_them) {
  chan<void> end(0);
  sley::wait_group all;
  for (int i = 0; i < 10; ++i) {
    const labels scope{{"tenant", i < 3 ? "a" : "b"}};
    all.go([&] { end.receive(); });
  }
  const auto p = sley_test::parse_profile(sley::debug::profile(profile_kind::goroutine));
  EXPECT_EQ(p.total_with("tenant", "a"), 3u);
  EXPECT_EQ(p.total_with("tenant", "b"), 7u);
  EXPECT_NE(sley::debug::profile_text(profile_kind::goroutine).find("{\"tenant\":\"a\", "),
            std::string::npos);
  end.close();
  all.wait();
}

GO_TEST(labels, the_cpu_profile_has_them) {
  sley::debug::cpu_profile::start();
  const auto burn_as = [](const char* tenant, std::chrono::nanoseconds time) {
    const labels scope{{"tenant", tenant}};
    return static_cast<double>(sley_test::burn(time) / 10ms);  // samples
  };
  const double of_a = burn_as("a", 300ms);
  const double of_b = burn_as("b", 100ms);
  const auto p = sley_test::parse_profile(sley::debug::cpu_profile::stop());
  if (sley_test::under_tsan) {  // it loses some signals, see cpu_profile_test.cpp
    EXPECT_GT(p.total_with("tenant", "a"), 0u);
    return;
  }
  EXPECT_NEAR(static_cast<double>(p.total_with("tenant", "a")), of_a, 5);
  EXPECT_NEAR(static_cast<double>(p.total_with("tenant", "b")), of_b, 5);
}

GO_TEST(labels, the_wall_clock_profile_has_them) {
  chan<void> end(0);
  std::atomic<bool> is_over{false};
  sley::wait_group all;
  {
    const labels scope{{"tenant", "waits"}};
    all.go([&] { end.receive(); });
  }
  {
    const labels scope{{"tenant", "computes"}};
    all.go([&] {
      while (!is_over) sley_test::burn(1ms);
    });
  }
  {
    const labels scope{{"tenant", "sleeps"}};
    all.go([&] {
      while (!is_over) sley::blocking([] { std::this_thread::sleep_for(5ms); });
    });
  }
  bool has_all = false;
  EXPECT_TRUE(eventually([&] {
    const auto p = sley_test::parse_profile(sley::debug::delta_profile(profile_kind::wall, 100ms));
    has_all = p.total_with("tenant", "waits") != 0 && p.total_with("tenant", "computes") != 0 &&
              p.total_with("tenant", "sleeps") != 0;
    return has_all;
  }));
  is_over = true;
  end.close();
  all.wait();
}

// A snapshot, a sample or a look never meets a label that is not the goroutine's, nor memory that
// is freed.
GO_TEST(labels, they_may_change_while_goroutines_are_looked_at) {
  constexpr int count = 1000;
  std::atomic<bool> is_over{false};
  sley::wait_group all;
  for (int i = 0; i < count; ++i) {
    all.go([&, number = std::to_string(i)] {
      while (!is_over) {
        const labels scope{{"number", number}, {"kind", "changes"}};
        sley::this_goroutine::yield();
        sley::async([] { const labels inner{{"kind", "child"}}; }).get();
      }
    });
  }
  sley::debug::cpu_profile::start();
  sley::wait_group lookers;
  lookers.go([] { sley::debug::delta_profile(profile_kind::wall, 300ms); });
  for (int i = 0; i < 5; ++i) {
    for (const auto& g : sley::debug::goroutines()) {
      if (g.labels.empty()) continue;
      EXPECT_EQ(g.labels.size(), 2u);
      EXPECT_EQ(g.labels[0].key, "kind");
      EXPECT_EQ(g.labels[1].key, "number");
    }
  }
  lookers.wait();
  is_over = true;
  all.wait();
  const auto p = sley_test::parse_profile(sley::debug::cpu_profile::stop());
  for (const auto& s : p.samples) {
    EXPECT_EQ(s.labels.contains("kind"), s.labels.contains("number"));
  }
}

// ---- misuse ----

CHILD_MAIN(ends_labels_in_another_goroutine) {
  return sley::run([] {
    auto scope = std::make_unique<labels>(std::initializer_list<label>{{"a", "1"}});
    sley::async([&] { scope.reset(); }).get();
    return 0;
  });
}

CHILD_MAIN(ends_labels_out_of_order) {
  return sley::run([] {
    auto outer = std::make_unique<labels>(std::initializer_list<label>{{"a", "1"}});
    const labels inner{{"b", "2"}};
    outer.reset();
    return 0;
  });
}

CHILD_MAIN(ends_by_a_fatal_error_with_labels) {
  return sley::run([] {
    for (const char* tenant : {"a", "a", "b"}) {
      const labels scope{{"tenant", tenant}};
      sley::go([] { sley::block_forever(); });
    }
    const labels scope{{"tenant", "main"}};
    sley::mutex m;
    m.unlock();
    return 0;
  });
}

CHILD_MAIN(ends_by_a_fatal_error_with_its_labels_taken_away) {
  return sley::run([] {
    const labels outer{{"tenant", "main"}};
    const labels scope{{"tenant", ""}};
    sley::mutex m;
    m.unlock();
    return 0;
  });
}

TEST(labels, an_end_in_another_goroutine_is_fatal) {
  const auto child = sley_test::run_child("ends_labels_in_another_goroutine");
  EXPECT_TRUE(child.failed());
  EXPECT_NE(child.err.find("a debug::labels ends in another goroutine"), std::string::npos)
      << child;
}

TEST(labels, an_end_out_of_order_is_fatal) {
  const auto child = sley_test::run_child("ends_labels_out_of_order");
  EXPECT_TRUE(child.failed());
  EXPECT_NE(child.err.find("a debug::labels ends before another one that began later"),
            std::string::npos)
      << child;
}

TEST(labels, the_dump_of_a_fatal_error_has_them) {
  const auto child = sley_test::run_child("ends_by_a_fatal_error_with_labels");
  EXPECT_TRUE(child.failed());
  for (const char* tenant : {"main", "a", "b"}) {
    EXPECT_NE(child.err.find("] {tenant: \"" + std::string(tenant) + "\"}:"), std::string::npos)
        << child;
  }
}

TEST(labels, the_dump_of_a_fatal_error_has_none_that_were_taken_away) {
  const auto child = sley_test::run_child("ends_by_a_fatal_error_with_its_labels_taken_away");
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_NE(child.err.find("goroutine 1 [running]:\n"), std::string::npos) << child;
}

}  // namespace
