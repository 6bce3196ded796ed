// Waiting for events and for the next timer when there is nothing to run. One machine, the poller,
// sleeps until a descriptor is ready or the earliest timer of all processors is due. The other
// machines sleep until they are woken. From the end of Go's findRunnable.
//
// A machine that runs out of local work polls too, without waiting, and so does sysmon when no
// machine has polled for 10 ms. A running machine that polls finds events sooner than a sleeping
// poller, which the kernel would wake for nothing. So while other machines find events, the poller
// dozes: it sleeps among the idle machines, where work may wake it, for 50 us and then longer and
// longer, but never for more than 0.8 ms or beyond a timer. It sleeps in the kernel again when no
// machine has found events meanwhile, or when all others have gone idle. (Without this one
// connection's exchange, tcp_echo_c1, takes 1.75 times as long at two processors.)
//
// It dozes, too, after some events in a row that no goroutine waited for. A descriptor has some
// when it is registered or connected, and when the peer closes, and each of them would wake the
// thread. (Without this tcp_accept takes 1.2 times as long at two processors.)
#include "runtime/source/poll.hpp"

#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "platform/poller.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/source/poll_sets.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/work.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

namespace {

constexpr std::int64_t shortest_doze_ns = 50'000;
constexpr std::int64_t longest_doze_ns = 800'000;  // an event is noticed at most this late
constexpr std::uint32_t doublings = 4;             // from the one to the other
// The poller dozes after this many sleeps in vain, and twice as long after each one more.
constexpr std::uint32_t patience = 4;
static_assert(shortest_doze_ns << doublings == longest_doze_ns);

// Publishes until when the poller sleeps; returns until when it may.
std::int64_t publish_sleep(std::int64_t until_ns) noexcept {
  sched.poller.until_ns.store_relaxed(until_ns);
  detail::heavy_barrier("PL-1");
  // PL-1: a thread that has armed an earlier timer saw the sleep and wakes the poller, or its timer
  // is seen here.
  return std::min(until_ns, earliest_timer());
}

void stop_being_poller() noexcept {
  sched.poller.until_ns.store_relaxed(0);
  sched.poller.role.give_back();
}

// Returns the goroutines that have become runnable.
goroutine_list sleep_as_poller() noexcept {
  const bool has_events = platform::wait_for_events(publish_sleep(earliest_timer()));
  goroutine_list woken = look_at_all_sets();
  std::uint32_t& in_vain = sched.poller.in_vain;
  if (has_events) in_vain = woken.is_empty() ? std::min(in_vain + 1, patience + doublings) : 0;
  stop_being_poller();
  return woken;
}

}  // namespace

// Flat, because it returns after a system call: platform/system_call.hpp.
[[gnu::flatten]] goroutine* poll_now(machine* m) noexcept {
  if (!is_anything_watched()) return nullptr;
  goroutine_list woken = look_at_sets(m);
  if (woken.is_empty()) return nullptr;
  ++m->luck.own;
  sched.poller.finds.add_relaxed(1);
  return ready_all_to_run_first(std::move(woken));
}

namespace {

// Have other machines found events since this machine last asked?
bool have_others_found_events(machine* m) noexcept {
  const std::uint32_t others = sched.poller.finds.load_relaxed() - m->luck.own;
  return std::exchange(m->luck.others, others) != others;
}

bool is_woken_in_vain() noexcept { return sched.poller.in_vain >= patience; }

std::int64_t first_doze_ns() noexcept {
  return shortest_doze_ns << (is_woken_in_vain() ? sched.poller.in_vain - patience : 0);
}

void lie_down_dozing(machine* m) noexcept {
  m->next_p = nullptr;
  detail::lock_guard guard(sched.lock);
  push_idle_machine(m);
  sched.poller.dozing.store_relaxed(m);
}

// False if another thread has taken the machine from the idle ones and is about to wake it.
bool get_up(machine* m, bool was_woken) noexcept {
  detail::lock_guard guard(sched.lock);
  sched.poller.dozing.store_relaxed(nullptr);
  return !was_woken && remove_idle_machine(m);
}

enum class doze_end : std::uint8_t {
  at_deadline,
  called,  // woken to poll
  needed,  // it was given a processor, or must end
};

doze_end doze_once(machine* m, std::int64_t until_ns) noexcept {
  lie_down_dozing(m);
  const std::int64_t deadline_ns = publish_sleep(until_ns);
  // The last machine to go idle after this finds the dozing poller, because it takes the lock too.
  const bool was_woken = m->note.sleep(are_all_idle() ? 0 : deadline_ns);
  if (get_up(m, was_woken)) return doze_end::at_deadline;
  if (!was_woken) m->note.sleep();
  m->note.clear();
  return m->next_p == nullptr && !m->ends ? doze_end::called : doze_end::needed;
}

// Dozes once, and while other machines find events. False if the machine is needed elsewhere.
bool doze(machine* m) noexcept {
  const platform::exact_timers exact;
  look_counts looks;
  are_any_neglected(looks);
  for (std::int64_t ns = first_doze_ns();; ns = std::min(2 * ns, longest_doze_ns)) {
    const doze_end end = doze_once(m, platform::now_ns() + ns);
    if (end == doze_end::needed) return false;
    if (end == doze_end::called || are_all_idle() || !have_others_found_events(m) ||
        are_any_neglected(looks) || earliest_timer() <= platform::now_ns()) {
      return true;
    }
  }
}

}  // namespace

bool sleep_until_needed(machine* m) noexcept {
  const std::int64_t until = earliest_timer();
  if (sched.gate.is_halted() || (until == never && !is_anything_watched())) return stop_m(m);
  // In reserve (WG-3): other machines are busy, and poll when they run out of work. If that or a
  // timer is late, sysmon acts.
  if (sched.gate.available() == 0) return stop_m(m);
  const bool have_others_found = have_others_found_events(m);
  if (!sched.poller.role.try_take()) {
    timer_armed(until);                        // the poller may not know this timer
    if (are_all_idle()) wake_dozing_poller();  // no other machine polls any more
    return stop_m(m);
  }
  const bool is_sleep_vain = have_others_found || is_woken_in_vain();
  if (is_sleep_vain && !are_all_idle() && !doze(m)) {
    stop_being_poller();
    see_to_polling();
    timer_armed(earliest_timer());
    return start_again(m);
  }
  goroutine_list woken = sleep_as_poller();
  const bool has_p = !sched.gate.is_halted() && take_up_search(m);
  ready_all(std::move(woken));
  return has_p || stop_m(m);
}

}  // namespace sley::rt
