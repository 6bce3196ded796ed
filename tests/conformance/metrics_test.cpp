// debug::metrics(): figures that a test can know are right. debug::metrics_text(): what Prometheus
// reads, by a reader that accepts nothing else.
#include "support/blocking_calls.hpp"
#include "support/exposition.hpp"
#include "support/harness.hpp"

#include <sley/debug.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using sley::chan;
using sley::debug::metric;
using sley::debug::metrics;
using sley::debug::metrics_text;
using sley_test::eventually;
using sley_test::exposition;
using sley_test::go_until_parked;
using sley_test::parse_exposition;

namespace {

constexpr auto counter = metric::kind::counter;
constexpr auto gauge = metric::kind::gauge;
constexpr auto histogram = metric::kind::histogram;

exposition read_now() { return parse_exposition(metrics_text(metrics())); }

double in_state(const char* state) {
  return read_now().value("sley_goroutines_by_state", {{"state", state}});
}

metric gauge_of(double value, std::vector<metric::label> labels = {}) {
  return {"g", "A gauge.", gauge, value, std::move(labels)};
}

metric histogram_of(std::vector<double> bounds, std::vector<std::uint64_t> counts, double sum = 0,
                    std::vector<metric::label> labels = {}) {
  return {"h", "Many.",           histogram,
          0,   std::move(labels), {std::move(bounds), std::move(counts), sum}};
}

void expect_refused(const metric& m) {
  EXPECT_THROW(static_cast<void>(metrics_text({&m, 1})), std::invalid_argument);
}

}  // namespace

GO_TEST(metrics, are_what_the_reader_of_the_format_expects) {
  const exposition seen = read_now();
  EXPECT_EQ(seen.value("sley_goroutines"), sley::runtime::num_goroutines());
  EXPECT_EQ(seen.value("sley_procs"), sley::runtime::max_procs());
  EXPECT_GE(seen.value("sley_spawned_total"), seen.value("sley_goroutines"));
  EXPECT_TRUE(seen.has("sley_build_info"));
}

GO_TEST(metrics, tell_the_goroutines_by_state) {
  const int count = 10;
  const chan<void> ends;
  for (int i = 0; i < count; ++i) go_until_parked([ends] { ends.receive(); });
  EXPECT_TRUE(eventually([] { return in_state("running") == 1; })) << "the caller alone";
  EXPECT_TRUE(eventually([] { return in_state("waiting") >= count; }));
  EXPECT_TRUE(eventually([] { return in_state("syscall") == 0; }));
  ends.close();
}

GO_TEST(metrics, tell_calls_that_block_announced_and_not) {
  const sley_test::byte_pipe announced;
  const sley_test::byte_pipe unannounced;
  sley::wait_group group;
  group.go([&] { sley::blocking([&] { announced.read(); }); });
  group.go([&] { unannounced.read(); });
  EXPECT_TRUE(eventually([] { return in_state("syscall") == 2; }));
  announced.write('a');
  unannounced.write('u');
  group.wait();
  EXPECT_TRUE(eventually([] { return in_state("syscall") == 0; }));
}

// The caller has the only processor, so what it starts stays queued while it reads the figures; if
// its time slice ends meanwhile, it tries again.
GO_TEST(metrics, tell_the_queues) {
  const sley_test::processors one(1);
  const int count = 100;
  EXPECT_TRUE(eventually([] {
    sley::wait_group group;
    for (int i = 0; i < count; ++i) group.go([] {});
    const exposition seen = read_now();
    group.wait();
    const double local = seen.value("sley_local_queue", {{"p", "0"}});
    const double all = local + seen.value("sley_global_queue");
    return local == seen.value("sley_local_queues") && all >= count &&
           all == seen.value("sley_goroutines_by_state", {{"state", "runnable"}});
  }));
}

GO_TEST(metrics, tell_of_the_process) {
  const exposition before = read_now();
  const std::vector<sley_test::byte_pipe> many(50);
  const exposition after = read_now();
  const double more = after.value("process_open_fds") - before.value("process_open_fds");
  EXPECT_NEAR(more, 100, 20) << "the runtime opens and closes some, too";
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(after.value("process_max_fds"), static_cast<double>(limit.rlim_cur));
  EXPECT_GT(after.value("process_threads"), 1);
  EXPECT_GE(after.value("process_cpu_seconds_total"), before.value("process_cpu_seconds_total"));
  EXPECT_GT(after.value("process_resident_memory_bytes"), 0);
  EXPECT_GE(after.value("process_virtual_memory_bytes"),
            after.value("process_resident_memory_bytes"));
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double began = after.value("process_start_time_seconds");
  EXPECT_LE(began, now + 1) << "the kernel counts in hundredths of a second";
  EXPECT_GT(began, now - 24 * 3600) << "no test takes that long";
}

TEST(metrics_text, has_help_and_type_once_and_metrics_of_a_name_together) {
  const std::vector<metric> all = {gauge_of(1, {{"a", "1"}}),
                                   {"c_total", "A counter.", counter, 2},
                                   gauge_of(3, {{"a", "2"}, {"b", ""}})};
  EXPECT_EQ(metrics_text(all),
            "# HELP g A gauge.\n# TYPE g gauge\ng{a=\"1\"} 1\ng{a=\"2\",b=\"\"} 3\n"
            "# HELP c_total A counter.\n# TYPE c_total counter\nc_total 2\n");
  EXPECT_EQ(metrics_text({}), "");
}

TEST(metrics_text, writes_numbers_without_loss) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::map<double, std::string> texts = {{0, "0"},
                                               {-5, "-5"},
                                               {0.1, "0.1"},
                                               {1e6, "1000000"},
                                               {1e15, "1000000000000000"},
                                               {1e300, "1e+300"},
                                               {1e-9, "1e-09"},
                                               {inf, "+Inf"},
                                               {-inf, "-Inf"}};
  for (const auto& [value, text] : texts) {
    const metric m = gauge_of(value);
    EXPECT_TRUE(metrics_text({&m, 1}).ends_with("\ng " + text + "\n")) << text;
  }
  const metric m = gauge_of(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(metrics_text({&m, 1}).ends_with("\ng NaN\n"));
}

TEST(metrics_text, adds_the_ranges_of_a_histogram_up) {
  const metric m = histogram_of({0.001, 1}, {2, 0, 3}, 12.5, {{"a", "b"}});
  EXPECT_EQ(metrics_text({&m, 1}),
            "# HELP h Many.\n# TYPE h histogram\n"
            "h_bucket{a=\"b\",le=\"0.001\"} 2\nh_bucket{a=\"b\",le=\"1\"} 2\n"
            "h_bucket{a=\"b\",le=\"+Inf\"} 5\nh_sum{a=\"b\"} 12.5\nh_count{a=\"b\"} 5\n");
  parse_exposition(metrics_text({&m, 1}));
}

TEST(metrics_text, keeps_every_text_on_its_line) {
  const std::string nasty = "a\\b\"c\nd \xc3\xa4";
  metric m = gauge_of(1, {{"l", nasty}});
  m.help = "two\nlines \\ \xff";
  const std::string text = metrics_text({&m, 1});
  EXPECT_TRUE(text.starts_with("# HELP g two\\nlines \\\\ \\\\xff\n"));
  EXPECT_EQ(parse_exposition(text).value("g", {{"l", nasty}}), 1);
  m = gauge_of(1, {{"l", "\xc3\t\x1b"}});
  EXPECT_EQ(parse_exposition(metrics_text({&m, 1})).value("g", {{"l", "\\xc3\\t\\x1b"}}), 1);
}

TEST(metrics_text, refuses_what_prometheus_would) {
  for (const char* name : {"", "1a", "a b", "a\n", "a-b", "\xc3\xa4", "a{"}) {
    metric m = gauge_of(1);
    m.name = name;
    expect_refused(m);
    expect_refused(gauge_of(1, {{name, "x"}}));
  }
  for (const char* name : {"__name__", "a:b"}) expect_refused(gauge_of(1, {{name, "x"}}));
  expect_refused(gauge_of(1, {{"a", "x"}, {"a", "y"}}));
  expect_refused(histogram_of({1}, {1, 2}, 0, {{"le", "x"}}));
  metric strange = gauge_of(1);
  strange.what = static_cast<metric::kind>(3);
  expect_refused(strange);
}

TEST(metrics_text, refuses_histograms_that_are_none) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  expect_refused(histogram_of({}, {}));
  expect_refused(histogram_of({1}, {1}));
  expect_refused(histogram_of({1}, {1, 2, 3}));
  for (const std::vector<double>& bounds :
       std::vector<std::vector<double>>{{1, 1}, {2, 1}, {1, nan}, {nan, 1}, {1, inf}, {-inf, 1}}) {
    expect_refused(histogram_of(bounds, {1, 2, 3}));
  }
  for (const double bound : {nan, inf, -inf}) expect_refused(histogram_of({bound}, {1, 2}));
  const metric none = histogram_of({}, {7});
  EXPECT_EQ(parse_exposition(metrics_text({&none, 1})).value("h_count"), 7);
}

TEST(metrics_text, refuses_metrics_that_look_alike) {
  const std::vector<metric> same = {gauge_of(1, {{"a", "x"}, {"b", "y"}}),
                                    gauge_of(2, {{"b", "y"}, {"a", "x"}})};
  EXPECT_THROW(static_cast<void>(metrics_text(same)), std::invalid_argument);
  std::vector<metric> kinds = {gauge_of(1, {{"a", "x"}}), gauge_of(2)};
  EXPECT_TRUE(parse_exposition(metrics_text(kinds)).has("g"));
  kinds[1].what = counter;
  EXPECT_THROW(static_cast<void>(metrics_text(kinds)), std::invalid_argument);
}
