// An exception leaves the main goroutine. If a function that has called run() catches it, it comes
// out of run(). Otherwise it ends the process, and is reported as in any other goroutine: while the
// stack of the throw still stands. So the frame below the main goroutine's function asks before
// anything is unwound. With a stack of its own the main goroutine can't see its caller's frames;
// the thread that sleeps in run() looks at them.
#include "runtime/entry/main_exception.hpp"

#include "base/check.hpp"
#include "platform/unseen.hpp"
#include "runtime/inspect/exception_header.hpp"
#include "runtime/inspect/fatal.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

#include <cxxabi.h>

#include <exception>

extern "C" _Unwind_Reason_Code __gxx_personality_v0(int, _Unwind_Action, _Unwind_Exception_Class,
                                                    _Unwind_Exception*, _Unwind_Context*);

namespace sley::rt {

namespace {

struct search {
  _Unwind_Exception* exception;
  bool is_caught = false;
};

// As _Unwind_RaiseException does in its first phase. A frame without a handler leaves the exception
// as it is. A frame with one makes notes in it, and does so again when the exception is thrown
// there.
_Unwind_Reason_Code ask_frame(_Unwind_Context* frame, void* arg) {
  auto* s = static_cast<search*>(arg);
  const bool is_asked = _Unwind_GetCFA(frame) > sched.main.run_frame &&
                        _Unwind_GetLanguageSpecificData(frame) != nullptr;
  if (!is_asked || __gxx_personality_v0(1, _UA_SEARCH_PHASE, s->exception->exception_class,
                                        s->exception, frame) != _URC_HANDLER_FOUND) {
    return _URC_NO_REASON;
  }
  s->is_caught = header_of(s->exception)->landing_pad != nullptr;  // not the end of a noexcept
  return _URC_END_OF_STACK;
}

// On the stack of the thread in run().
bool is_caught_by_caller(_Unwind_Exception* exception) noexcept {
  search s{exception};
  _Unwind_Backtrace(&ask_frame, &s);
  return s.is_caught;
}

// By the main goroutine, which blocks its thread: the exception is in flight.
bool does_run_catch(_Unwind_Exception* exception) noexcept {
  const platform::unseen unseen;
  sched.main.leaving = exception;
  sched.main.done.wake();
  sched.main.answer.sleep();
  sched.main.answer.clear();
  return sched.main.is_caught;
}

}  // namespace

void end_unless_caught(_Unwind_Exception* exception) noexcept {
  const bool has_own_stack = this_machine()->g->stack != nullptr;
  if (has_own_stack ? does_run_catch(exception) : is_caught_by_caller(exception)) return;
  report_uncaught_exception(exception);
  abi::__cxa_begin_catch(exception);  // as __cxa_throw does
  std::terminate();
}

namespace {

// False: it has ended.
bool does_main_ask() noexcept {
  const platform::unseen unseen;
  sched.main.done.sleep();
  return sched.main.leaving != nullptr;
}

void answer_main() noexcept {
  const platform::unseen unseen;
  sched.main.done.clear();
  sched.main.is_caught = is_caught_by_caller(sched.main.leaving);
  sched.main.leaving = nullptr;
  sched.main.answer.wake();
}

}  // namespace

void sleep_in_run() noexcept {
  while (does_main_ask()) answer_main();
  platform::takes_order(&sched.main.done);
}

}  // namespace sley::rt
