// The simulation: one thread of the system plays all threads of the library. Each played thread is
// a stack. The player switches between them at the points that <sley/detail/schedule_point.hpp>
// marks and where a thread sleeps. A plan decides which one goes on, and nothing else is left to
// chance. The simulation has its own clock, which stands while a thread can run and jumps when none
// can.
//
// A process is simulated once: its course depends on the plan alone. From "Loom", "Shuttle" and
// FoundationDB's simulator; the priorities are from Burckhardt et al., "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs" (ASPLOS 2010), and the bound on preemptions is from
// Musuvathi and Qadeer, "Iterative Context Bounding" (PLDI 2007).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::platform::simulated {

enum class strategy : std::uint8_t {
  random,      // any thread may go on, at any point
  priorities,  // the thread of the highest priority goes on; at a few points it loses that
  exhaustive,  // as the prefix says, and then the running thread for as long as it can
};

struct choice {
  std::uint8_t options = 0;  // the number of threads to choose from
  std::uint8_t taken = 0;
};

inline constexpr std::size_t most_choices = std::size_t{1} << 14;
inline constexpr std::size_t most_sights = std::size_t{1} << 12;
inline constexpr int most_sight_frames = 24;

// A goroutine passes a point.
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
  bool is_traced = false;               // record which goroutine passes which point
  std::uint32_t depth = 3;              // priorities: they change at one point less than this
  std::uint64_t expected_points = 100;  // priorities: those points lie among this many
  std::uint32_t preemptions = 2;  // exhaustive: at most this many switches from a runnable thread
  std::uint64_t most_steps = 1'000'000;
  std::int64_t step_ns = 0;  // the clock advances this much at each point
  // After this many points without a thread going to sleep the clock jumps all the same, because a
  // thread that looks again and again may wait for a timer.
  std::uint64_t points_to_jump = 1000;
  std::uint32_t prefix_size = 0;  // exhaustive: of the journal's choices
};

enum class ending : std::uint8_t { unknown, all_asleep, too_many_steps };

// The outcome, in memory that outlives the process.
struct journal {
  std::uint64_t steps = 0;   // points of every kind
  std::uint64_t points = 0;  // points at which the plan might have picked another thread
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
