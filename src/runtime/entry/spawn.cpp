// Starts a goroutine: fills a record with the task and queues it. From Go's newproc and runqput.
#include <sley/go.hpp>

#include "platform/decisions.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/state/family.hpp"
#include "runtime/state/records.hpp"

#include <algorithm>
#include <cstdint>
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

// So that the goroutine which is started has the caller's heritage. Outside for a moment, because
// malloc takes locks of libc.
[[gnu::noinline]] rt::machine* inherit(rt::machine* m,
                                       std::unique_ptr<rt::goroutine_extra>& extra) {
  rt::leave(m);
  if (extra == nullptr) extra = std::make_unique<rt::goroutine_extra>();
  extra->passed_on = rt::heritage_of_caller();
  return rt::enter();
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
  if (__builtin_expect(m->g->has_heritage(), 0)) m = inherit(m, extra);
  rt::goroutine* g = rt::take_record(m);
  if (g == nullptr) {
    rt::leave(m);
    throw std::bad_alloc();
  }
  fill(g, type, callable);
  g->extra.store_release(extra.release(), "EX-1");
  g->created_by = m->is_foreign ? 0 : m->g->id;
  g->created_at = __builtin_return_address(0);
  g->id = rt::next_goroutine_id(m);
  rt::start(m, g);
  if (__builtin_expect(m->g->own_family() != 0, 0)) rt::count_join();
  rt::leave(m);
}

}  // namespace sley
