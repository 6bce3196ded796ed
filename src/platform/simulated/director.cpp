// The plan's decisions. One thread of the system plays everything, so plain variables suffice.
#include "platform/simulated/director.hpp"

#include <sley/detail/schedule_point.hpp>

#include "base/check.hpp"
#include "base/random.hpp"
#include "platform/decisions.hpp"
#include "platform/unwind/own_process.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace sley::platform::simulated {

namespace {

// Higher than every lowered priority.
constexpr std::uint32_t lowest_first_priority = 1U << 20;
constexpr std::uint32_t most_depth = 32;

constexpr std::uint64_t longest_wait = 20'000;  // steps

constexpr std::uint32_t slice_ends_one_in = 16;
constexpr std::uint32_t moves_one_in = 8;
constexpr std::uint32_t joins_one_in = 2;
constexpr std::uint32_t reserve_changes_one_in = 4;

plan current;
journal own_journal;  // used by a process that no explorer has started
journal* written = &own_journal;
bool is_begun = false;
void* player = nullptr;  // the thread of the system that plays all threads
bool is_playing = false;
bool is_looking = false;
runtime_view view = {};

base::random chance{1};
std::uint32_t steps_to_pause = 0;     // strategy::random
std::uint32_t longest_pause = 1;      // likewise: the most points between two picks
std::uint32_t next_low_priority = 0;  // strategy::priorities
std::array<std::uint64_t, most_depth> change_points = {};
std::size_t changes_done = 0;
std::array<std::uint32_t, 4096> goroutine_priorities = {};  // by id; 0: none yet
std::uint32_t preempted = 0;                                // strategy::exhaustive
std::uint64_t points_without_sleep = 0;
std::int32_t last_thread_id = 1;

bool one_in(std::uint32_t n) noexcept { return chance.below(n) == 0; }

void note(std::uint64_t what) noexcept { written->hash = base::mix(written->hash ^ what); }

// strategy::exhaustive: the choice of the prefix; behind its end the first option.
std::uint32_t choose(std::uint32_t options) noexcept {
  const std::uint32_t i = written->choice_count;
  if (i >= most_choices || options > UINT8_MAX) return 0;
  choice& c = written->choices[i];
  if (i >= current.prefix_size) c.taken = 0;
  c.options = static_cast<std::uint8_t>(options);
  ++written->choice_count;
  SLEY_CHECK(c.taken < options, "simulation: the same choices lead to the same place");
  return c.taken;
}

// A thread inside the runtime goes on first, without a choice, because its work is no step of the
// program. Null if all threads, except perhaps the running one, are at points of the program.
thread* find_helper(std::span<thread*> who) noexcept {
  if (current.at_every_atomic) return nullptr;
  const auto others = who.front() == &self() ? who.subspan(1) : who;
  const auto found = std::ranges::find_if(others, [](const thread* t) { return !t->is_at_point; });
  return found == others.end() ? nullptr : *found;
}

thread* pick_exhaustively(std::span<thread*> who, why reason) noexcept {
  if (thread* helper = find_helper(who)) return helper;
  const bool preempts = reason == why::passes;
  if (preempts && preempted >= current.preemptions) {
    written->is_bounded = true;
    return who.front();
  }
  // A thread that yields goes on only when all others have had a turn.
  const std::size_t first = reason == why::yields ? 1 : 0;
  const std::uint32_t taken = choose(static_cast<std::uint32_t>(who.size() - first));
  if (preempts && taken != 0) ++preempted;
  return who[first + taken];
}

// The goroutine's priority at a point of the program, otherwise the thread's.
std::uint32_t& priority_of(thread& t) noexcept {
  if (!t.is_at_point || t.goroutine >= goroutine_priorities.size()) return t.priority;
  std::uint32_t& priority = goroutine_priorities[t.goroutine];
  if (priority == 0) priority = new_priority();
  return priority;
}

bool is_change_point() noexcept {
  if (changes_done + 1 >= current.depth || written->points < change_points[changes_done]) {
    return false;
  }
  ++changes_done;
  return true;
}

thread* pick_by_priority(std::span<thread*> who, why reason) noexcept {
  if (thread* helper = find_helper(who)) return helper;
  if (reason == why::yields || (reason == why::passes && is_change_point())) {
    priority_of(self()) = --next_low_priority;
  }
  // No machine lets a thread wait for ever.
  for (thread* t : who) {
    if (t == &self() || written->steps - t->left_at < longest_wait) continue;
    priority_of(*t) = new_priority();
    return t;
  }
  return *std::ranges::max_element(
      who, [](thread* a, thread* b) { return priority_of(*a) < priority_of(*b); });
}

thread* pick_by_chance(std::span<thread*> who) noexcept {
  steps_to_pause = chance.below(longest_pause);
  return who[chance.below(static_cast<std::uint32_t>(who.size()))];
}

void note_sight() noexcept {
  sight& s = written->sights[written->sight_count++ % most_sights];
  s.goroutine = view.goroutine();
  s.now_ns = now_ns();
  const own_stack not_known;
  const stack_walk walk(registers_here(), not_known.memory());
  s.size = static_cast<int>(collect_frames(walk, s.frames));
}

// Is the point in the program's own code? Calls of the runtime contain points too.
void look_where(thread& me) noexcept {
  is_looking = true;
  me.is_at_point = view.is_in_user_code != nullptr && view.is_in_user_code();
  if (me.is_at_point) {
    me.goroutine = view.goroutine();
    if (current.is_traced) note_sight();
    if (current.strategy == strategy::random && one_in(slice_ends_one_in)) view.end_slice();
  }
  is_looking = false;
}

// The program has linked the library without an explorer.
void begin_by_environment() noexcept {
  plan p;
  if (const char* text = std::getenv("SLEY_SEED")) p.seed = std::strtoull(text, nullptr, 10);
  p.most_steps = UINT64_MAX;
  begin(p, own_journal);
  start();
}

}  // namespace

thread* pick(std::span<thread*> who, why reason) noexcept {
  if (!is_playing) return reason == why::yields ? who[1] : who.front();
  switch (current.strategy) {
    case strategy::random: return pick_by_chance(who);
    case strategy::priorities: return pick_by_priority(who, reason);
    case strategy::exhaustive: return pick_exhaustively(who, reason);
  }
  return who.front();
}

bool is_pause_due(thread& me) noexcept {
  if (!is_playing || is_looking) return false;
  look_where(me);
  if (!me.is_at_point && !current.at_every_atomic) return false;
  ++written->points;
  ++points_without_sleep;
  if (current.strategy != strategy::random || steps_to_pause == 0) return true;
  --steps_to_pause;
  me.is_at_point = false;
  return false;
}

void note_step(std::uint64_t& steps, std::int64_t& clock_ns) noexcept {
  ++steps;
  clock_ns += current.step_ns;
  if (++written->steps >= current.most_steps && is_playing) {
    give_up(ending::too_many_steps, "simulation: the program does not end");
  }
}

bool is_jump_due() noexcept {
  if (points_without_sleep < current.points_to_jump) return false;
  points_without_sleep = 0;
  return true;
}

void note_sleep() noexcept { points_without_sleep = 0; }

std::uint64_t note_switch(std::int32_t to, std::int64_t clock_ns) noexcept {
  ++written->switches;
  note(static_cast<std::uint64_t>(to));
  note(written->steps);
  note(static_cast<std::uint64_t>(clock_ns));
  return written->steps;
}

std::uint64_t step() noexcept { return written->steps; }

std::int32_t new_thread_id() noexcept {
  if (!is_begun) begin_by_environment();
  return ++last_thread_id;
}

std::uint32_t new_priority() noexcept { return lowest_first_priority + chance.below(1U << 30); }

void give_up(ending how, std::string_view words) noexcept {
  written->ending = how;
  is_playing = false;
  current.most_steps = UINT64_MAX;
  base::fatal(words);
}

void begin(const plan& p, journal& j) noexcept {
  is_begun = true;
  player = __builtin_thread_pointer();
  share_thread_locals();
  current = p;
  written = &j;
  chance = base::random(p.seed);
  if (p.at_every_atomic) {
    // The library must bear a clock that stands, creeps or runs.
    constexpr std::array<std::int64_t, 3> paces = {0, 20, 300};
    current.step_ns = paces[chance.below(paces.size())];
    current.points_to_jump = 3000;
  }
  // Some bugs want many changes and some want few.
  longest_pause = 1U << chance.below(8);
  next_low_priority = lowest_first_priority;
  current.depth = std::clamp(p.depth, 1U, most_depth);
  for (std::uint64_t& at : change_points) {
    at = chance.below(static_cast<std::uint32_t>(std::max<std::uint64_t>(p.expected_points, 1)));
  }
  std::ranges::sort(change_points.begin(), change_points.begin() + current.depth);
  thread& me = self();
  me.id = 1;
  me.priority = new_priority();
}

bool has_begun() noexcept { return is_begun; }

void start() noexcept { is_playing = true; }

void stop() noexcept { is_playing = false; }

std::uint32_t draw_below(std::uint32_t bound) noexcept {
  if (bound < 2) return 0;
  if (!is_playing) return 0;
  return current.strategy == strategy::exhaustive ? choose(bound) : chance.below(bound);
}

void point() noexcept { detail::schedule_point(); }

}  // namespace sley::platform::simulated

namespace sley {

void detail::schedule_point() noexcept {
  using namespace platform::simulated;
  if (!is_begun) return;
  if (player != __builtin_thread_pointer()) {
    base::fatal("simulation: a thread of the program's own uses the library");
  }
  pass_point();
}

void detail::relax_point() noexcept {
  if (!platform::simulated::is_begun) return;
  platform::simulated::pass_point();
  platform::simulated::yield();
}

namespace platform {

std::uint64_t seed() noexcept { return simulated::current.seed; }

bool ends_slice(bool is_over) noexcept {
  using namespace simulated;
  return is_over ||
         (is_playing && current.strategy == strategy::random && one_in(slice_ends_one_in));
}

// Every thread finds the goroutines of the global queue at once, and the plan picks the thread that
// goes on.
bool stays_here() noexcept {
  using namespace simulated;
  if (!is_playing) return true;
  return current.strategy == strategy::random && !one_in(moves_one_in);
}

// sysmon is a thread like any other, and the plan may let it run at any time.
bool stays_in_call() noexcept { return true; }
bool joins_others(bool pays) noexcept {
  using namespace simulated;
  return pays || (is_playing && current.strategy == strategy::random && one_in(joins_one_in));
}
bool wakes_for_nothing() noexcept { return false; }

std::uint32_t kept_in_reserve(std::uint32_t wanted, std::uint32_t procs) noexcept {
  using namespace simulated;
  if (!is_playing || current.strategy != strategy::random) return wanted;
  return one_in(reserve_changes_one_in) ? simulated::draw_below(procs) : wanted;
}

std::uint32_t watched_in(std::uint32_t wanted, std::uint32_t sets) noexcept {
  using namespace simulated;
  if (!is_playing || current.strategy != strategy::random) return wanted;
  return simulated::draw_below(sets);
}

bool is_due(std::uint32_t time, std::uint32_t) noexcept { return time % 2 == 0; }  // runs are short

std::uint32_t draw_below(base::random&, std::uint32_t bound) noexcept {
  return simulated::draw_below(bound);
}

void show_runtime(const runtime_view& v) noexcept { simulated::view = v; }

}  // namespace platform
}  // namespace sley
