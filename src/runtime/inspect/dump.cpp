// Every goroutine's stack in text, in Go's layout: for fatal errors and SIGQUIT. From Go's
// tracebackothers and printCreatedBy.
//
// The scheduler is halted first, as well as that goes in a broken process.
#include "runtime/inspect/dump.hpp"

#include "base/check.hpp"
#include "base/print.hpp"
#include "platform/interrupt.hpp"
#include "platform/os.hpp"
#include "platform/sanitizer.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/inspect/death_record.hpp"
#include "runtime/inspect/last_words.hpp"
#include "runtime/inspect/deep_stack.hpp"
#include "runtime/inspect/stack_groups.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/run/turn.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/label_set.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

namespace {

// The state of a dump, on a stack that is large enough for it.
struct dumper {
  goroutine_printer out;
  goroutine* first;       // the calling goroutine; null if none calls
  const deep_stack* own;  // its stack
  stack_groups groups{count_records()};
  stack_trace trace = {};

  static std::size_t count_records() noexcept {
    std::size_t n = 0;
    for ([[maybe_unused]] const slab* s : slabs) n += slab_records;
    return n;
  }

  static void run(void* arg) {
    auto* self = static_cast<dumper*>(arg);
    if (self->first != nullptr) self->print_first();
    for (slab* s : slabs) {
      for (goroutine& g : s->records) {
        if (&g != self->first && is_alive(g)) self->look_and_print(&g);
      }
    }
    self->groups.print(self->out);
  }

  void print_first() noexcept {
    const goroutine_view view(*first, this_machine());
    out.print_header(view);
    out.print_frames(*own);
    out.print_creator(view);
    base::line_writer().text("\n").flush(out.fd());
  }

  void look_and_print(goroutine* g) noexcept {
    machine* thread = thread_of(*g);
    const goroutine_view view(*g, thread);  // first: the signal ends the call that it is in
    if (thread == nullptr) {
      look_at_waiting(g, trace);
    } else if (!ask_thread(thread, trace)) {
      trace.size = 0;
    }
    if (groups.shows(view, trace.view())) out.print(view, trace.view());
  }
};

// Returns when no snapshot is being taken any more, and after answer_within_ns at the latest.
void wait_for_snapshot() noexcept {
  const std::int64_t until_ns = platform::monotonic_ns() + answer_within_ns;
  while (sched.is_snapshot_taken.load_relaxed() && platform::monotonic_ns() < until_ns) {
    platform::sleep_ns(look_for_answer_ns);
  }
}

// Machines stop at their next entry. Goroutines that compute or block go on until then.
void halt() noexcept {
  sched.gate.stop();
  raise_stop();
  const std::int64_t until_ns = platform::monotonic_ns() + answer_within_ns;
  const auto is_at_work = [](const processor& p) {
    const machine* m = p.m.read();
    return m != nullptr && m != this_machine() && !m->border.is_outside();
  };
  const std::uint32_t procs = sched.procs.read();
  for (std::uint32_t i = 0; i < procs && platform::monotonic_ns() < until_ns;) {
    if (is_at_work(sched.processors[i])) {
      platform::sleep_ns(look_for_answer_ns);
    } else {
      ++i;
    }
  }
}

// A goroutine that a signal has stopped may hold malloc's lock.
void let_interrupted_go_on(machine* own) noexcept {
  if (own != nullptr) own->border.enter();
  release_interrupted();
  if (own != nullptr) own->border.leave();
}

detail::atomic<bool> is_dumping;  // relaxed: the caller alone has the last words

}  // namespace

void dump_all(int fd) noexcept {
  if (is_dumping.load_relaxed()) return;  // an error on the way
  is_dumping.store_relaxed(true);
  keep_all_labels();
  wait_for_snapshot();
  halt();
  machine* m = this_machine();
  // Not if the error may have happened inside malloc.
  const bool may_allocate = m == nullptr || !m->border.is_inside();
  if (may_allocate) let_interrupted_go_on(m);
  goroutine* g = m != nullptr && m->g != nullptr && !m->g->is_foreign ? m->g : nullptr;
  deep_stack own;
  own.collect();
  base::line_writer().text("\n").flush(fd);
  dumper d{.out = goroutine_printer(fd, may_allocate), .first = g, .own = &own};
  run_on_large_stack(&dumper::run, &d);
  write_death_record();
}

namespace {

struct own_dumper {
  goroutine_printer out;
  goroutine_view view;
  deep_stack frames = {};

  static void run(void* arg) {
    auto* self = static_cast<own_dumper*>(arg);
    self->out.print_frames(self->frames);
    self->out.print_creator(self->view);
  }
};

// Prints what is known about the goroutine. False: a dump is under way, and there is no more.
bool begin_own(own_dumper& d) noexcept {
  d.out.print_header(d.view);
  if (is_dumping.load_relaxed()) return false;
  is_dumping.store_relaxed(true);
  return true;
}

void end_own(own_dumper& d) noexcept {
  run_on_large_stack(&own_dumper::run, &d);
  is_dumping.store_relaxed(false);
}

// Without a frame: the whole stack.
void dump_own(goroutine_printer out, const platform::frame_registers* frame) noexcept {
  machine* m = this_machine();
  own_dumper d{.out = out, .view = goroutine_view(*m->g, m)};
  if (!begin_own(d)) return;
  if (frame != nullptr) {
    d.frames.collect_from(*frame);
  } else {
    d.frames.collect();
  }
  end_own(d);
}

// A report of a sanitizer has shown the stack, and calls the goroutine by the number of its thread.
void name_after_report(const char*) noexcept {
  machine* m = this_machine();
  if (m == nullptr || m->g == nullptr || m->g->is_foreign) return;
  base::line_writer().text("sley: the report above is of\n").flush(2);
  own_dumper d{.out = goroutine_printer(2, false), .view = goroutine_view(*m->g, m)};
  if (begin_own(d)) end_own(d);
}

}  // namespace

void dump_this_goroutine(int fd) noexcept { dump_own(goroutine_printer(fd, true), nullptr); }

void dump_this_goroutine_from(int fd, const platform::frame_registers& frame) noexcept {
  dump_own(goroutine_printer(fd, false), &frame);
}

namespace {

constexpr int quit_status = 2;

detail::atomic<bool> was_asked_to_quit;  // relaxed: the note that wakes sysmon orders it

// In the child of a fork there is no sysmon.
void on_quit() noexcept {
  if (sched.has_forked.load_relaxed()) base::end_process(quit_status);
  announce_last_words();
  was_asked_to_quit.store_relaxed(true);
  wake_sysmon();
}

// After a fork() there are no other threads, and they may have held any lock.
void dump_to_stderr() noexcept {
  if (!sched.has_forked.load_relaxed()) dump_all(2);
}

}  // namespace

bool is_dump_requested() noexcept { return was_asked_to_quit.load_relaxed(); }

void serve_dump_requests() noexcept {
  if (!is_dump_requested() || !try_begin_last_words()) return;
  base::line_writer().text("SIGQUIT: quit\n").flush(2);
  dump_all(2);
  base::end_process(quit_status);
}

void install_dump_hooks() noexcept {
  base::set_fatal_hooks(&begin_last_words, &dump_to_stderr);
  platform::install_quit_handler(&on_quit);
  platform::call_after_reports(&name_after_report);
}

}  // namespace sley::rt
