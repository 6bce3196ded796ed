// Starts a goroutine: fills a record with the task and queues it. From Go's newproc and runqput.
#include <sley/go.hpp>

#include "runtime/enter.hpp"
#include "runtime/records.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"
#include "platform/decisions.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

namespace sley {

namespace {

std::unique_ptr<rt::goroutine_extra> extra_of(const go_options* options) {
  if (options == nullptr || (options->name.empty() && options->stack_size == 0)) return nullptr;
  if (options->stack_size > parts::stack_pool::max_bytes) {
    throw std::length_error("sley::go: stack_size is over 64 GiB");
  }
  auto extra = std::make_unique<rt::goroutine_extra>();
  extra->set_name(options->name);
  if (options->stack_size != 0) {
    extra->stack_bytes = std::max(options->stack_size, parts::stack_pool::min_bytes);
  }
  return extra;
}

void fill(rt::goroutine* g, const detail::task_type& type, void* callable) noexcept {
  g->run = type.run;
  if (type.relocate != nullptr) {
    type.relocate(g->task, callable);
  } else {
    std::memcpy(g->task, callable, type.size);
  }
}

}  // namespace

void detail::spawn(const task_type& type, void* callable, const go_options* options) {
  std::unique_ptr<rt::goroutine_extra> extra = extra_of(options);
  rt::machine* m = rt::enter();
  rt::goroutine* g = rt::take_record(m);
  if (g == nullptr) {
    rt::leave(m);
    throw std::bad_alloc();
  }
  fill(g, type, callable);
  g->extra = extra.release();
  g->created_by = m->is_foreign ? 0 : m->g->id;
  g->created_at = __builtin_return_address(0);
  g->id = rt::next_goroutine_id(m);
  rt::start(m, g);
  rt::leave(m);
}

namespace rt {

void start(machine* m, goroutine* g) noexcept {
  g->status.transition(parts::status::idle, parts::status::runnable);
  if (m->p != nullptr) {
    count(m->p->figures.spawned);
  } else {
    sched.spawned.add_relaxed(1);
  }
  run_next(m, g);
  wake_if_needed();
}

namespace {

// The local queue is full: moves its older half and g to the global queue in one batch.
bool spill(processor* p, goroutine* g) noexcept {
  goroutine* older[decltype(p->queue)::half];
  const std::uint32_t n = p->queue.take_half(older);
  if (n == 0) return false;
  goroutine_list batch;
  for (std::uint32_t i = 0; i < n; ++i) batch.push_back(older[i]);
  batch.push_back(g);
  sched.queue.append(std::move(batch));
  return true;
}

}  // namespace

void run_after_those_here(processor* p, goroutine* g) noexcept {
  while (!p->queue.push(g)) {  // ends: a failed spill means that a thief made room
    if (spill(p, g)) return;
  }
}

void run_next(machine* m, goroutine* g) noexcept {
  processor* p = m->p;
  if (p == nullptr || !platform::stays_here()) {
    run_last(g);
    return;
  }
  if (goroutine* displaced = p->next.put(g)) run_after_those_here(p, displaced);
}

void run_last(goroutine* g) noexcept {
  sched.queue.push_back(g);
  wake_if_needed();
}

}  // namespace rt
}  // namespace sley
