#include "debug/contentions.hpp"

#include "debug/frame_text.hpp"
#include "debug/large_stack.hpp"
#include "debug/profile_message.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/thread_block.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace sley::debug {

// Stands in profiles for stacks that there was no place for.
SLEY_API void lost_waits() { asm volatile(""); }
// Stands in profiles for stacks that could not be read.
SLEY_API void unreadable_stack() { asm volatile(""); }

namespace {

using totals = rt::contention_profile::totals;

std::uint32_t size_of(totals& all) {
  const rt::inside guard;
  return all.size();
}

contention event_of(totals& all, std::uint32_t number) {
  parts::stack_total total;
  {
    const rt::inside guard;
    total = all.read(number);
  }
  contention e{total.count, total.amount, total.part, total.kind, {}};
  if (number == totals::lost) {
    e.call = rt::unknown_call;
    e.stack = {reinterpret_cast<std::uintptr_t>(&lost_waits) + 1};
  } else {
    e.stack.assign(total.stack().begin(), total.stack().end());
  }
  return e;
}

}  // namespace

contentions contentions_so_far(const rt::contention_profile& profile) {
  contentions result;
  totals* all = profile.so_far();
  if (all == nullptr) return result;
  const std::uint32_t size = size_of(*all);
  for (std::uint32_t i = 0; i < size; ++i) result.push_back(event_of(*all, i));
  return result;
}

contention contention_so_far(const rt::contention_profile& profile, std::uint32_t number) {
  return event_of(*profile.so_far(), number);
}

contentions contentions_between(const contentions& before, contentions after) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    after[i].count -= before[i].count;
    after[i].delay_ns -= before[i].delay_ns;
    after[i].lost_ns -= before[i].lost_ns;
  }
  return after;
}

contentions contentions_to_show(const contentions& events, code_names& names) {
  std::map<std::pair<std::vector<std::uintptr_t>, std::int64_t>, contention> sums;
  for (const contention& e : events) {
    if (e.count == 0 && e.delay_ns == 0) continue;
    std::vector<std::uintptr_t> stack = names.without_runtimes_own(e.stack);
    contention& sum = sums[{stack, e.call}];
    sum.count += e.count;
    sum.delay_ns += e.delay_ns;
    sum.lost_ns += e.lost_ns;
    sum.call = e.call;
    sum.stack = std::move(stack);
  }
  contentions result;
  for (auto& [place, sum] : sums) result.push_back(std::move(sum));
  std::ranges::sort(result, std::greater(), &contention::delay_ns);
  return result;
}

std::uint64_t count_of(const contention& e) {
  return static_cast<std::uint64_t>(std::llround(e.count));
}

std::vector<std::uintptr_t> stack_to_show(const contention& e) {
  if (!e.stack.empty()) return e.stack;
  return {reinterpret_cast<std::uintptr_t>(&unreadable_stack) + 1};
}

std::string contention_message(const contentions& events,
                               std::optional<std::chrono::nanoseconds> duration) {
  std::string result;
  on_large_stack([&] {
    constexpr profile_unit count = {"contentions", "count"};
    profile_message message({count, {"delay", "nanoseconds"}}, count, 1);
    if (duration) message.set_duration(*duration);
    code_names names;
    for (const contention& e : contentions_to_show(events, names)) {
      message.add_sample(e.stack, std::array{count_of(e), e.delay_ns}, {});
    }
    result = message.complete();
  });
  return result;
}

// From Go's writeProfileInternal. Its unit of time is the processor's cycle, ours the nanosecond.
std::string contention_text(const contentions& events, const std::string& first_lines) {
  std::string text = first_lines;
  on_large_stack([&] {
    code_names names;
    for (const contention& e : contentions_to_show(events, names)) {
      text += std::to_string(e.delay_ns) + ' ' + std::to_string(count_of(e));
      append_stack(text, e.stack);
      append_functions(text, e.stack, names);
    }
  });
  return text;
}

}  // namespace sley::debug
