// The last words: an exception that nobody caught, a stack that is full.
#include "base/check.hpp"
#include "base/print.hpp"
#include "runtime/dump.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <cxxabi.h>
#include <unwind.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

namespace sley::rt {

namespace {

void append_goroutine(base::line_writer& line, const goroutine* g) noexcept {
  line.text("goroutine ").dec(g->id);
  if (!g->name().empty()) line.text(" \"").shown(g->name()).text("\"");
}

// The part of an exception's header that the Itanium C++ ABI (2.2.1) and libstdc++ put before the
// object. In an exception that std::rethrow_exception made, the first word names the object
// instead.
struct exception_header {
  void* first_word;
  void* not_ours[9];
  _Unwind_Exception unwind;
};
static_assert(sizeof(exception_header) == 112 && offsetof(exception_header, unwind) == 80);

exception_header* header_of(_Unwind_Exception* exception) noexcept {
  return reinterpret_cast<exception_header*>(reinterpret_cast<char*>(exception) -
                                             offsetof(exception_header, unwind));
}

struct thrown {
  void* object;
  const std::type_info* type;
};

thrown thrown_by(_Unwind_Exception* exception) noexcept {
  constexpr unsigned rethrown_bit = 1;
  exception_header* header = header_of(exception);
  void* object = header + 1;
  if ((exception->exception_class & rethrown_bit) != 0) {
    object = header->first_word;
    header = static_cast<exception_header*>(object) - 1;
  }
  return {object, static_cast<const std::type_info*>(header->first_word)};
}

// The object's what(), if it derives from std::exception.
const char* what_of(const thrown& t) noexcept {
  void* as_exception = t.object;
  if (!typeid(std::exception).__do_catch(t.type, &as_exception, 1)) return nullptr;
  return static_cast<const std::exception*>(as_exception)->what();
}

std::string_view name_of_type(const std::type_info* type,
                              std::unique_ptr<char, void (*)(void*)>& storage) noexcept {
  storage.reset(abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr));
  return storage ? storage.get() : type->name();
}

}  // namespace

void report_uncaught_exception(_Unwind_Exception* exception) noexcept {
  const thrown t = thrown_by(exception);
  std::unique_ptr<char, void (*)(void*)> storage(nullptr, &std::free);
  base::line_writer line;
  line.text("sley: uncaught exception in ");
  append_goroutine(line, this_machine()->g);
  line.text(": ").text(name_of_type(t.type, storage));
  line.flush(2);  // what it says may throw, and that would be the end
  if (const char* what = what_of(t)) line.text(": ").text(what);
  line.text("\n\n").flush(2);
  dump_this_goroutine(2);
}

void report_stack_overflow(void* address, void* stack_pointer) noexcept {
  machine* m = this_machine();
  if (m == nullptr || m->g == nullptr || m->g->stack == nullptr) return;
  const goroutine* g = m->g;
  if (!parts::stack_pool::is_in_guard(*g->stack, address)) return;
  // A frame that has grown into the guard: the stack pointer is there or below. Else it is a wild
  // pointer, perhaps on a stack of the program's.
  constexpr std::size_t below_the_frame = 128;  // that a function may use, and a call's own words
  if (static_cast<char*>(stack_pointer) > static_cast<char*>(address) + below_the_frame) return;
  m->border.enter();  // no preemption any more, and no malloc, which may be where it happened
  base::line_writer line;
  append_goroutine(line, g);
  const std::size_t own = g->own_stack_bytes();
  const std::size_t bytes = own != 0 ? own : sched.stacks.default_bytes();
  line.text(": stack overflow: reservation is ").dec(std::uint64_t{bytes >> 10});
  line.text(" KiB; see go_options::stack_size and SLEY_STACK_SIZE (address ");
  line.hex(reinterpret_cast<std::uintptr_t>(address)).text(")");
  base::fatal(line.view());
}

}  // namespace sley::rt
