// Profiles of what there is at one moment or has been so far, for pprof and as text.
#include "debug/code_names.hpp"
#include "debug/contentions.hpp"
#include "debug/frame_text.hpp"
#include "debug/goroutine_groups.hpp"
#include "debug/large_stack.hpp"
#include "debug/profile_message.hpp"
#include "debug/thread_blocks.hpp"
#include "debug/wall_profile.hpp"
#include "runtime/state/thread_block.hpp"
#include "runtime/state/wall_profile.hpp"

#include <sley/debug.hpp>
#include <sley/detail/escape.hpp>
#include <sley/runtime.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

namespace sley::debug {

namespace {

// ---- what is in them ----

// Go's names, which its tools know.
std::string_view name_of(profile_kind kind) {
  switch (kind) {
    case profile_kind::goroutine: return "goroutine";
    case profile_kind::thread_create: return "threadcreate";
    case profile_kind::block: return "contention";
    case profile_kind::mutex: return "mutex";
    case profile_kind::thread_block: return "threadblock";
    case profile_kind::wall: return "wall";
    case profile_kind::goroutine_leak: return "goroutineleak";
  }
  throw std::invalid_argument("sley::debug::profile: no such kind of profile");
}

std::vector<named_group> groups_of(profile_kind kind) {
  if (kind == profile_kind::goroutine) return goroutines_by_name();
  if (kind == profile_kind::goroutine_leak) return leaks_by_name();
  if (kind == profile_kind::thread_create) {
    return {{"", {}, {runtime::read_stats().threads, "", {}}}};
  }
  throw std::invalid_argument("sley::debug::profile: no such kind of profile");
}

// What `after` has more than `before`. A number below zero is in the form that pprof's message has.
std::vector<named_group> groups_between(const std::vector<named_group>& before,
                                        const std::vector<named_group>& after) {
  using key_type =
      std::tuple<std::string, std::vector<label>, std::string, std::vector<std::uintptr_t>>;
  std::map<key_type, std::size_t> counts;
  for (const auto& [name, labels, g] : after) counts[{name, labels, g.state, g.stack}] += g.count;
  for (const auto& [name, labels, g] : before) counts[{name, labels, g.state, g.stack}] -= g.count;
  std::vector<named_group> result;
  for (const auto& [key, count] : counts) {
    const auto& [name, labels, state, stack] = key;
    if (count != 0) result.push_back({name, labels, {count, state, stack}});
  }
  return result;
}

// Null if it is a profile of something else.
rt::contention_profile* contention_profile_of(profile_kind kind) {
  switch (kind) {
    case profile_kind::block: return &rt::block_profile;
    case profile_kind::mutex: return &rt::mutex_profile;
    case profile_kind::thread_block: return &rt::thread_block_profile;
    case profile_kind::wall: return &rt::wall_profile;
    default: return nullptr;
  }
}

void expect_no_time(profile_kind kind) {
  if (kind != profile_kind::wall) return;
  throw std::invalid_argument("sley::debug::profile: delta_profile() takes a wall-clock profile");
}

std::string message_of_waits(profile_kind kind, const contentions& events,
                             std::optional<std::chrono::nanoseconds> duration) {
  if (kind == profile_kind::wall) return wall_message(events, *duration);
  return kind == profile_kind::thread_block ? thread_block_message(events, duration)
                                            : contention_message(events, duration);
}

// ---- as pprof's message ----

std::string message_of(std::string_view name, const std::vector<named_group>& groups,
                       std::optional<std::chrono::nanoseconds> duration) {
  const profile_unit unit = {name, "count"};
  profile_message message({unit}, unit, 1);
  if (duration) message.set_duration(*duration);
  for (const named_group& g : groups) {
    const std::array<std::uint64_t, 1> values = {g.group.count};
    message.add_sample(g.group.stack, values, {{"state", g.group.state}, {"name", g.name}},
                       g.labels);
  }
  return message.complete();
}

// ---- as text ----

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  sley::detail::escape(text, [&](std::string_view piece) {
    for (const char c : piece) result += c == '"' ? std::string("\\\"") : std::string(1, c);
  });
  return result + '"';
}

void append_labels(std::string& to, const named_group& g) {
  if (g.group.state.empty()) return;
  to += "# labels: {";
  for (const label& l : g.labels) to += in_quotes(l.key) + ":" + in_quotes(l.value) + ", ";
  if (!g.name.empty()) to += "\"name\":" + in_quotes(g.name) + ", ";
  to += "\"state\":" + in_quotes(g.group.state) + "}\n";
}

// From Go's printCountProfile.
std::string text_of(std::string_view name, const std::vector<named_group>& groups) {
  std::size_t total = 0;
  for (const named_group& g : groups) total += g.group.count;
  std::string text(name);
  text += " profile: total " + std::to_string(total) + '\n';
  code_names names;
  for (const named_group& g : groups) {
    text += std::to_string(g.group.count);
    append_stack(text, g.group.stack);
    append_labels(text, g);
    append_functions(text, g.group.stack, names);
    text += '\n';
  }
  return text;
}

std::string first_lines_of(profile_kind kind) {
  std::string lines = "--- " + std::string(name_of(kind)) + ":\ncycles/second=1000000000\n";
  if (kind == profile_kind::mutex) {
    lines += "sampling period=" + std::to_string(rt::mutex_profile.rate()) + '\n';
  }
  return lines;
}

std::string count_message(profile_kind kind, const std::vector<named_group>& groups,
                          std::optional<std::chrono::nanoseconds> duration) {
  std::string result;
  on_large_stack([&] { result = message_of(name_of(kind), groups, duration); });
  return result;
}

// ---- what comes in some time ----

// What there is of the kind at a moment, or has been so far.
struct look {
  explicit look(profile_kind kind) {
    if (const rt::contention_profile* p = contention_profile_of(kind)) {
      events = contentions_so_far(*p);
    } else {
      groups = groups_of(kind);
    }
  }

  contentions events;
  std::vector<named_group> groups;
};

std::string message_between(profile_kind kind, const look& before, look after,
                            std::chrono::nanoseconds duration) {
  if (contention_profile_of(kind) == nullptr) {
    return count_message(kind, groups_between(before.groups, after.groups), duration);
  }
  return message_of_waits(kind, contentions_between(before.events, std::move(after.events)),
                          duration);
}

}  // namespace

// ---- the interface ----

std::string profile(profile_kind kind) {
  expect_no_time(kind);
  if (const rt::contention_profile* p = contention_profile_of(kind)) {
    return message_of_waits(kind, contentions_so_far(*p), std::nullopt);
  }
  return count_message(kind, groups_of(kind), std::nullopt);
}

std::string profile_text(profile_kind kind) {
  expect_no_time(kind);
  if (const rt::contention_profile* p = contention_profile_of(kind)) {
    const contentions events = contentions_so_far(*p);
    return kind == profile_kind::thread_block ? thread_block_text(events)
                                              : contention_text(events, first_lines_of(kind));
  }
  const std::string_view name = name_of(kind);
  const std::vector<named_group> groups = groups_of(kind);
  std::string text;
  on_large_stack([&] { text = text_of(name, groups); });
  return text;
}

std::string delta_profile(profile_kind kind, time_span duration, const context& ctx,
                          std::error_code& error) {
  std::optional<wall_profiling> on;
  if (kind == profile_kind::wall) on.emplace();
  const auto begin = std::chrono::steady_clock::now();
  const look before(kind);
  this_goroutine::sleep_for(duration, ctx, error);
  if (error) return {};
  look after(kind);
  on.reset();
  return message_between(kind, before, std::move(after), std::chrono::steady_clock::now() - begin);
}

std::string delta_profile(profile_kind kind, time_span duration, const context& ctx) {
  std::error_code error;
  std::string result = delta_profile(kind, duration, ctx, error);
  if (error) throw std::system_error(error, "sley::debug::delta_profile");
  return result;
}

void set_block_profile_rate(time_span rate) {
  if (rate.count() > 0 && !rt::block_profile.make_room()) throw std::bad_alloc();
  rt::block_profile.set_rate(std::max<std::int64_t>(rate.count(), 0));
}

int set_mutex_profile_fraction(int fraction) {
  const auto before = static_cast<int>(rt::mutex_profile.rate());
  if (fraction < 0) return before;
  if (fraction > 0 && !rt::mutex_profile.make_room()) throw std::bad_alloc();
  rt::mutex_profile.set_rate(fraction);
  return before;
}

std::string function_name(std::uintptr_t address) {
  std::string name;
  on_large_stack([&] {
    code_names names;
    // The last one is the real function; the others are inlined into it.
    for (const code_line& l : names.of(address + 1)) name = l.function;
  });
  return name;
}

}  // namespace sley::debug
