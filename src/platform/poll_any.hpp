// ppoll(2) without its limit.
#pragma once

#include <poll.h>
#include <time.h>

#include <span>

namespace sley::platform {

// As ppoll(2) without a mask; a null `timeout` is none. ppoll refuses more descriptors than
// RLIMIT_NOFILE allows at the moment, open as they are: a program that lowers it to 0 could wait
// for nothing any more. There it does as pselect6(2) does, to which a hang-up is an event of
// reading. ENOMEM: there is no memory for that.
int poll_any(std::span<pollfd> descriptors, const timespec* timeout) noexcept;

}  // namespace sley::platform
