// The samples of a CPU profile: what a thread ran when an interval of its CPU time was over.
#pragma once

#include "parts/event_ring.hpp"
#include "platform/cpu_timer.hpp"
#include "platform/unseen.hpp"
#include "runtime/state/goroutine.hpp"

#include <sley/detail/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sley::debug {

struct cpu_sample {
  static constexpr std::size_t most_frames = 64;

  std::span<const std::uintptr_t> stack() const noexcept { return {frames, frame_count}; }
  std::string_view name() const noexcept { return {name_bytes, name_size}; }

  std::uint64_t intervals;  // of CPU time that it stands for
  std::size_t frame_count;
  std::size_t name_size;
  std::uintptr_t frames[most_frames];              // return addresses, innermost first
  char name_bytes[rt::goroutine_extra::max_name];  // of the goroutine; none on another stack
  const rt::label_set* labels;                     // likewise, with a reference; or null
};

// A thread, of whatever origin, while it is sampled. Its signal handler is the owner of the ring of
// samples, and the profiler's thread its reader. May be destroyed only once the thread has ended,
// because a signal may come after the timer's end.
class sampled_thread {
 public:
  explicit sampled_thread(std::int32_t thread_id) noexcept : thread_id_(thread_id) {}

  // 0, or an errno value: see cpu_timer::start(). The signal was taken, with take() as the hook.
  int start(std::int64_t interval_ns) noexcept;
  void stop() noexcept { timer_.stop(); }
  bool is_on() const noexcept { return timer_.is_running(); }
  // Calls `read(sample)` for each sample since the last call.
  template <class Read>
  void drain(Read read) {
    platform::takes_order(this);
    samples_.drain(read);
  }

  // The hook of the timers, whose argument is a sampled_thread.
  static void take(void* self, const void* ucontext, std::uint32_t intervals) noexcept;

 private:
  // The profiler's thread looks 20 times a second, and may be late.
  static constexpr std::size_t capacity = 128;

  const std::int32_t thread_id_;
  platform::cpu_timer timer_;
  // Intervals for which there was no place. relaxed: its own thread's handler alone uses it.
  detail::atomic<std::uint64_t> missed_;
  parts::event_ring<cpu_sample, capacity> samples_;
};

}  // namespace sley::debug
