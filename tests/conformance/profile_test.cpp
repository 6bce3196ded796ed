// Profiles of <sley/debug.hpp> in pprof's format, read by a reader of their own. That `go tool
// pprof` reads them as well: tests/profiles. The pages: tests/http/debug_pages_test.cpp.
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/profile.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using sley::chan;
using sley::debug::profile_kind;
using sley_test::contains_match;
using sley_test::eventually;
using sley_test::parse_profile;
using sley_test::profile_mapping;
using sley_test::profile_sample;
using sley_test::read_profile;
using namespace std::chrono_literals;

namespace {

constexpr int waiting = 7;

// Goroutines that wait at one place, until it ends.
class receivers {
 public:
  explicit receivers(const std::string& name) {
    for (int i = 0; i < waiting; ++i) sley_test::starts_one_here({.name = name}, gate_);
  }
  ~receivers() { gate_.close(); }
  receivers(const receivers&) = delete;
  receivers& operator=(const receivers&) = delete;

 private:
  chan<int> gate_;
};

std::vector<profile_sample> with_name(const read_profile& p, const std::string& name) {
  std::vector<profile_sample> all = p.samples;
  std::erase_if(all, [&](profile_sample& s) { return s.labels["name"] != name; });
  return all;
}

bool is_any_left(const std::string& name) {
  return std::ranges::count(sley::debug::goroutines(), name, &sley::debug::goroutine_info::name) !=
         0;
}

// It has looked once, and waits for its context or the end of the duration.
bool sleeps_in_delta_profile() {
  return std::ranges::any_of(sley::debug::goroutines(), [](const auto& g) {
    return g.name == "takes a difference" && g.state.starts_with("select");
  });
}

// A profile of a duration in which change() is called. It is taken again if change() has not been
// quick enough.
template <class Change>
read_profile difference_by(profile_kind kind, Change change) {
  for (auto duration = 100ms;; duration *= 2) {
    std::string message;
    std::atomic<bool> is_over{false};
    sley::wait_group end;
    end.go([&] {
      sley::this_goroutine::set_name("takes a difference");
      message = sley::debug::delta_profile(kind, duration);
      is_over = true;
    });
    EXPECT_TRUE(eventually([&] { return is_over || sleeps_in_delta_profile(); }));
    auto undo = change();
    const bool is_quick = !is_over;
    end.wait();
    undo();
    if (is_quick) return parse_profile(message);
  }
}

}  // namespace

GO_TEST(profile, of_goroutines_counts_them_by_stack_state_and_name) {
  const receivers some("profiled");
  const receivers others("others \xff\n");
  const read_profile p = parse_profile(sley::debug::profile(profile_kind::goroutine));
  EXPECT_EQ(p.units, std::vector<std::string>{"goroutine/count"});
  EXPECT_EQ(p.period_unit, "goroutine/count");
  EXPECT_EQ(p.period, 1u);
  EXPECT_GT(p.time_ns, 0u);
  for (const std::string name : {"profiled", "others \\xff\\n"}) {
    const std::vector<profile_sample> samples = with_name(p, name);
    ASSERT_EQ(samples.size(), 1u) << name;
    EXPECT_EQ(samples[0].values[0], waiting);
    EXPECT_EQ(samples[0].labels.at("state"), "chan receive");
    EXPECT_GT(samples[0].addresses.size(), 1u);
    EXPECT_TRUE(samples[0].is_in("parks_here") || !sley_test::has_line_numbers());
  }
  std::uint64_t all = 0;
  for (const profile_sample& s : p.samples) all += s.values[0];
  EXPECT_GE(all, 2u * waiting + 1);
}

// Which the loader tells, whether there are symbols or not.
GO_TEST(profile, each_address_is_in_a_file_that_has_it) {
  const receivers some("profiled");
  const read_profile p = parse_profile(sley::debug::profile(profile_kind::goroutine));
  ASSERT_FALSE(p.mappings.empty());
  EXPECT_TRUE(contains_match(p.mappings[0].file, "profile$")) << p.mappings[0].file;
  for (const profile_mapping& m : p.mappings) {
    EXPECT_LT(m.begin, m.end) << m.file;
    EXPECT_TRUE(m.build_id.empty() || contains_match(m.build_id, "^[0-9a-f]{8,}$")) << m.build_id;
  }
  for (const profile_sample& s : p.samples) {
    for (const std::uint64_t address : s.addresses) {
      EXPECT_EQ(std::ranges::count_if(p.mappings,
                                      [&](const profile_mapping& m) {
                                        return m.begin <= address && address < m.end;
                                      }),
                1)
          << address;
    }
  }
}

GO_TEST(profile, of_threads_counts_them) {
  const read_profile p = parse_profile(sley::debug::profile(profile_kind::thread_create));
  EXPECT_EQ(p.units, std::vector<std::string>{"threadcreate/count"});
  ASSERT_EQ(p.samples.size(), 1u);
  EXPECT_GE(p.samples[0].values[0], 1u);
}

GO_TEST(profile, as_text_has_the_layout_of_go) {
  const receivers some("a \"profiled\" one");
  const std::string text = sley::debug::profile_text(profile_kind::goroutine);
  EXPECT_TRUE(contains_match(text, "^goroutine profile: total [0-9]+$")) << text;
  EXPECT_TRUE(contains_match(text, "^7 @( 0x[0-9a-f]+)+$")) << text;
  EXPECT_TRUE(contains_match(
      text, R"(^# labels: \{"name":"a [\]"profiled[\]" one", "state":"chan receive"\}$)"))
      << text;
  if (sley_test::has_line_numbers()) {
    EXPECT_TRUE(contains_match(text, "^#\t0x[0-9a-f]+\t.*parks_here.*[+]0x[0-9a-f]+\t.*:[0-9]+$"))
        << text;
  }
  EXPECT_TRUE(contains_match(sley::debug::profile_text(profile_kind::thread_create),
                             "^threadcreate profile: total [0-9]+\n[0-9]+ @ 0x0$"));
}

GO_TEST(profile, of_goroutines_in_a_duration_has_the_difference) {
  const receivers all_the_time("stays");
  const read_profile p = difference_by(profile_kind::goroutine, [] {
    auto come = std::make_unique<receivers>("comes");
    return [come = std::move(come)]() mutable { come.reset(); };
  });
  EXPECT_EQ(p.units, std::vector<std::string>{"goroutine/count"});
  EXPECT_GE(p.duration_ns, 100'000'000u);
  EXPECT_TRUE(with_name(p, "stays").empty());
  const std::vector<profile_sample> more = with_name(p, "comes");
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].values[0], waiting);
}

GO_TEST(profile, of_goroutines_in_a_duration_may_be_below_zero) {
  auto some = std::make_unique<receivers>("goes");
  const read_profile p = difference_by(profile_kind::goroutine, [&] {
    some.reset();
    EXPECT_TRUE(eventually([] { return !is_any_left("goes"); }));
    return [] {};
  });
  const std::vector<profile_sample> fewer = with_name(p, "goes");
  ASSERT_EQ(fewer.size(), 1u);
  EXPECT_EQ(static_cast<std::int64_t>(fewer[0].values[0]), -waiting);
}

GO_TEST(profile, of_no_kind_is_refused) {
  const auto none = static_cast<profile_kind>(77);
  EXPECT_THROW(sley::debug::profile(none), std::invalid_argument);
  EXPECT_THROW(sley::debug::profile_text(none), std::invalid_argument);
  EXPECT_THROW(sley::debug::delta_profile(none, 1ms), std::invalid_argument);
}

GO_TEST(profile, functions_have_names_by_their_addresses) {
  EXPECT_EQ(sley::debug::function_name(0), "");
  EXPECT_EQ(sley::debug::function_name(UINTPTR_MAX), "");
  const receivers some("profiled");
  if (!sley_test::has_line_numbers()) return;
  const std::vector<sley::debug::goroutine_info> all = sley::debug::goroutines();
  const auto one = std::ranges::find(all, "profiled", &sley::debug::goroutine_info::name);
  ASSERT_NE(one, all.end());
  EXPECT_TRUE(std::ranges::any_of(one->stack, [](std::uintptr_t return_address) {
    return sley::debug::function_name(return_address - 1).find("parks_here") != std::string::npos;
  }));
}
