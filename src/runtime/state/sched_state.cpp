
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

constinit sched_state sched;

}  // namespace sley::rt
