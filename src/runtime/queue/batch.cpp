#include "runtime/queue/batch.hpp"

#include "base/print.hpp"
#include "platform/decisions.hpp"
#include "platform/unseen.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace sley::rt {

namespace {

void complain(int error) noexcept {
  base::line_writer line;
  line.text("sley: SLEYDEBUG=uring=1 ignored: io_uring_setup: ").text(std::strerror(error));
  line.text("\n").flush(2);
}

}  // namespace

void open_batch(processor* p) noexcept {
  const bool is_first = p->id == 0;
  if (is_first ? !debug_options().batches_calls : !sched.batches_calls) return;
  void* place = allocate_permanently(sizeof(platform::call_batch));
  auto* batch = place != nullptr ? ::new (place) platform::call_batch : nullptr;
  const int error = batch != nullptr ? batch->open() : ENOMEM;
  if (error == 0) p->batch = batch;
  if (!is_first) return;
  sched.batches_calls = error == 0;
  if (error != 0) complain(error);
}

namespace {

// Goroutines join where the calls of a processor come in less than this on average.
constexpr std::uint64_t frequent_ns = 20'000;
constexpr std::uint64_t calls_in_mean = 8;  // roughly

// Do calls come often here? The time since the last one counts up to a limit, so a pause is
// forgotten after a call or two.
bool note_call(processor* p) noexcept {
  const std::uint64_t now = platform::cycle_counter();
  const std::uint64_t limit = platform::counter_ticks(frequent_ns);
  const std::uint64_t since =
      std::min(now - std::exchange(p->call_cycles, now), calls_in_mean * limit);
  p->mean_call_cycles += since / calls_in_mean - p->mean_call_cycles / calls_in_mean;
  return p->mean_call_cycles < limit;
}

}  // namespace

bool may_join(const machine* m) noexcept {
  processor* p = m->p;
  if (p == nullptr || p->batch == nullptr || m->locks != 0) return false;
  const bool pays = note_call(p);
  return platform::joins_others(pays) && (has_batch(p) || has_local_work(p)) &&
         !p->batch->is_full();
}

void join(processor* p, joined_call& call) noexcept {
  if (!has_batch(p)) p->batch_from_cycles = platform::cycle_counter();
  p->batch->add(call.call, &call);
  p->batched.store_relaxed(p->batched.load_relaxed() + 1);
}

goroutine_list make_batch(processor* p) noexcept {
  goroutine_list made;
  p->batch->make([&made](void* tag, std::int32_t result) {
    auto* call = static_cast<joined_call*>(tag);
    call->result = result;
    platform::passes_order(&call->g->strand);
    made.push_back(call->g);
  });
  p->batched.store_relaxed(0);
  return made;
}

}  // namespace sley::rt
