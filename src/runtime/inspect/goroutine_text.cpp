// From Go's goroutineheader, traceback and printcreatedby.
#include "runtime/inspect/goroutine_text.hpp"

#include <sley/detail/lock_owner.hpp>

#include "base/peek.hpp"
#include "platform/os.hpp"
#include "platform/symbols.hpp"
#include "runtime/inspect/deep_stack.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/waited.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

using base::peek;  // goroutines in user code go on meanwhile

machine* runner_of(const goroutine& g) noexcept {
  if (g.status.get() != parts::status::running) return nullptr;
  for (machine* m : sched.machines) {
    if (peek(m->g) == &g) return m;
  }
  return nullptr;
}

machine* thread_of(const goroutine& g) noexcept {
  if ((g.needs.load_relaxed() & needs_machine) != 0) return peek(g.bound_to);
  return runner_of(g);
}

bool is_in_call(const machine& thread) noexcept {
  if (thread.border.call() != 0) return true;
  return thread.border.is_outside() && platform::is_thread_asleep(thread.thread_id.load_relaxed());
}

std::string_view state_of(const goroutine& g, const machine* thread) noexcept {
  const parts::status status = g.status.get();
  if (status == parts::status::waiting) return text_of(peek(g.reason));
  if (thread != nullptr && status == parts::status::running && is_in_call(*thread)) {
    return "syscall";
  }
  return parts::name_of(status);
}

namespace {

bool is_locked_to(const machine* m) noexcept {
  return m != nullptr && peek(m->locks) > (peek(m->has_left_call) ? 1U : 0U);
}

// Frames that say nothing to the author of a goroutine: the runtime's, with all functions inlined
// there, the start of a task, and the standard library's ways to call a function.
bool is_start_of_task(std::string_view function) noexcept {
  return function.starts_with("_ZN4sley6detail8run_task") &&
         function.find("main_task") == std::string_view::npos;
}
bool is_internal(std::string_view function) noexcept {
  if (function.starts_with("sley_goroutine_")) return true;
  for (const std::string_view start : {"_ZN", "_ZNK", "_ZZN", "_ZZNK"}) {  // and lambdas there
    if (!function.starts_with(start)) continue;
    for (const char* space :
         {"4sley4base", "4sley2rt", "4sley8platform", "4sley4sync", "4sley6detail"}) {
      if (function.substr(start.size()).starts_with(space)) return true;
    }
  }
  return false;
}
void look_whose(void* is_own, const platform::frame_name& name) {
  if (name.is_inlined) return;
  *static_cast<bool*>(is_own) = is_internal(name.function) && !is_start_of_task(name.function);
}

}  // namespace

bool is_glue(const platform::frame_name& name) noexcept {
  for (const char* part : {"/include/c++/", "/sley/detail/", "/sley/go.hpp"}) {
    if (name.file.find(part) != std::string_view::npos) return true;
  }
  return is_internal(name.function);
}

bool is_creator(const platform::frame_name& name) noexcept {
  const bool is_in_header = name.file.find("/include/sley/") != std::string_view::npos;
  return !name.is_inlined || (!is_in_header && !is_glue(name));
}

bool is_runtimes_own(std::uintptr_t frame, const platform::symbol_source& names) noexcept {
  bool is_own = false;
  names.describe(frame, &look_whose, &is_own);
  return is_own;
}

namespace {

// The goroutine does not run while it is looked at, so it is still in the call that waits for the
// objects, which exist as long as that.
waited_objects objects_of(const goroutine& g) noexcept {
  waited_objects objects;
  const waited what(peek(g.waits_for));
  if (what.selection != nullptr) {
    what.selection->visit_channels([&objects](const detail::chan_core& c) {
      objects.add(reinterpret_cast<std::uintptr_t>(&c));
    });
  } else if (what.object != nullptr) {
    objects.add(reinterpret_cast<std::uintptr_t>(what.object));
    if (is_for_lock(peek(g.reason))) {
      objects.holder = static_cast<const detail::lock_owner*>(what.object)->goroutine();
    }
  }
  return objects;
}

}  // namespace

goroutine_view::goroutine_view(const goroutine& g, const machine* thread) noexcept
    : id(peek(g.id)),
      family(g.family()),
      labels(g.labels()),
      created_by(peek(g.created_by)),
      created_at(reinterpret_cast<std::uintptr_t>(peek(g.created_at))),
      state(state_of(g, thread)),
      is_waiting(g.status.get() == parts::status::waiting),
      is_locked(is_locked_to(thread)),
      has_thread(thread != nullptr) {
  if (is_waiting) {
    minutes = (sched.coarse_s.load_relaxed() - g.parked_s.load_relaxed()) / 60;
    reason = peek(g.reason);
    waits_for = objects_of(g);
  }
  const std::string_view given = g.name();
  name_size = static_cast<std::uint8_t>(given.size());
  std::copy_n(given.data(), given.size(), name_bytes);
}

void goroutine_printer::print(const goroutine_view& g,
                              std::span<const std::uintptr_t> frames) noexcept {
  print_header(g);
  print_stack(g, frames);
}

void goroutine_printer::print_stack(const goroutine_view& g,
                                    std::span<const std::uintptr_t> frames) noexcept {
  if (frames.empty() && g.has_thread) {
    base::line_writer().text("\tgoroutine running on other thread; stack unavailable\n").flush(fd_);
  }
  print_frames(frames);
  print_creator(g);
  base::line_writer().text("\n").flush(fd_);
}

void goroutine_printer::print_header(const goroutine_view& g, std::size_t others) const noexcept {
  base::line_writer line;
  const auto put = [&](std::string_view piece) { line.long_text(piece, fd_); };
  line.text("goroutine ").dec(g.id);
  write_name(g, put);
  if (others != 0) line.text(" and ").dec(std::uint64_t{others}).text(" others");
  line.text(" [").text(g.state);
  if (g.is_leaked) line.text(" (leaked)");
  if (g.minutes != 0) line.text(", ").dec(std::uint64_t{g.minutes}).text(" minutes");
  if (g.is_locked) line.text(", locked to thread");
  line.text("]");
  write_labels(g, put);
  line.long_text(":\n", fd_).flush(fd_);
  if (g.waits_for.count != 0) print_objects(g.waits_for);
}

void goroutine_printer::print_objects(const waited_objects& objects) const noexcept {
  base::line_writer line;
  const char* before = objects.count == 1 ? "\twaits for " : "\twaits for one of ";
  for (const std::uintptr_t address : objects.addresses()) {
    line.text(std::exchange(before, ", ")).hex(address);
    if (const platform::object_name of = names_.name_of_object(address); !of.name.empty()) {
      char buffer[512];
      line.text(" (").text(platform::demangle(of.name, buffer, may_allocate_));
      if (address != of.start) line.text(" +").hex(address - of.start);
      line.text(")");
    }
    line.flush(fd_);
  }
  if (objects.holder != 0) line.text(", held by goroutine ").dec(objects.holder);
  line.text("\n").flush(fd_);
}

void goroutine_printer::print_frames(std::span<const std::uintptr_t> frames) noexcept {
  for (const std::uintptr_t pc : frames) {
    pc_ = pc;
    if (!is_runtimes_own(pc, names_)) names_.describe(pc, &visit_frame, this);
  }
  if (frames.size() == stack_trace::most_frames) {
    base::line_writer().text("...additional frames elided...\n").flush(fd_);
  }
}

void goroutine_printer::print_frames(const deep_stack& stack) noexcept {
  print_frames(stack.innermost());
  base::line_writer line;
  if (stack.is_endless()) {
    line.text("...additional frames elided...\n").flush(fd_);
  } else if (stack.elided() != 0) {
    line.text("...").dec(std::uint64_t{stack.elided()}).text(" frames elided...\n").flush(fd_);
  }
  print_frames(stack.outermost());
}

void goroutine_printer::print_creator(const goroutine_view& g) noexcept {
  if (g.created_at == 0) return;
  creator_of_ = &g;
  pc_ = g.created_at;
  names_.describe(pc_, &visit_creator, this);
}

void goroutine_printer::visit_frame(void* arg, const platform::frame_name& name) {
  const auto* self = static_cast<goroutine_printer*>(arg);
  if (is_glue(name)) return;
  base::line_writer line;
  self->put_name(line, name);
  self->put_place(line, name);
}

void goroutine_printer::visit_creator(void* arg, const platform::frame_name& name) {
  auto* self = static_cast<goroutine_printer*>(arg);
  if (self->creator_of_ == nullptr || !is_creator(name)) return;
  base::line_writer line;
  line.text("created by ");
  self->put_name(line, name);
  const std::uint64_t id = std::exchange(self->creator_of_, nullptr)->created_by;
  if (id != 0) line.text(" in goroutine ").dec(id);
  self->put_place(line, name);
}

void goroutine_printer::put_name(base::line_writer& line,
                                 const platform::frame_name& name) const noexcept {
  char buffer[512];
  line.text(name.function.empty() ? std::string_view("??")
                                  : platform::demangle(name.function, buffer, may_allocate_));
}

void goroutine_printer::put_place(base::line_writer& line,
                                  const platform::frame_name& name) const noexcept {
  line.text("\n\t");
  if (name.function.empty() && name.line == 0) {
    append_address(line, name);
  } else {
    line.text(name.file.empty() ? std::string_view("??") : name.file);
    if (name.line != 0) line.text(":").dec(name.line);
    if (name.function_start != 0) line.text(" +").hex(pc_ - name.function_start);
  }
  line.text("\n").flush(fd_);
}

void append_address(base::line_writer& line, const platform::frame_name& name) noexcept {
  line.text("+").hex(name.address_in_file).text(" in ").text(name.file);
  if (!name.build_id.empty()) line.text(" (build id ").bytes(name.build_id).text(")");
}

}  // namespace sley::rt
