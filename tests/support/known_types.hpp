// For tests in which no descriptor is left. UBSan looks at an object of a type that it does not
// know yet through a pipe; if it can't make one, it reports the object as none of that type.
#pragma once

#include "support/connections.hpp"
#include "support/io_waits.hpp"

#include <sley/net.hpp>

#include <chrono>
#include <system_error>

namespace sley_test {

// UBSan knows the types of a pause afterwards: accept() makes one while there is a shortage, and so
// does a datagram to a full queue.
inline void let_sanitizers_know_pauses() {
  const auto to = sley::net::unix_datagram::bind(unused_name());
  const auto from = sley::net::unix_datagram::bind(unused_name());
  from.set_write_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  std::error_code error;
  while (!error) from.send_to(bytes_of("x"), to.local(), error);
}

}  // namespace sley_test
