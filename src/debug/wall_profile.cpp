#include "debug/wall_profile.hpp"

#include "debug/code_names.hpp"
#include "debug/large_stack.hpp"
#include "debug/profile_message.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/label_set.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/wall_profile.hpp"

#include <sley/mutex.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace sley::debug {

// Stands in the profile in front of the place where a goroutine was started.
SLEY_API void not_begun() { asm volatile(""); }

namespace {

void add_user(int count) {
  // Never destroyed, because goroutines use it until the process is gone.
  static auto* const switching = new sley::mutex;
  const std::lock_guard lock(*switching);
  rt::wall_profile.set_rate(rt::wall_profile.rate() + count);
}

std::vector<std::uintptr_t> stack_of(const contention& e) {
  if (rt::plain_wall_kind(e.call) != rt::wall_not_begun) return stack_to_show(e);
  std::vector<std::uintptr_t> stack = {reinterpret_cast<std::uintptr_t>(&not_begun) + 1};
  for (const std::uintptr_t frame : e.stack) stack.push_back(frame);
  return stack;
}

}  // namespace

wall_profiling::wall_profiling() {
  if (!rt::wall_profile.make_room()) throw std::bad_alloc();
  add_user(1);
  const rt::inside guard;
  rt::wake_sysmon();
}

wall_profiling::~wall_profiling() { add_user(-1); }

std::string wall_message(const contentions& events, std::chrono::nanoseconds duration) {
  std::string result;
  on_large_stack([&] {
    constexpr profile_unit wall = {"wall", "nanoseconds"};
    constexpr std::int64_t period_ns = 10'000'000;
    profile_message message({{"samples", "count"}, wall}, wall, period_ns);
    message.set_duration(duration);
    code_names names;
    for (const contention& e : contentions_to_show(events, names)) {
      message.add_sample(stack_of(e), std::array{count_of(e), e.delay_ns},
                         {{"state", rt::text_of_wall_kind(e.call)}},
                         rt::labels_in(rt::labels_of_wall_kind(e.call)));
    }
    result = message.complete();
  });
  return result;
}

}  // namespace sley::debug
