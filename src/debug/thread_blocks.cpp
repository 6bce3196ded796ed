#include "debug/thread_blocks.hpp"

#include "debug/code_names.hpp"
#include "debug/frame_text.hpp"
#include "debug/json_objects.hpp"
#include "debug/large_stack.hpp"
#include "debug/profile_message.hpp"
#include "platform/system_call_names.hpp"
#include "runtime/entry/long_blocks.hpp"
#include "runtime/state/thread_block.hpp"

#include <sley/debug.hpp>
#include <sley/go.hpp>
#include <sley/mutex.hpp>
#include <sley/wait_group.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace sley::debug {

namespace {

std::string name_of_call(std::int64_t call) {
  if (call == rt::unknown_call) return "unknown";
  if (call == rt::no_call) return "none";
  if (call == rt::no_sleep) return "preempted";
  const std::string_view name = platform::name_of_system_call(call);
  return name.empty() ? std::to_string(call) : std::string(name);
}

// "12.345 ms"
std::string milliseconds(std::uint64_t ns) {
  constexpr std::uint64_t us = 1000;
  constexpr std::uint64_t ms = 1000 * us;
  const std::string thousandths = std::to_string(ns % ms / us);
  return std::to_string(ns / ms) + '.' + std::string(3 - thousandths.size(), '0') + thousandths +
         " ms";
}

std::string times_as_text(const contention& e) {
  if (e.call == rt::no_sleep) {
    return "# preempted after " + milliseconds(e.delay_ns) + ", beyond its slices for " +
           milliseconds(e.lost_ns) + '\n';
  }
  return "# in " + name_of_call(e.call) + " for " + milliseconds(e.delay_ns) +
         ", with the processor for " + milliseconds(e.lost_ns) + '\n';
}

}  // namespace

std::string thread_block_message(const contentions& events,
                                 std::optional<std::chrono::nanoseconds> duration) {
  std::string result;
  on_large_stack([&] {
    constexpr profile_unit count = {"blocks", "count"};
    // pprof shows the last one if it is not told which.
    profile_message message({count, {"lost", "nanoseconds"}, {"delay", "nanoseconds"}}, count, 1);
    if (duration) message.set_duration(*duration);
    code_names names;
    for (const contention& e : contentions_to_show(events, names)) {
      message.add_sample(stack_to_show(e), std::array{count_of(e), e.lost_ns, e.delay_ns},
                         {{"syscall", name_of_call(e.call)}});
    }
    result = message.complete();
  });
  return result;
}

// The layout is that of Go's profiles of counts, which pprof reads; it skips lines with '#'.
std::string thread_block_text(const contentions& events) {
  std::string text;
  on_large_stack([&] {
    code_names names;
    std::uint64_t total = 0;
    for (const contention& e : contentions_to_show(events, names)) {
      const std::vector<std::uintptr_t> stack = stack_to_show(e);
      total += count_of(e);
      text += std::to_string(count_of(e));
      append_stack(text, stack);
      text += times_as_text(e);
      append_functions(text, stack, names);
      text += '\n';
    }
    text.insert(0, "threadblock profile: total " + std::to_string(total) + '\n');
  });
  return text;
}

// ---- the interface ----

void set_thread_block_profile(bool on) {
  if (on && !rt::thread_block_profile.make_room()) throw std::bad_alloc();
  rt::thread_block_profile.set_rate(on ? 1 : 0);
}

std::vector<thread_block_group> thread_blocks() {
  std::vector<thread_block_group> result;
  on_large_stack([&] {
    code_names names;
    for (contention& e : contentions_to_show(contentions_so_far(rt::thread_block_profile), names)) {
      result.push_back({count_of(e), std::chrono::nanoseconds(e.delay_ns),
                        std::chrono::nanoseconds(e.lost_ns), name_of_call(e.call),
                        std::move(e.stack)});
    }
  });
  return result;
}

std::string thread_blocks_json() {
  const std::vector<thread_block_group> all = thread_blocks();
  std::string text = "{\"groups\":[";
  on_large_stack([&] {
    code_names names;
    json_objects list(text, names);
    for (const thread_block_group& b : all) {
      list.begin();
      list.add("count", b.count);
      list.add("delay_ns", static_cast<std::uint64_t>(b.delay.count()));
      list.add("lost_ns", static_cast<std::uint64_t>(b.lost.count()));
      list.add("system_call", b.system_call);
      list.add_stack("stack", b.stack);
      list.end();
    }
  });
  return text + "]}\n";
}

namespace {

using block_function = std::function<void(const long_thread_block&)>;

long_thread_block told(const rt::long_block& block) {
  const contention e = contention_so_far(rt::thread_block_profile, block.total);
  long_thread_block result = {
      std::chrono::nanoseconds(block.duration_ns), name_of_call(e.call), {}};
  on_large_stack([&] { result.stack = code_names().without_runtimes_own(e.stack); });
  return result;
}

// Calls the function until reports are switched off. Stacks that differ in the runtime's own frames
// alone are one place.
void tell(const block_function& f) {
  std::set<std::pair<std::string, std::vector<std::uintptr_t>>> places;
  rt::long_block block;
  while (rt::next_long_block(block)) {
    const long_thread_block b = told(block);
    if (places.emplace(b.system_call, b.stack).second) f(b);
  }
}

struct block_teller {
  mutex lock;
  wait_group running;  // the goroutine that tells, if there is one
};
// Never destroyed, because goroutines use it until the process is gone.
block_teller& the_teller() {
  static auto* const teller = new block_teller;
  return *teller;
}

}  // namespace

void on_thread_block(time_span threshold, block_function f) {
  const bool is_on = f != nullptr;
  if (is_on && threshold.count() <= 0) {
    throw std::invalid_argument("sley::debug::on_thread_block: the threshold must be positive");
  }
  block_teller& teller = the_teller();
  const std::lock_guard guard(teller.lock);
  rt::report_long_blocks(0);
  teller.running.wait();
  if (!is_on) return;
  set_thread_block_profile(true);
  rt::report_long_blocks(threshold.count());
  teller.running.go([f = std::move(f)] {
    this_goroutine::set_name("sley thread blocks");
    tell(f);
  });
}

}  // namespace sley::debug
