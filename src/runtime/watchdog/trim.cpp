// Gives back memory of stacks that is not needed: the pages below the frames of a goroutine that
// has waited for some seconds, and free stacks beyond the recent need. From Go's shrinkstack and
// its scavenger. Where SLEYDEBUG=pageout=N asks for it, the frames themselves go to swap space
// after N seconds.
//
// Only free stacks are trimmed where goroutines that wait can't be held, and where the unwinder
// takes a lock of libc, whose holder may wait for a processor.
#include "runtime/watchdog/trim.hpp"

#include "platform/os.hpp"
#include "platform/unwind/own_process.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/state/hold.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace sley::rt {

namespace {

// After a round that found next to nothing in many records the next ones come at doubled intervals.
constexpr std::uint32_t longest_pause_s = 40;
constexpr std::size_t looks_for_one = 64;
constexpr std::size_t stacks_at_once = 65'536;
constexpr std::size_t trims_at_once = 5'000;

enum class candidate { never, later, now };

// What a goroutine's trimmed_s has after a trim: in the low bits which wait it was, by parked_s
// + 1, and above whether the frames have gone too. Waits that begin 68 years apart have the same
// mark.
constexpr std::uint32_t with_frames = std::uint32_t{1} << 31;
std::uint32_t mark_of_wait(const goroutine& g) noexcept {
  return (g.parked_s.load_relaxed() + 1) & ~with_frames;
}

bool is_trimmed(const goroutine& g) noexcept {  // in this very wait
  return (g.trimmed_s & ~with_frames) == mark_of_wait(g);
}

// Has the goroutine waited long enough for its frames to go?
bool is_cold(const goroutine& g, std::uint32_t now_s) noexcept {
  const std::uint32_t page_out_s = debug_options().page_out_s;
  return page_out_s != 0 && now_s - g.parked_s.load_relaxed() >= page_out_s;
}

// A first look, without any claim on the goroutine.
candidate look_at(const goroutine& g, std::uint32_t now_s) noexcept {
  if (!hold_batch::may_be_held(g)) return candidate::never;
  if (is_trimmed(g)) {
    const bool is_all = debug_options().page_out_s == 0 || (g.trimmed_s & with_frames) != 0;
    if (is_all) return candidate::never;
    return is_cold(g, now_s) ? candidate::now : candidate::later;
  }
  const std::uint32_t waits_s = now_s - g.parked_s.load_relaxed();
  return waits_s < stack_trimmer::wait_at_least_s ? candidate::later : candidate::now;
}

// The page of its stack that the saved stack pointer is in; 0 if it is elsewhere.
std::uintptr_t first_used_page(const goroutine& g) noexcept {
  const std::uintptr_t page = platform::page_bytes();
  const auto used =
      reinterpret_cast<std::uintptr_t>(g.context.stack_pointer) - platform::red_zone_bytes;
  return g.stack->holds(used) ? used / page * page : 0;
}

// The saved stack pointer is no proof: user code may have gone to a stack of its own, which lies
// elsewhere, or in a frame of this one with further frames below it. So where there is anything to
// give back, the frames are looked at.
void give_back(goroutine* g) noexcept {
  const std::uintptr_t end = first_used_page(*g);
  const auto low = reinterpret_cast<std::uintptr_t>(g->stack->low);
  if (end <= low) return;
  if (!platform::is_any_resident(g->stack->low, end - low) || !is_on_own_stack(g)) return;
  platform::discard_memory(g->stack->low, end - low);
}

struct page_range {
  char* start;
  std::size_t bytes;
};

// The pages of its stack that are in use, up to the stack's own record. None if user code has gone
// to a stack of its own.
page_range used_pages(const goroutine& g) noexcept {
  const std::uintptr_t page = platform::page_bytes();
  const std::uintptr_t begin = first_used_page(g);
  if (begin == 0) return {};
  const std::uintptr_t bytes = reinterpret_cast<std::uintptr_t>(g.stack + 1) - begin;
  return {reinterpret_cast<char*>(begin), (bytes + page - 1) / page * page};
}

// Paging out takes microseconds for each page, so no goroutine is held for it. One that runs
// meanwhile gets its pages back as it touches them. If its stack is unmapped meanwhile, the advice
// fails, or is about the pages of another mapping, which come back likewise.
void trim(hold_batch& batch, std::uint32_t now_s) noexcept {
  page_range cold[hold_batch::held_at_once];
  std::size_t cold_count = 0;
  batch.look_at_all([&](goroutine& g, bool is_held) {
    if (!is_held) return;
    if (!is_trimmed(g)) {
      give_back(&g);
      g.trimmed_s = mark_of_wait(g);
    }
    if (!is_cold(g, now_s)) return;
    cold[cold_count++] = used_pages(g);
    g.trimmed_s |= with_frames;
  });
  for (const page_range& r : std::span(cold, cold_count)) {
    if (r.bytes != 0) platform::page_out(r.start, r.bytes);
  }
}

}  // namespace

std::uint32_t stack_trimmer::trim_waiting() noexcept {
  if (!hold_batch::is_possible() || !platform::finds_own_tables_without_lock()) return never_s;
  const std::uint32_t now_s = sched.coarse_s.load_relaxed();
  if (!is_in_round_) {
    if (const std::uint32_t early_s = until_next_round(now_s)) return early_s;
    begin_round(now_s);
  }
  look_at_batch(now_s);
  if (is_in_round_) return 1;
  return found_ != 0 ? std::max(until_next_round(now_s), 1U) : never_s;
}

// The seconds wrap.
std::uint32_t stack_trimmer::until_next_round(std::uint32_t now_s) const noexcept {
  const auto ahead_s = static_cast<std::int32_t>(next_round_s_ - now_s);
  return ahead_s > 0 ? static_cast<std::uint32_t>(ahead_s) : 0;
}

void stack_trimmer::begin_round(std::uint32_t now_s) noexcept {
  slab_ = slabs.newest();
  place_ = 0;
  is_in_round_ = true;
  looks_ = 0;
  found_ = 0;
  // A goroutine that parks after this round has begun has waited long enough in the next.
  next_round_s_ = now_s + wait_at_least_s;
}

void stack_trimmer::end_round() noexcept {
  const bool was_worth_it = found_ * looks_for_one >= looks_;
  pause_s_ = was_worth_it ? wait_at_least_s : std::min(2 * pause_s_, longest_pause_s);
  next_round_s_ += pause_s_ - wait_at_least_s;
}

void stack_trimmer::look_at_batch(std::uint32_t now_s) noexcept {
  std::size_t trims = 0;
  std::size_t looks = 0;
  hold_batch batch;
  while (looks < stacks_at_once && trims < trims_at_once) {
    goroutine* g = next();
    if (g == nullptr) break;
    ++looks;
    const candidate c = look_at(*g, now_s);
    if (c != candidate::never) ++found_;
    if (c != candidate::now) continue;
    batch.add(g);
    ++trims;
    if (batch.is_full()) trim(batch, now_s);
  }
  trim(batch, now_s);
  looks_ += looks;
  if (!is_in_round_) end_round();
}

// Null at the end of a round.
goroutine* stack_trimmer::next() noexcept {
  if (slab_ != nullptr && place_ == slab_records) {
    slab_ = slab_->next;
    place_ = 0;
  }
  is_in_round_ = slab_ != nullptr;
  return is_in_round_ ? &slab_->records[place_++] : nullptr;
}

std::uint32_t stack_trimmer::trim_batch() noexcept {
  const std::uint32_t pause_s = trim_waiting();
  return sched.stacks.trim(trims_at_once) ? pause_s : 1;
}

}  // namespace sley::rt
