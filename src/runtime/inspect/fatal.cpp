// The last words, for an exception that nothing has caught, a stack that is full and a failure. And
// the report of an exception that nothing will ask for.
#include "runtime/inspect/fatal.hpp"

#include <sley/detail/lost_exception.hpp>
#include <sley/log.hpp>

#include "base/check.hpp"
#include "base/print.hpp"
#include "platform/fault.hpp"
#include "runtime/inspect/death_record.hpp"
#include "runtime/inspect/dump.hpp"
#include "runtime/inspect/exception_header.hpp"
#include "runtime/inspect/last_words.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"

#include <cxxabi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <typeinfo>

namespace sley::rt {

namespace {

void append_goroutine(base::line_writer& line, const goroutine* g) noexcept {
  line.text("goroutine ").dec(g->id);
  if (!g->name().empty()) line.text(" \"").shown(g->name()).text("\"");
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
  begin_last_words();
  const thrown t = thrown_by(exception);
  std::unique_ptr<char, void (*)(void*)> storage(nullptr, &std::free);
  base::line_writer line;
  line.text("sley: uncaught exception in ");
  append_goroutine(line, this_machine()->g);
  line.text(": ").text(name_of_type(t.type, storage));
  line.flush(2);  // what() may throw, and end the process
  if (const char* what = what_of(t)) line.text(": ").shown(what);
  line.text("\n\n").flush(2);
  dump_this_goroutine(2);
  write_death_record();
  complete_last_words();
}

// For a noexcept function that an exception would leave, a destructor that throws while another
// exception is in flight, a thread that was not joined. If no destructor has run since the throw,
// the stack still shows the place of the throw.
void report_termination() noexcept {
  std::unique_ptr<char, void (*)(void*)> storage(nullptr, &std::free);
  base::line_writer line;
  line.text("sley: std::terminate() in ");
  append_goroutine(line, this_machine()->g);
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    line.text(", with an exception: ").text(name_of_type(type, storage));
  }
  line.text("\n\n").flush(2);
  dump_this_goroutine(2);
  write_death_record();
}

namespace {

constexpr std::ptrdiff_t below_the_frame = 128;  // a function may use this, and a call its words

// Has a frame grown into the guard? Then the stack pointer is there or below. Else the address is a
// wild pointer, perhaps used on a stack of the program's.
bool has_grown_into_guard(const parts::stack& s, const void* address, const void* at) noexcept {
  return parts::stack_pool::is_in_guard(s, address) &&
         static_cast<const char*>(at) <= static_cast<const char*>(address) + below_the_frame;
}

// Has a frame larger than the guard jumped over it? Then the stack pointer is below the stack, but
// not far, and the address that faulted is between the two.
bool has_jumped_over_guard(const parts::stack& s, const void* address, const void* at) noexcept {
  constexpr std::ptrdiff_t largest_frame = 64 << 20;
  const auto* stack_pointer = static_cast<const char*>(at);
  return stack_pointer < s.low && s.low - stack_pointer <= largest_frame &&
         address >= stack_pointer - below_the_frame && address < s.low;
}

}  // namespace

void report_stack_overflow(void* address, void* stack_pointer) noexcept {
  machine* m = this_machine();
  if (m == nullptr || m->g == nullptr || m->g->stack == nullptr) return;
  const goroutine* g = m->g;
  if (!has_grown_into_guard(*g->stack, address, stack_pointer) &&
      !has_jumped_over_guard(*g->stack, address, stack_pointer)) {
    return;
  }
  m->border.enter();  // no preemption, nor malloc, which may have overflowed
  base::line_writer line;
  append_goroutine(line, g);
  const std::size_t own = g->own_stack_bytes();
  const std::size_t bytes = own != 0 ? own : sched.stacks.default_bytes();
  line.text(": stack overflow: reservation is ").dec(std::uint64_t{bytes >> 10});
  line.text(" KiB; see go_options::stack_size and SLEY_STACK_SIZE (address ");
  line.hex(reinterpret_cast<std::uintptr_t>(address)).text(")");
  base::fatal(line.view());
}

void report_failure(const platform::failure& f) noexcept {
  machine* m = this_machine();
  const bool is_goroutine = m != nullptr && m->g != nullptr && !m->g->is_foreign;
  if (!is_goroutine || sched.has_forked.load_relaxed() || !debug_options().reports_failures) return;
  m->border.enter();  // no preemption, nor malloc, which may have failed
  base::line_writer line;
  line.text("sley: ").text(f.signal);
  if (f.has_address) line.text(" (address ").hex(f.address).text(")");
  line.text(" in ");
  append_goroutine(line, m->g);
  line.text("\n\n").flush(2);
  dump_this_goroutine_from(2, f.registers);
  write_death_record();
}

}  // namespace sley::rt

namespace sley::detail {

void report_lost(const std::exception_ptr& error, std::uint64_t goroutine,
                 const char* because) noexcept {
  std::unique_ptr<char, void (*)(void*)> storage(nullptr, &std::free);
  base::line_writer line;
  line.text("sley: an exception of ");
  if (goroutine == 0) {
    line.text("a call");
  } else {
    line.text("goroutine ").dec(goroutine);
  }
  line.text(" was lost, because ").text(because);
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    line.text(": ").text(rt::name_of_type(&typeid(e), storage)).text(": ").shown(e.what());
  } catch (...) {
    line.text(": ").text(rt::name_of_type(abi::__cxa_current_exception_type(), storage));
  }
  log_line(line.text("\n").view());
}

}  // namespace sley::detail
