// Every goroutine's stack in text, in Go's layout: for fatal errors and SIGQUIT. From Go's
// tracebackothers and printCreatedBy.
//
// The scheduler is halted first, as well as that goes in a broken process.
#include "runtime/dump.hpp"

#include "base/check.hpp"
#include "base/peek.hpp"
#include "base/print.hpp"
#include "platform/interrupt.hpp"
#include "platform/os.hpp"
#include "platform/sanitizer.hpp"
#include "platform/symbols.hpp"
#include "runtime/records.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/stack_trace.hpp"

#include <string_view>
#include <utility>

namespace sley::rt {

machine* runner_of(const goroutine& g) noexcept {
  if (g.status.get() != parts::status::running) return nullptr;
  for (machine* m = sched.machines.load_acquire("SC-1"); m != nullptr; m = m->next_all) {
    if (base::peek(m->g) == &g) return m;
  }
  return nullptr;
}

namespace {

using base::peek;  // who computes in user code goes on while we look

machine* thread_of(const goroutine* g) noexcept {
  if ((g->needs.load_relaxed() & needs_machine) != 0) return peek(g->bound_to);
  return runner_of(*g);
}

// ---- printing ----

// Frames that say nothing to the author of a goroutine: the runtime's, with all that is inlined
// there, what starts a task, and the standard library's ways to call a function.
bool is_start_of_task(std::string_view function) noexcept {
  return function.starts_with("_ZN4sley6detail8run_task") &&
         function.find("main_task") == std::string_view::npos;
}
bool is_internal(std::string_view function) noexcept {
  if (function.starts_with("sley_goroutine_")) return true;
  for (const std::string_view start : {"_ZN", "_ZNK"}) {
    if (!function.starts_with(start)) continue;
    for (const char* space :
         {"4sley4base", "4sley2rt", "4sley8platform", "4sley4sync", "4sley6detail"}) {
      if (function.substr(start.size()).starts_with(space)) return true;
    }
  }
  return false;
}
bool is_glue(const platform::frame_name& name) noexcept {
  for (const char* part : {"/include/c++/", "/sley/detail/", "/sley/go.hpp"}) {
    if (name.file.find(part) != std::string_view::npos) return true;
  }
  return is_internal(name.function);
}

class printer {
 public:
  printer(int fd, bool may_allocate) noexcept : fd_(fd), may_allocate_(may_allocate) {}
  int fd() const noexcept { return fd_; }

  void print_trace(const stack_trace& trace) noexcept {
    for (int i = 0; i < trace.size; ++i) {
      pc_ = trace.frames[i];
      is_hidden_ = false;
      platform::describe(pc_, &look_whose, this);
      if (!is_hidden_) platform::describe(pc_, &visit_frame, this);
    }
    if (trace.size == stack_trace::most_frames) {
      base::line_writer().text("...additional frames elided...\n").flush(fd_);
    }
  }

  // Where a goroutine was started: the innermost function there that is not the library's own.
  void print_creator(const goroutine* g) noexcept {
    if (g->created_at == nullptr) return;
    creator_of_ = g;
    pc_ = reinterpret_cast<std::uintptr_t>(g->created_at);
    platform::describe(pc_, &visit_creator, this);
  }

 private:
  static void look_whose(void* arg, const platform::frame_name& name) {
    if (name.is_inlined) return;
    static_cast<printer*>(arg)->is_hidden_ =
        is_internal(name.function) && !is_start_of_task(name.function);
  }

  static void visit_frame(void* arg, const platform::frame_name& name) {
    const auto* self = static_cast<printer*>(arg);
    if (is_glue(name)) return;
    base::line_writer line;
    self->put_name(line, name);
    self->put_place(line, name);
  }

  static void visit_creator(void* arg, const platform::frame_name& name) {
    auto* self = static_cast<printer*>(arg);
    if (self->creator_of_ == nullptr || (name.is_inlined && is_glue(name))) return;
    base::line_writer line;
    line.text("created by ");
    self->put_name(line, name);
    const std::uint64_t id = std::exchange(self->creator_of_, nullptr)->created_by;
    if (id != 0) line.text(" in goroutine ").dec(id);
    self->put_place(line, name);
  }

  void put_name(base::line_writer& line, const platform::frame_name& name) const noexcept {
    char buffer[512];
    line.text(name.function.empty() ? std::string_view("??")
                                    : platform::demangle(name.function, buffer, may_allocate_));
  }

  void put_place(base::line_writer& line, const platform::frame_name& name) const noexcept {
    line.text("\n\t").text(name.file.empty() ? std::string_view("??") : name.file);
    if (name.line != 0) line.text(":").dec(name.line);
    if (name.function_start != 0) line.text(" +").hex(pc_ - name.function_start);
    line.text("\n").flush(fd_);
  }

  int fd_;
  bool may_allocate_;
  std::uintptr_t pc_ = 0;
  bool is_hidden_ = false;  // the frame is the runtime's
  const goroutine* creator_of_ = nullptr;
};

std::string_view state_of(const goroutine* g, const machine* thread) noexcept {
  if (g->status.get() == parts::status::waiting) return peek(g->reason);
  if (thread != nullptr && thread->border.call() != 0) return "syscall";
  return parts::name_of(g->status.get());
}

bool is_locked(const machine* m) noexcept {
  return m != nullptr && peek(m->locks) > (peek(m->has_left_call) ? 1U : 0U);
}

void print_header(const goroutine* g, const machine* thread, int fd) noexcept {
  base::line_writer line;
  line.text("goroutine ").dec(peek(g->id));
  if (!g->name().empty()) line.text(" \"").text(g->name()).text("\"");
  line.text(" [").text(state_of(g, thread));
  if (g->status.get() == parts::status::waiting) {
    const std::uint32_t minutes = (sched.coarse_s.load_relaxed() - g->parked_s.load_relaxed()) / 60;
    if (minutes != 0) line.text(", ").dec(std::uint64_t{minutes}).text(" minutes");
  }
  if (is_locked(thread)) line.text(", locked to thread");
  line.text("]:\n").flush(fd);
}

// What a dump needs, on a stack that is large enough for it.
struct dumper {
  printer out;
  goroutine* first;        // the one that calls; null if none does
  const stack_trace* own;  // its stack
  stack_trace trace = {};

  static void run(void* arg, platform::fiber_state& fiber) {
    auto* self = static_cast<dumper*>(arg);
    if (self->first != nullptr) self->print(self->first, this_machine(), *self->own);
    for (slab* s = first_slab(); s != nullptr; s = s->next) {
      for (goroutine& g : s->records) {
        if (&g != self->first && is_alive(g)) self->look_and_print(&g, fiber);
      }
    }
  }

  void look_and_print(goroutine* g, platform::fiber_state& fiber) noexcept {
    machine* thread = thread_of(g);
    if (thread == nullptr) {
      look_at_waiting(g, fiber, trace);
    } else if (!ask_thread(thread, trace)) {
      trace.size = 0;
    }
    print(g, thread, trace);
  }

  void print(const goroutine* g, const machine* thread, const stack_trace& stack) noexcept {
    print_header(g, thread, out.fd());
    if (stack.size == 0 && thread != nullptr) {
      base::line_writer()
          .text("\tgoroutine running on other thread; stack unavailable\n")
          .flush(out.fd());
    }
    out.print_trace(stack);
    out.print_creator(g);
    base::line_writer().text("\n").flush(out.fd());
  }
};

// All stop at their next entry. Those that compute or block go on.
void halt() noexcept {
  sched.gate.stop();
  for (machine* m = sched.machines.load_acquire("SC-1"); m != nullptr; m = m->next_all) {
    m->border.raise(parts::border::stop);
  }
  const std::int64_t until_ns = platform::monotonic_ns() + answer_within_ns;
  const auto is_at_work = [](const processor& p) {
    const machine* m = p.m.load_acquire("PM-1");
    return m != nullptr && m != this_machine() && !m->border.is_outside();
  };
  const std::uint32_t procs = sched.procs.load_acquire("PC-1");
  for (std::uint32_t i = 0; i < procs && platform::monotonic_ns() < until_ns;) {
    if (is_at_work(sched.processors[i])) {
      platform::sleep_ns(look_for_answer_ns);
    } else {
      ++i;
    }
  }
}

// One of them may hold malloc's lock.
void let_interrupted_go_on(machine* own) noexcept {
  if (own != nullptr) own->border.enter();
  release_interrupted();
  if (own != nullptr) own->border.leave();
}

detail::atomic<std::int32_t> dumping_thread;  // relaxed: a first come, first served

}  // namespace

void dump_all(int fd) noexcept {
  const std::int32_t self = platform::current_thread_id();
  std::int32_t dumping = 0;
  if (!dumping_thread.cas_relaxed(dumping, self)) {
    // The first of several fatal errors is shown to its end, unless it meets the next one itself.
    if (dumping != self) platform::sleep_until_ns(never);
    return;
  }
  halt();
  machine* m = this_machine();
  // Not where it may have happened inside malloc.
  const bool may_allocate = m == nullptr || !m->border.is_inside();
  if (may_allocate) let_interrupted_go_on(m);
  goroutine* g = m != nullptr && m->g != nullptr && !m->g->is_foreign ? m->g : nullptr;
  stack_trace own;
  own.collect();
  base::line_writer().text("\n").flush(fd);
  dumper d{printer(fd, may_allocate), g, &own};
  run_on_large_stack(&dumper::run, &d);
}

namespace {

struct own_stack {
  printer out;
  goroutine* g;
  stack_trace trace;

  static void run(void* arg, platform::fiber_state&) {
    auto* self = static_cast<own_stack*>(arg);
    self->out.print_trace(self->trace);
    self->out.print_creator(self->g);
  }
};

}  // namespace

void dump_this_goroutine(int fd) noexcept {
  machine* m = this_machine();
  print_header(m->g, m, fd);
  std::int32_t dumping = 0;
  if (!dumping_thread.cas_relaxed(dumping, platform::current_thread_id())) return;
  own_stack s{printer(fd, true), m->g, {}};
  s.trace.collect();
  run_on_large_stack(&own_stack::run, &s);
  dumping_thread.store_relaxed(0);
}

namespace {

detail::atomic<bool> was_asked_to_quit;  // relaxed: the note that wakes sysmon orders it

void on_quit() noexcept {
  was_asked_to_quit.store_relaxed(true);
  wake_sysmon();
}

// After a fork() there are no other threads, and what locks they held nobody knows.
void dump_to_stderr() noexcept {
  if (!sched.has_forked.load_relaxed()) dump_all(2);
}

}  // namespace

bool is_dump_requested() noexcept { return was_asked_to_quit.load_relaxed(); }

void serve_dump_requests() noexcept {
  if (!is_dump_requested()) return;
  base::line_writer().text("SIGQUIT: quit\n").flush(2);
  dump_all(2);
  platform::end_process(2);
}

void install_dump_hooks() noexcept {
  base::set_fatal_hook(&dump_to_stderr);
  platform::install_quit_handler(&on_quit);
}

}  // namespace sley::rt
