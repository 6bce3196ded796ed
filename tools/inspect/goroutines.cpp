#include "inspect/goroutines.hpp"

#include "inspect/records.hpp"
#include "platform/unwind/own_process.hpp"
#include "platform/unwind/sleeper.hpp"
#include "platform/unwind/walk.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/state/label_set.hpp"
#include "runtime/state/waited.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

namespace sley::inspect {

namespace {

// ---- stacks ----

// The part of a stack that has been read, and the target for all else.
struct stack_copy {
  const target* from;
  std::uint64_t begin = 0;
  std::vector<std::byte> bytes;

  // Valid while this object lives.
  platform::stack_memory memory() const noexcept { return {&read, this}; }
  static bool read(const void* arg, std::uint64_t address, void* to, std::size_t size) noexcept {
    const auto* self = static_cast<const stack_copy*>(arg);
    const std::uint64_t offset = address - self->begin;
    if (offset < self->bytes.size() && size <= self->bytes.size() - offset) {
      std::memcpy(to, self->bytes.data() + offset, size);
      return true;
    }
    return self->from->read(address, to, size);
  }
};

// ---- all ----

class reader {
 public:
  reader(const target& from, std::uint64_t address)
      : from_(from), layout_(from, address), code_(from.code(layout_->bottom_return)) {
    now_s_ = from.get<std::uint32_t>(address_of(layout_->coarse_s));
    std::uint64_t at = from.get<std::uint64_t>(address_of(layout_->newest_machine));
    for (int i = 0; at != 0 && i < most_machines; ++i) {
      const int thread = from.get<std::int32_t>(at + layout_->machine_thread_id);
      if (thread != 0) {
        threads_of_machines_[at] = thread;
        machines_of_goroutines_[from.get<std::uint64_t>(at + layout_->machine_goroutine)] = at;
      }
      at = from.get<std::uint64_t>(at + layout_->machine_next);
    }
  }

  void read_all(std::vector<seen_goroutine>& to) const {
    if (layout_->goroutine_bytes == 0 || layout_->goroutine_bytes > most_bytes ||
        layout_->slab_count > most_bytes) {
      throw failure("sley's layout is damaged");
    }
    const std::uint64_t bytes = layout_->slab_count * layout_->goroutine_bytes;
    std::vector<std::byte> slab(bytes);
    std::uint64_t at = from_.get<std::uint64_t>(address_of(layout_->newest_slab));
    for (int i = 0; at != 0 && i < most_slabs; ++i) {
      const std::uint64_t first = at + layout_->slab_goroutines;
      if (!from_.read(first, slab.data(), bytes)) throw failure("records can't be read");
      for (std::uint64_t offset = 0; offset < bytes; offset += layout_->goroutine_bytes) {
        const record r(layout_, first + offset, slab.data() + offset);
        if (r.is_alive()) to.push_back(look_at(r));
      }
      at = from_.get<std::uint64_t>(at + layout_->slab_next);
    }
  }

 private:
  // The lists of a damaged core may have no end.
  static constexpr int most_machines = 100'000;
  static constexpr int most_slabs = 100'000'000;
  static constexpr std::uint64_t most_bytes = 1 << 16;
  static constexpr std::uint64_t most_stack_bytes = 16 * 1024;
  static constexpr std::uint32_t most_label_bytes = 1 << 16;

  // A goroutine's machine, and the machine's thread.
  struct runner {
    std::uint64_t machine;
    int thread;
  };

  static std::uint64_t address_of(const void* variable) noexcept {
    return reinterpret_cast<std::uint64_t>(variable);
  }

  seen_goroutine look_at(const record& first) const {
    constexpr int tries = 3;
    std::vector<std::byte> before(layout_->goroutine_bytes);
    std::vector<std::byte> after(before.size());
    seen_goroutine seen;
    record r = first;
    for (int i = 0; i < tries; ++i) {
      if (!r.is_at_rest()) break;
      const std::optional<stack_copy> stack = copy_stack(r, before, after);
      if (!stack) break;
      r = record(layout_, r.address(), before.data());
      if (r.is_as(record(layout_, r.address(), after.data())) && r.is_at_rest() && r.is_alive()) {
        seen.view = view_of(r);
        add_selected(r, *stack, seen.view);
        add_extra(r, seen);
        seen.stack = unwind(registers_of(r), *stack);
        return seen;
      }
      r = record(layout_, r.address(), after.data());
    }
    // It runs, or has run again and again; or it has not begun.
    seen.view = view_of(first);
    seen.view.has_thread = first.is_at_rest() || first.status() == "running";
    add_selected(first, {&from_, 0, {}}, seen.view);
    add_extra(first, seen);
    if (const std::optional<runner> by = runner_of(first)) look_at_thread(first, *by, seen);
    return seen;
  }

  void look_at_thread(const record& first, const runner& by, seen_goroutine& seen) const {
    seen.view.has_thread = true;
    if (const auto registers = from_.registers_of(by.thread)) {
      seen.stack = unwind(*registers, {&from_, 0, {}});
      return;
    }
    const auto sleep = from_.sleep_of(by.thread);
    const bool is_in_call =
        sleep ? sleep->at.call != platform::sleeping_place::no_call : from_.is_asleep(by.thread);
    if (is_in_call && first.status() == "running") seen.view.state = "syscall";
    if (sleep) seen.stack = stack_in_kernel(first, by, *sleep);
  }

  std::vector<std::uintptr_t> unwind(const platform::frame_registers& frame,
                                     const stack_copy& stack) const {
    std::vector<std::uintptr_t> frames(rt::stack_trace::most_frames);
    frames.resize(platform::collect_frames({frame, stack.memory(), code_}, frames));
    return frames;
  }

  // The stack of a goroutine whose thread sleeps in the kernel. Empty: the thread has woken
  // meanwhile, or what is known of its registers is not enough.
  std::vector<std::uintptr_t> stack_in_kernel(const record& first, const runner& by,
                                              const thread_sleep& sleep) const {
    std::vector<std::byte> bytes(layout_->goroutine_bytes);
    std::uint64_t runs = 0;
    std::int32_t thread = 0;
    const memory_part parts[] = {{first.address(), bytes.data(), bytes.size()},
                                 {by.machine + layout_->machine_goroutine, &runs, sizeof runs},
                                 {by.machine + layout_->machine_thread_id, &thread, sizeof thread}};
    if (!from_.read(parts)) return {};
    const record r(layout_, first.address(), bytes.data());
    const bool is_its = r.bound_to() == by.machine || (r.bound_to() == 0 && runs == r.address());
    if (r.id() != first.id() || r.status() != first.status() || !is_its || thread != by.thread) {
      return {};
    }
    const platform::address_range stack = bounds_of_stack(r);
    stack_copy copy = room_for_copy(stack, sleep.at.sp);
    if (!from_.read(copy.begin, copy.bytes.data(), copy.bytes.size())) return {};
    std::vector<std::uintptr_t> frames(rt::stack_trace::most_frames);
    frames.resize(platform::collect_sleepers_frames(sleep.at, stack, copy.memory(), frames, code_));
    if (from_.sleep_of(thread) != sleep) frames.clear();
    return frames;
  }

  // Empty: the goroutine has none of its own, or it can't be read.
  platform::address_range bounds_of_stack(const record& r) const {
    platform::address_range bounds;
    const auto stack = r.get<std::uint64_t>(layout_->goroutine_stack);
    const memory_part parts[] = {{stack + layout_->stack_low, &bounds.begin, sizeof bounds.begin},
                                 {stack + layout_->stack_top, &bounds.end, sizeof bounds.end}};
    if (stack == 0 || !from_.read(parts)) return {};
    return bounds;
  }

  // From a stack pointer on, if that is inside.
  stack_copy room_for_copy(platform::address_range stack, std::uint64_t sp) const {
    stack_copy copy{&from_, sp, {}};
    if (stack.holds(sp)) copy.bytes.resize(std::min(stack.end - sp, most_stack_bytes));
    return copy;
  }

  // The stack from its stack pointer on, and the record before and after that, in one system call.
  std::optional<stack_copy> copy_stack(const record& r, std::vector<std::byte>& before,
                                       std::vector<std::byte>& after) const {
    const auto sp = r.get<std::uint64_t>(layout_->goroutine_stack_pointer);
    stack_copy copy = room_for_copy(bounds_of_stack(r), sp);
    const memory_part parts[] = {{r.address(), before.data(), before.size()},
                                 {sp, copy.bytes.data(), copy.bytes.size()},
                                 {r.address(), after.data(), after.size()}};
    if (!from_.read(parts)) return std::nullopt;
    return copy;
  }

  platform::frame_registers registers_of(const record& r) const {
    platform::frame_registers frame;
    frame.set(platform::column_sp, r.get<std::uint64_t>(layout_->goroutine_stack_pointer));
    frame.set(platform::column_frame_pointer,
              r.get<std::uint64_t>(layout_->goroutine_frame_pointer));
    frame.set(platform::column_pc, r.get<std::uint64_t>(layout_->goroutine_pc));
    frame.is_interrupted = true;
    return frame;
  }

  std::optional<runner> runner_of(const record& r) const {
    std::uint64_t machine = r.bound_to();
    if (const auto found = machines_of_goroutines_.find(r.address());
        machine == 0 && r.status() == "running" && found != machines_of_goroutines_.end()) {
      machine = found->second;
    }
    const auto found = threads_of_machines_.find(machine);
    if (found == threads_of_machines_.end()) return std::nullopt;
    return runner{machine, found->second};
  }

  rt::goroutine_view view_of(const record& r) const {
    rt::goroutine_view view;
    view.id = r.id();
    view.created_by = r.get<std::uint64_t>(layout_->goroutine_created_by);
    view.created_at = r.get<std::uint64_t>(layout_->goroutine_created_at);
    view.state = r.status();
    if (view.state == "waiting") {
      view.is_waiting = true;
      view.state = layout_.wait(r.get<std::uint8_t>(layout_->goroutine_reason));
      view.minutes = (now_s_ - r.get<std::uint32_t>(layout_->goroutine_parked_s)) / 60;
      if (const void* object = waited_of(r).object) view.waits_for.add(address_of(object));
    }
    return view;
  }

  rt::waited waited_of(const record& r) const {
    return rt::waited(r.get<const void*>(layout_->goroutine_waits_for));
  }

  // The channels of the select in which it waits, unless it goes on meanwhile.
  void add_selected(const record& r, const stack_copy& stack, rt::goroutine_view& to) const {
    const rt::selected* selection = waited_of(r).selection;
    if (!to.is_waiting || selection == nullptr) return;
    rt::selected of{};
    if (!stack_copy::read(&stack, address_of(selection), &of, sizeof of)) return;
    rt::waited_objects channels;
    for (std::size_t i = 0; i < of.count && channels.count < channels.most_shown; ++i) {
      sley::detail::select_case one{};
      if (!stack_copy::read(&stack, address_of(of.cases + i), &one, sizeof one)) return;
      if (one.channel != nullptr) channels.add(address_of(one.channel));
    }
    std::vector<std::byte> now(layout_->goroutine_bytes);
    if (from_.read(r.address(), now.data(), now.size()) &&
        r.is_as(record(layout_, r.address(), now.data()))) {
      to.waits_for = channels;
    }
  }

  // The name and the labels, unless the goroutine ends meanwhile: another one may have them then.
  void add_extra(const record& r, seen_goroutine& to) const {
    const auto extra = r.get<std::uint64_t>(layout_->goroutine_extra);
    if (extra == 0) return;
    rt::goroutine_view with_name = to.view;
    set_name(with_name, extra);
    rt::label_ref labels = labels_in(extra);
    std::uint64_t id = 0;
    std::uint64_t extra_now = 0;
    const memory_part parts[] = {
        {r.address() + layout_->goroutine_id, &id, sizeof id},
        {r.address() + layout_->goroutine_extra, &extra_now, sizeof extra}};
    if (!from_.read(parts) || id != to.view.id || extra_now != extra) return;
    to.view = with_name;
    to.labels = std::move(labels);
    to.view.labels = to.labels.get();
  }

  void set_name(rt::goroutine_view& view, std::uint64_t extra) const {
    std::uint8_t size = 0;
    if (!from_.read(extra + layout_->extra_name_size, &size, sizeof size)) return;
    size = std::min<std::uint8_t>(size, sizeof view.name_bytes);
    if (from_.read(extra + layout_->extra_name, view.name_bytes, size)) view.name_size = size;
  }

  // A goroutine that runs may change its labels, and so free them, while they are read. What is the
  // same twice was there.
  rt::label_ref labels_in(std::uint64_t extra) const {
    constexpr int tries = 3;
    std::string text = label_text_in(extra);
    for (int i = 0; i < tries && !text.empty(); ++i) {
      std::string again = label_text_in(extra);
      if (again == text) {
        auto labels = rt::labels_in_text(text);
        return labels ? rt::label_ref(new rt::label_set(*std::move(labels))) : rt::label_ref();
      }
      text = std::move(again);
    }
    return {};
  }

  // Empty: there are none, or they can't be read.
  std::string label_text_in(std::uint64_t extra) const {
    std::uint64_t labels = 0;
    if (!from_.read(extra + layout_->extra_labels, &labels, sizeof labels) || labels == 0)
      return {};
    std::uint64_t bytes = 0;
    std::uint32_t size = 0;
    const memory_part parts[] = {{labels + layout_->labels_bytes, &bytes, sizeof bytes},
                                 {labels + layout_->labels_size, &size, sizeof size}};
    if (!from_.read(parts) || size > most_label_bytes) return {};
    std::string text(size, '\0');
    return from_.read(bytes, text.data(), size) ? text : std::string();
  }

  const target& from_;
  layout_of layout_;
  platform::process_code code_;
  std::uint32_t now_s_ = 0;
  std::map<std::uint64_t, int> threads_of_machines_;
  std::map<std::uint64_t, std::uint64_t> machines_of_goroutines_;
};

}  // namespace

std::vector<seen_goroutine> goroutines_of(const target& from) {
  std::vector<seen_goroutine> all;
  bool is_there = false;
  for (const module& m : from.modules()) {
    if (const auto section = m.elf->address_of_section(".sley_layout")) {
      is_there = true;
      reader(from, m.bias + *section).read_all(all);
    }
  }
  if (!is_there) throw failure("there is no sley in this program");
  std::ranges::sort(all, {}, [](const seen_goroutine& g) { return g.view.id; });
  return all;
}

}  // namespace sley::inspect
