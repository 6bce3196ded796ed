// What a descriptor is ready for at a moment.
#pragma once

#include <sley/os.hpp>

#include <system_error>

namespace sley::io {

inline bool has(os::poll_events all, os::poll_events some) noexcept {
  return (all & some) != os::poll_events::none;
}

// Whether the deadline of reading counts.
inline bool is_about_reading(os::poll_events wanted) noexcept {
  return has(wanted, os::poll_events::readable) || !has(wanted, os::poll_events::writable);
}

// Of what is wanted. std::errc::bad_file_descriptor: its owner has closed it.
os::poll_events look(int fd, os::poll_events wanted, std::error_code& error) noexcept;

}  // namespace sley::io
