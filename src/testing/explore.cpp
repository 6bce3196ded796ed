// Plays a program in many orders, each in a process of its own.
#include <sley/detail/c_text.hpp>
#include <sley/go.hpp>
#include <sley/runtime.hpp>
#include <sley/testing.hpp>

#include "base/check.hpp"
#include "platform/simulated/simulation.hpp"
#include "runtime/state/sched_state.hpp"
#include "testing/player.hpp"
#include "testing/schedule_text.hpp"
#include "testing/seed_text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::testing {

namespace {

using platform::simulated::choice;
using platform::simulated::journal;
using platform::simulated::most_choices;

void check_options(const options& o) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("sley::testing::explore: ") + what);
  };
  require(o.schedules >= 1, "schedules is below 1");
  require(o.procs >= 1 && o.procs <= 256, "procs is not in 1 to 256");
  require(o.depth >= 1 && o.depth <= 32, "depth is not in 1 to 32");
  require(o.preemptions >= 0 && o.preemptions <= 255, "preemptions is not in 0 to 255");
  require(o.max_steps >= 1, "max_steps is below 1");
  require(o.grace.count() >= 0, "grace is below 0");
  require(o.patience >= std::chrono::seconds(1), "patience is below 1 s");
}

platform::simulated::plan make_plan(const options& o) {
  platform::simulated::plan p;
  p.seed = o.seed;
  p.strategy = static_cast<platform::simulated::strategy>(o.strategy);
  p.at_every_atomic = o.every_atomic;
  p.depth = static_cast<std::uint32_t>(o.depth);
  p.most_steps = o.max_steps;
  return p;
}

// The choices of strategy::exhaustive. Those at the end that took the first option name themselves.
std::string to_seed(const journal& j, std::uint32_t preemptions) {
  std::size_t n = j.choice_count;
  while (n > 0 && j.choices[n - 1].taken == 0) --n;
  choices_seed seed{static_cast<std::uint8_t>(preemptions), {}};
  for (std::size_t i = 0; i < n; ++i) seed.choices.push_back(j.choices[i].taken);
  return seed.to_text();
}

[[noreturn]] void throw_no_seed(std::string_view text) {
  throw std::invalid_argument("sley::testing::explore: SLEY_SEED is not a seed: " +
                              detail::quoted(text));
}

// The next order in depth-first search: the last choice that has another option. False: none has.
bool advance(journal& j, platform::simulated::plan& p) noexcept {
  std::uint32_t n = std::min<std::uint32_t>(j.choice_count, most_choices);
  while (n > 0 && j.choices[n - 1].taken + 1 >= j.choices[n - 1].options) --n;
  if (n == 0) return false;
  ++j.choices[n - 1].taken;
  p.prefix_size = n;
  return true;
}

class explorer {
 public:
  explorer(const options& o, const std::function<void()>& f)
      : options_(o), plan_(make_plan(o)), player_(f, o) {}

  report run() {
    if (is_exhaustive()) plan_.preemptions = 0;
    if (options_.strategy == strategy::priorities) measure();
    const char* given = std::getenv("SLEY_SEED");
    if (given != nullptr) {
      take_seed(given);
      play();
    } else {
      while (!play() && result_.schedules < options_.schedules && next()) {
      }
    }
    if (!result_.is_clean() || given != nullptr) write_down();
    return result_;
  }

 private:
  bool is_exhaustive() const noexcept { return options_.strategy == strategy::exhaustive; }

  void take_seed(std::string_view text) {
    if (names_choices(text)) return take_choices(text);
    const auto number = parse_number(text);
    if (!number) throw_no_seed(text);
    plan_.seed = *number;
  }

  void take_choices(std::string_view text) {
    const auto seed = parse_choices(text);
    if (!seed || seed->choices.size() > most_choices) throw_no_seed(text);
    plan_.strategy = platform::simulated::strategy::exhaustive;
    plan_.preemptions = seed->preemptions;
    plan_.prefix_size = static_cast<std::uint32_t>(seed->choices.size());
    journal& j = player_.journal();
    for (std::size_t i = 0; i < seed->choices.size(); ++i) j.choices[i].taken = seed->choices[i];
  }

  // True if the schedule failed.
  bool play() {
    const outcome end = player_.play(plan_);
    const journal& j = player_.journal();
    ++result_.schedules;
    result_.steps = j.steps;
    result_.hash = j.hash;
    result_.kind = end.kind;
    result_.message = end.message;
    result_.seed = plan_.strategy == platform::simulated::strategy::exhaustive
                       ? to_seed(j, plan_.preemptions)
                       : std::to_string(plan_.seed);
    return end.kind != failure::none;
  }

  bool next() noexcept {
    if (!is_exhaustive()) {
      ++plan_.seed;
      return true;
    }
    is_bounded_ = is_bounded_ || player_.journal().is_bounded;
    if (advance(player_.journal(), plan_)) return true;
    result_.is_complete = !is_bounded_ || plan_.preemptions == most_preemptions();
    if (result_.is_complete) return false;
    ++plan_.preemptions;  // orders with few preemptions find most bugs, and come first
    plan_.prefix_size = 0;
    is_bounded_ = false;
    return true;
  }

  std::uint32_t most_preemptions() const noexcept {
    return static_cast<std::uint32_t>(options_.preemptions);
  }

  // The number of points, for strategy::priorities. It has a seed of its own, so that every seed
  // names one schedule.
  void measure() {
    plan_.seed = 0;
    player_.play(plan_);
    plan_.expected_points = player_.journal().points;
    plan_.seed = options_.seed;
  }

  // Plays the schedule once more and records which goroutine passes which point.
  void write_down() {
    plan_.is_traced = true;
    plan_.prefix_size = std::min<std::uint32_t>(player_.journal().choice_count, most_choices);
    const std::uint64_t hash = result_.hash;
    play();
    --result_.schedules;
    result_.schedule = schedule_text(player_.journal());
    if (result_.hash != hash)
      result_.schedule += "(played again, the schedule took another course)\n";
  }

  const options options_;
  platform::simulated::plan plan_;
  player player_;
  bool is_bounded_ = false;  // an order with this many preemptions could have had more
  report result_;
};

std::string_view name_of(failure kind) noexcept {
  switch (kind) {
    case failure::none: return "nothing went wrong";
    case failure::check: return "a check failed";
    case failure::exception: return "an exception was not caught";
    case failure::deadlock: return "deadlock";
    case failure::leak: return "goroutines were left behind";
    case failure::live_lock: return "live-lock";
    case failure::fatal: return "fatal error";
    case failure::data_race: return "data race";
    case failure::crash: return "the process crashed";
    case failure::timeout: return "it took too long";
  }
  return "";
}

}  // namespace

std::string report::to_string() const {
  std::string text(name_of(kind));
  text += " in schedule " + std::to_string(schedules) + ", of " + std::to_string(steps) +
          " points; SLEY_SEED=" + seed + " plays it again\n";
  if (!message.empty()) text += message;
  if (!schedule.empty()) text += "\nwhich thread passed which place, in order:\n" + schedule;
  return text;
}

report explore(const options& o, const std::function<void()>& f) {
  check_options(o);
  if (platform::simulated::has_begun()) {
    throw std::logic_error("sley::testing::explore: the program has used the library before");
  }
  return explorer(o, f).run();
}

void point() noexcept { platform::simulated::point(); }

}  // namespace sley::testing
