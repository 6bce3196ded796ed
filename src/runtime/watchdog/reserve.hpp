// Using fewer processors where there are not enough CPUs for them; see reserve.cpp.
#pragma once

#include "platform/os.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>

namespace sley::rt {

enum class crowding : std::uint8_t { open, none, likely, sure };

// Do machines wait for CPUs? [sysmon]
class cpu_contention {
 public:
  void restart() noexcept;  // forgets all earlier samples
  crowding look(std::int64_t now_ns) noexcept;

 private:
  void add(machine& m) noexcept;

  // Samples of another one are forgotten. The first is that of new machines, so until the first
  // restart a thread counts with its whole life, and a verdict comes sooner.
  std::uint32_t trial_ = 0;
  std::int64_t next_ns_ = 0;
  std::uint32_t first_ = 0;  // the processor to begin with
  platform::cpu_times sum_{0, 0};
  int crowded_ = 0;  // crowded samples in a row
};

// Does all runnable work run soon? [sysmon]
class work_progress {
 public:
  void restart(std::int64_t now_ns) noexcept;
  // Since the last look, has one goroutine run all the time, or has a waiting one not run?
  bool is_any_late(std::int64_t now_ns) noexcept;
  bool has_ended(std::int64_t now_ns) const noexcept;  // no goroutine has run for a while

 private:
  // A processor at the last look.
  struct view {
    std::uint64_t switches = 0;
    const machine* m = nullptr;
    // The CPU time of the machine's thread when the first look found it with the same goroutine.
    std::int64_t ran_ns = unknown;
  };
  static constexpr std::int64_t unknown = -1;

  static bool runs_on(const processor& p, std::uint64_t switches, view& seen) noexcept;
  bool look(std::int64_t now_ns) noexcept;

  std::int64_t looked_at_ns_ = 0;
  std::int64_t moved_at_ns_ = 0;
  std::uint64_t seen_waiting_ = 0;
  view seen_[max_processors];
};

// [sysmon]
class reserve_policy {
 public:
  // Adjusts the reserve. True if it has grown: goroutines and timers may wait for the next look.
  bool adjust(std::int64_t now_ns) noexcept;

 private:
  // The number of processors that should be in reserve now. The others return such a number, too.
  std::uint32_t wanted(std::int64_t now_ns) noexcept;
  std::uint32_t release(std::uint32_t left) noexcept;
  std::uint32_t grow(std::uint32_t reserve, std::int64_t now_ns) noexcept;
  std::uint32_t begin_trial(std::uint32_t reserve, std::int64_t now_ns) noexcept;

  static constexpr std::int64_t shortest_hold_ns = 50'000'000;

  cpu_contention cpus_;
  work_progress work_;
  bool is_trial_ = false;  // the last change was a trial
  std::int64_t hold_until_ns_ = 0;
  std::int64_t hold_ns_ = shortest_hold_ns;
};

}  // namespace sley::rt
