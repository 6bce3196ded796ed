// The settings of <sley/runtime.hpp> that can change while goroutines run.
#include <sley/runtime.hpp>

#include "runtime/entry/boot.hpp"
#include "runtime/entry/call_places.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/threads.hpp"
#include "runtime/watchdog/world.hpp"

#include <cstdint>
#include <stdexcept>

namespace sley::runtime {

int set_max_procs(int n) {
  rt::enter();
  rt::resize_request r(n);
  rt::ask_sysmon(r, rt::wait::set_max_procs);
  rt::leave();
  return r.before;
}

int set_max_threads(int n) {
  if (n < 1) throw std::invalid_argument("sley::runtime::set_max_threads: the limit is below 1");
  rt::boot();
  const std::uint32_t before = rt::sched.threads.limit.load_relaxed();
  rt::sched.threads.limit.store_relaxed(static_cast<std::uint32_t>(n));
  rt::check_thread_limit(0);
  return static_cast<int>(before);
}

int set_blocking_limit(int n) {
  if (n < 1) throw std::invalid_argument("sley::runtime::set_blocking_limit: the limit is below 1");
  return rt::announced_calls.set_limit(n);
}

}  // namespace sley::runtime
