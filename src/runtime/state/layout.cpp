#include "runtime/state/layout.hpp"

#include "parts/stack_pool.hpp"
#include "platform/context.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/label_set.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

#include <string_view>

namespace sley::rt {

// Here, and not beside the code that makes them, so that every program that has goroutines has the
// layout as well: a linker takes from an archive only what is asked for.
constinit parts::registry<slab, &slab::next> slabs;

namespace {

// What an outsider reads as a plain word is one.
static_assert(sizeof(slabs) == sizeof(void*) && sizeof(sched.machines) == sizeof(void*) &&
              sizeof(sched.coarse_s) == sizeof(std::uint32_t));
static_assert(sizeof(goroutine::status) == 1 && sizeof(goroutine::reason) == 1 &&
              sizeof(goroutine::needs) == 1 && sizeof(goroutine::is_foreign) == 1);
static_assert(sizeof(goroutine::parked_s) == sizeof(std::uint32_t) &&
              sizeof(goroutine::extra) == sizeof(void*) && sizeof(label_ref) == sizeof(void*) &&
              sizeof(machine::thread_id) == sizeof(std::int32_t));

constexpr void put(char (&to)[layout_text_bytes], std::string_view text) {
  text.copy(to, layout_text_bytes - 1);
}

consteval layout make_layout() {
  layout l = {
      .newest_slab = &slabs,
      .newest_machine = &sched.machines,
      .coarse_s = &sched.coarse_s,

      .bottom_return = &sley_goroutine_started,

      .slab_next = offsetof(slab, next),
      .slab_goroutines = offsetof(slab, records),
      .slab_count = slab_records,
      .goroutine_bytes = sizeof(goroutine),

      .goroutine_id = offsetof(goroutine, id),
      .goroutine_status = offsetof(goroutine, status),
      .goroutine_reason = offsetof(goroutine, reason),
      .goroutine_needs = offsetof(goroutine, needs),
      .goroutine_is_foreign = offsetof(goroutine, is_foreign),
      .goroutine_stack_pointer =
          offsetof(goroutine, context) + offsetof(platform::context, stack_pointer),
      .goroutine_frame_pointer =
          offsetof(goroutine, context) + offsetof(platform::context, frame_pointer),
      .goroutine_pc = offsetof(goroutine, context) + offsetof(platform::context, resume_at),
      .goroutine_stack = offsetof(goroutine, stack),
      .goroutine_waits_for = offsetof(goroutine, waits_for),
      .goroutine_parked_s = offsetof(goroutine, parked_s),
      .goroutine_extra = offsetof(goroutine, extra),
      .goroutine_bound_to = offsetof(goroutine, bound_to),
      .goroutine_created_by = offsetof(goroutine, created_by),
      .goroutine_created_at = offsetof(goroutine, created_at),

      .extra_name = offsetof(goroutine_extra, name_bytes),
      .extra_name_size = offsetof(goroutine_extra, name_size),
      .extra_labels = offsetof(goroutine_extra, passed_on) + offsetof(heritage, labels),
      .labels_bytes = offsetof(label_text, bytes),
      .labels_size = offsetof(label_text, size),
      .stack_low = offsetof(parts::stack, low),
      .stack_top = offsetof(parts::stack, top),

      .machine_next = offsetof(machine, next_all),
      .machine_goroutine = offsetof(machine, g),
      .machine_thread_id = offsetof(machine, thread_id),

      .needs_stack = rt::needs_stack,
      .needs_machine = rt::needs_machine,
  };
  for (std::size_t i = 0; i < statuses; ++i) {
    put(l.status_texts[i], parts::name_of(static_cast<parts::status>(i)));
  }
  for (std::size_t i = 0; i < wait_reasons; ++i) {
    put(l.wait_texts[i], text_of(static_cast<wait>(i)));
  }
  return l;
}

constexpr bool are_texts_whole() {
  for (std::size_t i = 0; i < wait_reasons; ++i) {
    if (std::string_view(text_of(static_cast<wait>(i))).size() >= layout_text_bytes) return false;
  }
  return true;
}
static_assert(are_texts_whole(), "layout_text_bytes is too small");

}  // namespace

}  // namespace sley::rt

extern "C" {
[[gnu::section(".sley_layout"), gnu::used,
  gnu::retain]] constinit const sley::rt::layout sley_layout = sley::rt::make_layout();
}
