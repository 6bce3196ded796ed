#include "platform/context.hpp"

namespace {

sley::platform::uncaught_hook on_uncaught = nullptr;  // [const] once set
sley::platform::uncaught_hook on_leaving = nullptr;   // [const] once set

// Does a throw of C++ look for a handler?
bool is_search(int version, _Unwind_Action actions, _Unwind_Exception_Class of) noexcept {
  constexpr _Unwind_Exception_Class cpp = 0x474e5543432b2b00;  // "GNUCC++" and a byte for the kind
  return version == 1 && (actions & _UA_SEARCH_PHASE) != 0 &&
         (of & ~_Unwind_Exception_Class{0xff}) == cpp;
}

}  // namespace

extern "C" {

void sley_goroutine_start() noexcept;

// The personality of a goroutine's bottom frame: no handler was found above it. The unwinder goes
// on to the end of the stack, and __cxa_throw then calls std::terminate(). Assembly alone names it,
// which link-time optimisation does not see.
[[gnu::used]] _Unwind_Reason_Code sley_goroutine_personality(
    int version, _Unwind_Action actions, _Unwind_Exception_Class exception_class,
    _Unwind_Exception* exception, _Unwind_Context*) {
  if (is_search(version, actions, exception_class)) on_uncaught(exception);
  return _URC_CONTINUE_UNWIND;
}

void sley_goroutine_call_main(void (*f)(void*), void* arg);

// The personality of the frame below the main goroutine's function. As above.
[[gnu::used]] _Unwind_Reason_Code sley_goroutine_main_personality(
    int version, _Unwind_Action actions, _Unwind_Exception_Class exception_class,
    _Unwind_Exception* exception, _Unwind_Context*) {
  if (is_search(version, actions, exception_class)) on_leaving(exception);
  return _URC_CONTINUE_UNWIND;
}
}

namespace sley::platform {

context make_context(void* top, void (*entry)()) noexcept {
  auto** words = static_cast<void**>(top);
  words[-1] = reinterpret_cast<void*>(entry);
  context c;
  c.stack_pointer = words - 2;
  c.resume_at = reinterpret_cast<void*>(&sley_goroutine_start);
  c.control = default_control;
  return c;
}

void set_uncaught_hooks(uncaught_hook uncaught, uncaught_hook leaving) noexcept {
  on_uncaught = uncaught;
  on_leaving = leaving;
}

void call_main(void (*f)(void*), void* arg) { sley_goroutine_call_main(f, arg); }

}  // namespace sley::platform
