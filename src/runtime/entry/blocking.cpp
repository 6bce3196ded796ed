// Calls that announce that they may block the thread. The thread keeps its processor when such a
// call begins. If the call takes long, sysmon takes the processor (retake.cpp), or a goroutine
// that comes back from its own call does (hand_off.cpp). From Go's entersyscall and exitsyscall.
//
// During the call the thread has no current machine, so enter() treats it as unknown. If the called
// function uses the library it comes to enter_slow(), which ends the announcement. For the rest of
// the function the goroutine counts as unannounced, and stays on its thread.
#include "runtime/entry/blocking.hpp"

#include <sley/detail/blocking.hpp>

#include "platform/current.hpp"
#include "platform/probes.hpp"
#include "platform/system_call.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/call_places.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/run/attend.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/work.hpp"

#include <utility>

namespace sley {

namespace {

using rt::machine;

// If sysmon sleeps for longer than this while goroutines wait behind this one, it is woken to look.
constexpr std::int64_t moment_ns = 100'000;

[[gnu::noinline]] void ask_for_attention() noexcept {
  if (rt::is_anything_queued() || rt::is_any_batch_waiting()) rt::wake_sysmon();
}

[[gnu::always_inline]] inline void begin(machine* m) noexcept {
  platform::probe_block_begin(m->g->id);
  m->border.begin_call();
  platform::set_calling_machine(m);
  platform::set_current_machine(nullptr);
  if (__builtin_expect(rt::sched.sysmon.delay_ns.load_relaxed() > moment_ns, 0)) {
    ask_for_attention();
  }
}

// False: the border has reasons to attend to.
[[gnu::always_inline]] inline bool end(machine* m) noexcept {
  platform::set_current_machine(m);
  platform::set_calling_machine(nullptr);
  platform::probe_block_end(m->g->id);
  return m->border.end_call();
}

// The processor is gone, or the border has other reasons to attend to.
[[gnu::noinline]] void attend_after_call(machine* m) noexcept {
  const int saved = platform::last_errno();
  m->border.enter();
  rt::leave(rt::attend(m, true));
  platform::set_errno(saved);
}

// Parks until the call may begin, because there is a limit. Returns the machine then.
[[gnu::noinline]] machine* take_place() noexcept {
  const int saved = platform::last_errno();
  {
    const platform::seen seen;
    rt::announced_calls.take();
  }
  platform::set_errno(saved);
  machine* m = rt::current_machine();
  m->has_call_place = true;
  return m;
}

// After the call: the goroutine may be on another machine than in it.
[[gnu::noinline]] void give_place_back() noexcept {
  const platform::seen seen;
  const int saved = platform::last_errno();
  rt::announced_calls.give_back();
  platform::set_errno(saved);
}

inline machine* with_place(machine* m) noexcept {
  return __builtin_expect(rt::announced_calls.are_limited(), 0) ? take_place() : m;
}

// The machine, if it runs a goroutine that is not in an announced call; else null.
inline machine* machine_for_call() noexcept {
  machine* m = rt::current_machine();
  return m == nullptr || m->is_foreign || m->has_left_call ? nullptr : m;
}

}  // namespace

bool rt::leave_call(machine* m) noexcept {
  const platform::unseen unseen;
  m->has_left_call = true;
  ++m->locks;
  return end(m);
}

void detail::begin_blocking() noexcept {
  const platform::unseen unseen;
  if (machine* m = machine_for_call()) {
    begin(with_place(m));
    return;
  }
  machine* m = rt::this_machine();
  if (m != nullptr && !m->is_foreign) ++m->nested_calls;
}

void detail::end_blocking() noexcept {
  platform::passes_order_to_thread();
  const platform::unseen unseen;
  machine* m = rt::this_machine();
  if (m == nullptr || m->is_foreign) return;
  if (m->nested_calls != 0) {
    --m->nested_calls;
    return;
  }
  const bool has_place = std::exchange(m->has_call_place, false);
  if (m->has_left_call) {
    m->has_left_call = false;
    --m->locks;
  } else if (!end(m)) {
    attend_after_call(m);
  }
  if (__builtin_expect(has_place, 0)) give_place_back();
}

long detail::blocking_syscall(long number, const long (&args)[6]) noexcept {
  platform::passes_order_to_thread();
  const platform::unseen unseen;
  machine* m = machine_for_call();
  const auto call = [number, &args] {
    return platform::system_call(number, args[0], args[1], args[2], args[3], args[4], args[5]);
  };
  if (m == nullptr) return call();
  m = with_place(m);
  begin(m);
  const long result = call();
  const bool has_place = std::exchange(m->has_call_place, false);
  if (__builtin_expect(!end(m), 0)) attend_after_call(m);
  if (__builtin_expect(has_place, 0)) give_place_back();
  return result;
}

}  // namespace sley
