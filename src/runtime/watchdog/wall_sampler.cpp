// The wall-clock profile. Every 10 ms some goroutines are chosen by chance, and each look at one
// stands for the time since the looks before and for as many goroutines as it was chosen from. So
// the sums are, on average, the time that all goroutines have spent at a place. The pauses differ,
// because programs have rhythms of their own. From the idea of fgprof, which stops Go's world and
// looks at all goroutines.
//
// Nothing stops meanwhile. A goroutine that waits is held, one that is asleep in the kernel stays
// there behind the border, and one that runs is asked by a signal: its thread answers when it next
// has a CPU, at the same instruction, and sysmon does not wait for that. A goroutine in a queue is
// held as well, but a machine that has just picked it may not have seen the flag, and runs it once.
// So its stack is copied by the kernel, which can't fault, after the goroutines that wait have been
// looked at, and the copy is thrown away if the goroutine runs then.
//
// A goroutine that has changed its status before it could be looked at is tried again, in the
// status that it was chosen in: a goroutine that often changes would seldom be seen in the status
// that takes longer to look at. After some tries it counts without a stack.
#include "runtime/watchdog/wall_sampler.hpp"

#include "base/peek.hpp"
#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "platform/unwind/own_process.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/state/hold.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/wall_profile.hpp"
#include "runtime/watchdog/preempt.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sley::rt {

namespace {

using base::peek;

constexpr std::int64_t shortest_pause_ns = 5'000'000;
constexpr std::uint32_t more_pause_ns = 10'000'000;  // by chance, less than this
// Where there are more records, some are drawn.
constexpr std::size_t fewest_draws = 256;
constexpr std::size_t most_draws = 4096;
constexpr int most_tries = 4;
// A thread that blocks SIGURG does not answer.
constexpr std::int64_t most_silence_ns = 1'000'000'000;

std::int64_t kind_of(const goroutine& g, parts::status status) noexcept {
  if (status == parts::status::running) return wall_running;
  if (status == parts::status::runnable) return wall_runnable;
  return static_cast<std::int64_t>(peek(g.reason));
}

bool may_hold() noexcept {
  return hold_batch::is_possible() && platform::finds_own_tables_without_lock();
}

// Is it worth a place in a batch?
bool is_at_rest(const goroutine& g, parts::status status) noexcept {
  return g.status.get_acquire() == status && (g.needs.load_relaxed() & ~timed) == 0;
}

bool is_flagged(const goroutine& g) noexcept {
  return (g.needs.load_acquire("TR-1") & ~timed) == held;
}

// With the labels that the goroutine has now. It may not be held after that.
std::int64_t with_labels(std::int64_t kind, goroutine& g) noexcept {
  if (g.extra.load_relaxed() == nullptr) return kind;  // spares the barrier
  const held_extra kept(g);
  return wall_kind_with(kind, labels_while_held(g));
}

bool is_asleep_in_call(const goroutine& g, machine* m) noexcept {
  return g.status.get() == parts::status::running && is_in_call(*m);
}

}  // namespace

// ---- all records ----

std::size_t record_index::update() noexcept {
  slab* newest = slabs.newest();
  std::size_t count = size_;
  for (const slab* s = newest; s != newest_; s = s->next) ++count;
  if (make_room(count)) {
    for (slab* s = newest; s != newest_; s = s->next) slabs_[size_++] = s;
    newest_ = newest;
  }
  return size_ * slab_records;
}

// For that many slabs.
bool record_index::make_room(std::size_t count) noexcept {
  if (count * sizeof(slab*) <= bytes_) return true;
  const std::size_t page = platform::page_bytes();
  const std::size_t bytes = (2 * count * sizeof(slab*) + page - 1) / page * page;
  auto* place = static_cast<slab**>(platform::map_memory(bytes, false));
  if (place == nullptr) return false;
  std::copy_n(slabs_, size_, place);
  if (slabs_ != nullptr) platform::unmap_memory(slabs_, bytes_);
  slabs_ = place;
  bytes_ = bytes;
  return true;
}

// ---- when, and at which goroutines ----

std::int64_t wall_sampler::look(std::int64_t now_ns) noexcept {
  if (!wall_profile.is_on()) {
    looked_ns_ = 0;
    return never;
  }
  if (looked_ns_ == 0) {
    if (due_ns_ == 0) random_ = base::random(platform::seed());
    looked_ns_ = now_ns;
    due_ns_ = now_ns + pause_ns();
  }
  if (now_ns < due_ns_) return due_ns_;
  now_ns_ = now_ns;
  take_answers();
  const auto passed_ns = static_cast<double>(now_ns - std::exchange(looked_ns_, now_ns));
  std::array<chosen, goroutines_at_once> some;
  const std::size_t count = choose(some);
  ns_each_ = static_cast<std::uint64_t>(scale_ * passed_ns);
  look_at_all(std::span(some).first(count));
  due_ns_ = now_ns + pause_ns();
  return due_ns_;
}

std::int64_t wall_sampler::pause_ns() noexcept {
  return shortest_pause_ns + platform::draw_below(random_, more_pause_ns);
}

// How many records are drawn, so that there are goroutines enough among them: records of goroutines
// that have ended stay for new ones.
std::size_t wall_sampler::records_to_draw(std::size_t records) const noexcept {
  const double wanted = 2.0 * goroutines_at_once / std::max(part_alive_, 1.0 / most_draws);
  return std::min({records, most_draws, std::max(fewest_draws, static_cast<std::size_t>(wanted))});
}

// Returns the number of goroutines chosen: all of those found alive, or a part of them by chance.
std::size_t wall_sampler::choose(std::span<chosen> to) noexcept {
  const std::size_t records = records_.update();
  const std::size_t draws = records_to_draw(records);
  std::size_t alive = 0;
  for (std::size_t i = 0; i < draws; ++i) {
    goroutine* g = records_.at(
        draws == records ? i : platform::draw_below(random_, static_cast<std::uint32_t>(records)));
    const parts::status status = g->status.get_acquire();
    if (g->is_foreign || status == parts::status::idle || status == parts::status::dead) continue;
    std::size_t place = alive++;
    if (place >= to.size()) {
      place = platform::draw_below(random_, static_cast<std::uint32_t>(alive));
    }
    if (place < to.size()) to[place] = {g, peek(g->id), status};
  }
  part_alive_ = draws == 0 ? 0 : static_cast<double>(alive) / static_cast<double>(draws);
  const std::size_t count = std::min(alive, to.size());
  if (count != 0) scale_ = part_alive_ * static_cast<double>(records) / static_cast<double>(count);
  return count;
}

// ---- a look ----

void wall_sampler::look_at_all(std::span<chosen> all) noexcept {
  for (int i = 0; i < most_tries; ++i) {
    hold_batch batch;
    chosen* held[goroutines_at_once];
    std::size_t held_count = 0;
    for (const parts::status status : {parts::status::waiting, parts::status::runnable}) {
      for (chosen& c : all) {
        if (c.is_done || c.status != status || !may_hold() || !is_at_rest(*c.g, status)) continue;
        batch.add(c.g);
        held[held_count++] = &c;
      }
    }
    chosen** next = held;
    batch.look_at_all([&](const goroutine& g, bool is_held) {
      chosen* c = *next++;
      c->is_done = is_held ? look_at_held(*c) : is_flagged(g) && look_at_rest(*c);
    });
    for (chosen& c : all) {
      if (!c.is_done && c.g->status.get_acquire() == c.status) c.is_done = look_at(c);
    }
  }
  for (const chosen& c : all) {
    if (!c.is_done && is_alive(*c.g)) add(with_labels(kind_of(*c.g, c.status), *c.g), {});
  }
}

bool wall_sampler::look_at_held(const chosen& c) noexcept {
  if (c.status != parts::status::waiting) return false;
  stack_trace trace;
  look_at_waiting(c.g, trace);
  add(wall_kind_with(kind_of(*c.g, c.status), labels_while_held(*c.g)), trace.view());
  return true;
}

// One that is not held. True: there is no more to do. False: it has changed meanwhile.
bool wall_sampler::look_at(const chosen& c) noexcept {
  if (machine* m = thread_of(*c.g)) {
    return is_asleep_in_call(*c.g, m) ? look_at_blocked(c, m)
                                      : ask(c, m, with_labels(kind_of(*c.g, c.status), *c.g));
  }
  const bool has_begun = (c.g->needs.load_relaxed() & needs_stack) == 0;
  return c.status != parts::status::running && (!has_begun || !may_hold()) && look_at_rest(c);
}

// It has left its thread, and may run again meanwhile.
bool wall_sampler::look_at_rest(const chosen& c) noexcept {
  const goroutine& g = *c.g;
  const auto context_now = [&g] {
    platform::context now;
    now.stack_pointer = peek(g.context.stack_pointer);
    now.frame_pointer = peek(g.context.frame_pointer);
    now.resume_at = peek(g.context.resume_at);
    return now;
  };
  std::int64_t kind = kind_of(g, c.status);
  const platform::context context = context_now();
  stack_trace trace;
  if ((g.needs.load_relaxed() & needs_stack) != 0) {
    kind = wall_not_begun;
    trace.frames[trace.size++] = reinterpret_cast<std::uintptr_t>(peek(g.created_at));
  } else if (platform::finds_own_tables_without_lock()) {
    const platform::stack_copy stack(reinterpret_cast<std::uint64_t>(context.stack_pointer));
    const platform::context after = context_now();
    if (after.stack_pointer != context.stack_pointer || after.resume_at != context.resume_at) {
      return false;
    }
    const platform::stack_walk walk(platform::registers_of(context), stack.memory());
    trace.size = static_cast<int>(platform::collect_frames(walk, trace.frames));
    trace.drop_innermost(1);  // as look_at_waiting()
  }
  kind = with_labels(kind, *c.g);
  if (g.status.get_acquire() != c.status || peek(g.id) != c.id) return false;
  add(kind, trace.view());
  return true;
}

// Its thread sleeps, in an announced call or not. Behind the border it stays in user code.
bool wall_sampler::look_at_blocked(const chosen& c, machine* m) noexcept {
  stack_trace trace;
  const std::uint32_t call = m->border.call();
  const bool may_close = call != 0 || !detail::barriers_are_symmetric;
  if (may_close && platform::finds_own_tables_without_lock()) {
    const bool stays = (call != 0 ? m->border.claim(call) : m->border.close()) && m->g == c.g;
    platform::sleeping_place place;
    if (stays && !look_at_sleeping(c.g, m, trace, place)) trace.size = 0;
    m->border.open();
    if (!stays) return false;
  }
  add(with_labels(wall_in_call, *c.g), trace.view());
  return true;
}

void wall_sampler::add(std::int64_t kind, std::span<const std::uintptr_t> stack) noexcept {
  wall_profile.so_far()->add({.stack = stack, .amount = ns_each_, .kind = kind});
}

// ---- goroutines that run ----

bool wall_sampler::ask(const chosen& c, machine* m, std::int64_t kind) noexcept {
  asked* a = std::ranges::find(asked_, m, &asked::m);
  if (a != std::end(asked_) && a->g == c.g && a->id == c.id) {  // it has not run since
    ++a->looks;
    a->ns += ns_each_;
    return true;
  }
  asked* place = std::ranges::find(asked_, nullptr, &asked::m);
  if (a != std::end(asked_) || place == std::end(asked_)) {
    add(kind, {});
    return true;
  }
  place->g = c.g;
  place->id = c.id;
  place->kind = kind;
  place->looks = 1;
  place->ns = ns_each_;
  place->tries = 0;
  return send(*place, m);
}

// False: the thread is asked already, or has fallen asleep.
bool wall_sampler::send(asked& a, machine* m) noexcept {
  if (!request_trace(m, a.trace)) return false;
  a.m = m;
  a.since_ns = now_ns_;
  ++a.tries;
  // Sleep inside the runtime may be interrupted: no user code notices.
  if (interrupt(m, m->border.is_inside()) || !withdraw_request(m, a.trace)) return true;
  a.m = nullptr;
  return false;
}

void wall_sampler::take_answers() noexcept {
  for (asked& a : asked_) {
    if (a.m == nullptr || !take_answer(a)) continue;
    const bool has_answer = a.trace.of == a.g && peek(a.g->id) == a.id;
    if (!has_answer) a.trace.size = 0;
    wall_profile.so_far()->add({.stack = a.trace.view(),
                                .count = static_cast<double>(a.looks),
                                .amount = a.ns,
                                .kind = a.kind});
  }
}

// Frees the place if there is an answer, or none will come. A thread that had gone on to another
// goroutine is asked again when this one runs.
bool wall_sampler::take_answer(asked& a) noexcept {
  if (!a.trace.is_done.read()) {
    if (now_ns_ - a.since_ns < most_silence_ns || !withdraw_request(a.m, a.trace)) return false;
    a.m = nullptr;
    return true;
  }
  a.m = nullptr;
  if (a.trace.of == a.g || a.tries == most_tries || peek(a.g->id) != a.id) return true;
  machine* m = runner_of(*a.g);
  return m == nullptr || is_in_call(*m) || !send(a, m);
}

}  // namespace sley::rt
