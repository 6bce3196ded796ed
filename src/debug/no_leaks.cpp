// Goroutines that outlive a test. Each guard has a family (state/family.hpp), which goroutines
// inherit. A guard in a goroutine of another guard's family is an inner one, and its family is part
// of the outer guard's as long as the inner guard lives. After that the outer guard does not tell
// what the inner guard has told already.
#include "runtime/state/family.hpp"

#include "base/check.hpp"
#include "debug/goroutine_info.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/entry/snapshot.hpp"

#include <sley/debug.hpp>
#include <sley/go.hpp>
#include <sley/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace sley::debug {

namespace {

struct families {
  mutex guard;
  std::uint64_t last = 0;                         // [lock: guard]
  std::map<std::uint64_t, std::uint64_t> around;  // [lock: guard] of each guard: the outer one's
};

// Never destroyed: guards of static storage may end later.
families& all_families() {
  static families& all = *new families;
  return all;
}

std::uint64_t begin_family(std::uint64_t outer) {
  families& all = all_families();
  const std::lock_guard guard(all.guard);
  all.around.emplace(++all.last, outer);
  return all.last;
}

void end_family(std::uint64_t ended) noexcept {
  families& all = all_families();
  const std::lock_guard guard(all.guard);
  all.around.erase(ended);
}

// Requires the lock.
bool is_within(const families& all, std::uint64_t inner, std::uint64_t outer) {
  while (inner != 0 && inner != outer) {  // ends: an inner one has the larger number
    const auto found = all.around.find(inner);
    inner = found == all.around.end() ? 0 : found->second;
  }
  return inner == outer;
}

std::vector<goroutine_info> members_of(std::uint64_t outer) {
  const rt::snapshot snapshot;
  std::vector<goroutine_info> result;
  families& all = all_families();
  const std::lock_guard guard(all.guard);
  for_each(snapshot, [&](const rt::snapshot::entry& e) {
    const bool is_caller = e.goroutine.id == this_goroutine::id();
    if (!is_caller && is_within(all, e.goroutine.family, outer)) result.push_back(info_of(e));
  });
  std::ranges::sort(result, {}, &goroutine_info::id);
  return result;
}

// The members that do not end in time. Most end at once, or never.
std::vector<goroutine_info> left_of(std::uint64_t outer) {
  using std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds patience = std::chrono::seconds(1);
  constexpr std::chrono::nanoseconds longest_pause = std::chrono::milliseconds(100);
  std::chrono::nanoseconds pause = std::chrono::microseconds(100);
  const auto deadline = steady_clock::now() + patience;
  for (;;) {  // ends at the deadline
    const auto now = steady_clock::now();
    const std::uint64_t joins = rt::joins_of_families();
    std::vector<goroutine_info> left = members_of(outer);
    const bool all_have_ended = left.empty() && rt::joins_of_families() == joins;
    if (all_have_ended || now >= deadline) return left;
    this_goroutine::sleep_for(std::min<std::chrono::nanoseconds>(pause, deadline - now));
    pause = std::min(2 * pause, longest_pause);
  }
}

std::string report_of(std::span<const goroutine_info> left) {
  const std::string subject =
      left.size() == 1 ? "1 goroutine has" : std::to_string(left.size()) + " goroutines have";
  return subject + " not ended:\n\n" + goroutines_text(left);
}

std::uintptr_t caller() noexcept { return reinterpret_cast<std::uintptr_t>(rt::this_machine()->g); }

}  // namespace

no_leaks::no_leaks(handler on_leaks) : on_leaks_(std::move(on_leaks)) {
  if (on_leaks_ == nullptr) throw std::invalid_argument("sley::debug::no_leaks: an empty function");
  rt::leave(rt::enter());  // a thread may use the library here first
  caller_ = caller();
  outer_ = rt::heritage_of_caller().family;
  family_ = begin_family(outer_);
  try {
    rt::set_family_of_caller(family_);
  } catch (...) {
    end_family(family_);
    throw;
  }
}

no_leaks::~no_leaks() {
  if (caller() != caller_) base::fatal("sley: a debug::no_leaks ends in another goroutine");
  rt::set_family_of_caller(outer_);
  const std::vector<goroutine_info> left = left_of(family_);
  end_family(family_);
  if (!left.empty()) on_leaks_(report_of(left));
}

}  // namespace sley::debug
