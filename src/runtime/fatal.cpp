// The last words: an exception that nobody caught, a stack that is full.
#include "base/check.hpp"
#include "base/print.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unwind.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

namespace sley::rt {

namespace {

void append_goroutine(base::line_writer& line, const goroutine* g) noexcept {
  line.text("goroutine ").dec(g->id);
  if (g->extra != nullptr && g->extra->name_size != 0) {
    line.text(" \"").text(g->extra->name()).text("\"");
  }
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

std::string_view demangled(const char* name, std::unique_ptr<char, void (*)(void*)>& storage) {
  int status = 0;
  storage.reset(abi::__cxa_demangle(name, nullptr, nullptr, &status));
  return status == 0 && storage ? storage.get() : name;
}

// One line for each frame: where it is, and what the symbol table says of it.
_Unwind_Reason_Code print_frame(_Unwind_Context* context, void*) {
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIP(context));
  if (address == 0) return _URC_END_OF_STACK;
  base::line_writer line;
  line.text("    ").hex(address);
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(address - 1), &info) != 0) {
    if (info.dli_sname != nullptr) {
      std::unique_ptr<char, void (*)(void*)> storage(nullptr, &std::free);
      line.text(" ").text(demangled(info.dli_sname, storage));
    }
    if (info.dli_fname != nullptr) {
      line.text(" (").text(info.dli_fname).text(" + ");
      line.hex(address - reinterpret_cast<std::uintptr_t>(info.dli_fbase)).text(")");
    }
  }
  line.text("\n").flush(2);
  return _URC_NO_REASON;
}

}  // namespace

void report_uncaught_exception(_Unwind_Exception* exception) noexcept {
  const thrown t = thrown_by(exception);
  std::unique_ptr<char, void (*)(void*)> storage(nullptr, &std::free);
  base::line_writer line;
  line.text("sley: uncaught exception in ");
  append_goroutine(line, current_machine()->g);
  line.text(": ").text(demangled(t.type->name(), storage));
  if (const char* what = what_of(t)) line.text(": ").text(what);
  line.text("\nthrown at:\n").flush(2);
  _Unwind_Backtrace(&print_frame, nullptr);
}

void report_stack_overflow(void* address) noexcept {
  const machine* m = current_machine();
  if (m == nullptr || m->g == nullptr || m->g->stack == nullptr) return;
  const goroutine* g = m->g;
  if (!parts::stack_pool::is_in_guard(*g->stack, address)) return;
  base::line_writer line;
  append_goroutine(line, g);
  const bool own_size = g->extra != nullptr && g->extra->stack_bytes != 0;
  const std::size_t bytes = own_size ? g->extra->stack_bytes : sched.stacks.default_bytes();
  line.text(": stack overflow: reservation is ").dec(std::uint64_t{bytes >> 10});
  line.text(" KiB; see go_options::stack_size and SLEY_STACK_SIZE (address ");
  line.hex(reinterpret_cast<std::uintptr_t>(address)).text(")");
  base::fatal(line.view());
}

}  // namespace sley::rt
