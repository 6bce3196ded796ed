// Before the first goroutine: how many processors, how large the stacks, who handles faults.
#include "base/check.hpp"
#include "base/print.hpp"
#include "platform/context.hpp"
#include "platform/fault.hpp"
#include "platform/decisions.hpp"
#include "runtime/options.hpp"
#include "runtime/records.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <new>

namespace sley::rt {

constinit sched_state sched;

namespace {

detail::lock boot_lock;
bool booted = false;  // [lock: boot_lock]

void make_processors(std::uint32_t count) noexcept {
  void* place = allocate_permanently(count * sizeof(processor));
  SLEY_CHECK(place != nullptr, "there is memory for the processors");
  auto* processors = static_cast<processor*>(place);
  const std::uint64_t seed = platform::seed();
  for (std::uint32_t i = count; i-- > 0;) {  // backwards, so that processor 0 is first on the list
    auto* p = ::new (processors + i) processor;
    p->id = i;
    p->random = base::random(seed + i);
    p->next_idle = sched.idle_processors;
    sched.idle_processors = p;
  }
  sched.processors = processors;
  sched.procs = count;
  sched.order.reset(count);
  sched.gate.start(count);
}

}  // namespace

void boot() noexcept {
  detail::lock_guard guard(boot_lock);
  if (booted) return;
  sched.stacks.start(stack_bytes_option());
  make_processors(procs_option());
  platform::set_uncaught_hook(&report_uncaught_exception);
  platform::install_fault_handler(&report_stack_overflow);
  booted = true;
}

}  // namespace sley::rt
