
#include "runtime/entry/enter.hpp"

#include "platform/current.hpp"
#include "runtime/entry/blocking.hpp"
#include "runtime/entry/foreign.hpp"
#include "runtime/run/attend.hpp"
#include "runtime/state/machine.hpp"

namespace sley::rt {

machine* enter_slow() noexcept {
  bool must_attend = false;
  machine* m = current_machine();
  if (machine* calling = platform::calling_machine(); m == nullptr && calling != nullptr) {
    m = calling;
    must_attend = !leave_call(m);
  } else if (m == nullptr) {
    m = adopt_foreign_thread();
  }
  return m->border.enter() && !must_attend ? m : attend(m);
}

}  // namespace sley::rt
