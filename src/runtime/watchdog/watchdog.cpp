#include "runtime/watchdog/watchdog.hpp"

namespace sley::rt {

constinit watchdog_state watchdog;

}  // namespace sley::rt
