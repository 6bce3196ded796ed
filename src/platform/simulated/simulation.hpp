// The simulation: the whole library on one thread of the system, which plays all its threads. They
// are stacks that it switches between, at the points that <sley/detail/schedule_point.hpp> marks
// and where a thread sleeps; which one goes on is decided by a plan, and nothing else is left to
// chance. The clock is its own: it stands while somebody can run, and jumps when nobody can.
//
// A process is simulated once: what runs in it depends on the plan alone. From "Loom", "Shuttle"
// and FoundationDB's simulator; priorities are those of Burckhardt et al., "A Randomized Scheduler
// with Probabilistic Guarantees of Finding Bugs" (ASPLOS 2010), and the bound on preemptions is
// that of Musuvathi and Qadeer, "Iterative Context Bounding" (PLDI 2007).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::platform::simulated {

enum class strategy : std::uint8_t {
  random,      // any thread may go on, at any point
  priorities,  // the one of highest priority goes on; at a few points it loses it
  exhaustive,  // as the prefix says, and then the same one for as long as it can
};

struct choice {
  std::uint8_t options = 0;  // between so many
  std::uint8_t taken = 0;
};

inline constexpr std::size_t most_choices = std::size_t{1} << 14;
inline constexpr std::size_t most_sights = std::size_t{1} << 12;
inline constexpr int most_sight_frames = 24;

// A goroutine comes by at a point.
struct sight {
  std::uint64_t goroutine = 0;
  std::int64_t now_ns = 0;
  int size = 0;
  std::uintptr_t frames[most_sight_frames];  // innermost first
};

struct plan {
  std::uint64_t seed = 1;
  simulated::strategy strategy = strategy::random;
  bool at_every_atomic = false;         // points within the runtime count as well
  bool is_traced = false;               // write down who comes by where
  std::uint32_t depth = 3;              // priorities: it is lost at one point less than this
  std::uint64_t expected_points = 100;  // priorities: which lie among so many
  std::uint32_t preemptions = 2;  // exhaustive: at most so many times who could go on does not
  std::uint64_t most_steps = 1'000'000;
  std::int64_t step_ns = 0;  // each point takes so long
  // After so many points at which nobody has gone to sleep the clock jumps all the same: who looks
  // again and again may wait for a timer.
  std::uint64_t points_to_jump = 1000;
  std::uint32_t prefix_size = 0;  // exhaustive: of the journal's choices
};

enum class ending : std::uint8_t { unknown, all_asleep, too_many_steps };

// What became of it; in memory that outlives the process.
struct journal {
  std::uint64_t steps = 0;   // points of every kind
  std::uint64_t points = 0;  // of those, where the plan might have picked another
  std::uint64_t switches = 0;
  std::uint64_t hash = 0;  // of all that happened, in its order
  std::uint32_t choice_count = 0;
  bool is_bounded = false;        // exhaustive: more preemptions would have been possible
  std::uint64_t sight_count = 0;  // the last most_sights of them are kept
  simulated::ending ending = ending::unknown;
  choice choices[most_choices];
  sight sights[most_sights];
};

// Before the process uses the library. The journal must stay.
void begin(const plan& p, journal& j) noexcept;
bool has_begun() noexcept;
// The plan holds from here on; before, and after stop(), the same thread goes on while it can.
void start() noexcept;
void stop() noexcept;

// A number of the plan's; 0 to bound - 1.
std::uint32_t draw_below(std::uint32_t bound) noexcept;

// The stack of the thread that is being played.
struct extent {
  void* low = nullptr;
  std::size_t bytes = 0;  // 0: it is the process's own thread
};
extent stack_of_this_thread() noexcept;

// A point in the program itself.
void point() noexcept;

}  // namespace sley::platform::simulated
