#include "soak/soak.hpp"
#include "support/leak_search.hpp"
#include "support/machine_load.hpp"
#include "support/memory.hpp"
#include "support/threads.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

#include <unistd.h>

using sley_test::eventually;
using sley_test::open_descriptors;
using namespace std::chrono_literals;

namespace soak {
namespace {

// A third of them takes some minutes. The runtime gives back the memory of a round with very many
// goroutines within the next minute.
constexpr std::size_t fewest_samples = 300;

// The figure in the middle of some samples.
template <class Samples, class Figure>
auto median(Samples from, Samples to, Figure figure) {
  std::vector<decltype(figure(*from))> all;
  for (; from != to; ++from) all.push_back(figure(*from));
  const auto middle = all.begin() + std::distance(all.begin(), all.end()) / 2;
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

std::mutex plan_mutex;
std::string current_plan;  // [lock: plan_mutex]

// A thread that the runtime knows nothing of. A second counts as much of it as other processes have
// left of the machine, but a tenth at least.
[[noreturn]] void watch() {
  std::uint64_t seen = counted();
  for (double idle_seconds = 0;;) {
    const sley_test::machine_load load;
    std::this_thread::sleep_for(1s);
    idle_seconds += std::max(0.1, 1 - load.of_others());
    const std::uint64_t now = counted();
    if (now != seen) idle_seconds = 0;
    seen = now;
    if (idle_seconds < 60) continue;
    std::fprintf(stderr, "\nsoak: nothing has been done for a minute in\n%s\n", plan().c_str());
    ::kill(::getpid(), SIGQUIT);
    std::this_thread::sleep_for(20s);
    std::fprintf(stderr, "soak: SIGQUIT has not ended the process\n");
    std::abort();
  }
}

}  // namespace

resources::resources() {
  sley::runtime::set_max_procs(sley::runtime::set_max_procs(most_processors));
  descriptors_ = open_descriptors();
}

void resources::look() {
  const auto is_back = [this] { return open_descriptors() <= descriptors_; };
  EXPECT_TRUE(eventually(is_back))
      << open_descriptors() << " open descriptors instead of " << descriptors_;
  samples_.push_back({sley_test::resident_memory(), sley_test::threads_of_process()});
}

void resources::expect_flat() const {
  if (samples_.size() < fewest_samples) return;
  const auto third = static_cast<std::ptrdiff_t>(samples_.size() / 3);
  const auto middle = samples_.end() - 2 * third;
  const auto last = samples_.end() - third;
  const auto threads = [](const sample& s) { return s.threads; };
  EXPECT_LE(median(last, samples_.end(), threads), median(middle, last, threads) * 11 / 10 + 8);
  if (sley_test::under_sanitizer) return;  // they keep what is freed
  const auto resident = [](const sample& s) { return s.resident_bytes; };
  EXPECT_LE(median(last, samples_.end(), resident),
            median(middle, last, resident) * 21 / 20 + (16 << 20));
}

std::string resources::to_string() const {
  if (samples_.empty()) return "";
  return std::to_string(samples_.back().resident_bytes >> 20) + " MiB, " +
         std::to_string(samples_.back().threads) + " threads, " + std::to_string(descriptors_) +
         " descriptors";
}

void expect_no_leaks() {
  static const bool may_search = sley_test::may_search_for_leaks();
  if (!may_search) return;
  const auto leaked = sley::debug::leaks();
  EXPECT_TRUE(leaked.empty()) << sley::debug::goroutines_text(leaked);
  count(tally::leak_searches);
}

void start_watchdog() { std::thread(watch).detach(); }

void set_plan(const std::string& plan) {
  const std::lock_guard guard(plan_mutex);
  current_plan = plan;
}

std::string plan() {
  const std::lock_guard guard(plan_mutex);
  return current_plan;
}

}  // namespace soak
