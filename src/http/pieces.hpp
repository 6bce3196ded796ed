// Texts in several pieces, on their way out.
#pragma once

#include "http/late_deadline.hpp"

#include <sley/http/connection.hpp>
#include <sley/time.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <system_error>

#include <sys/uio.h>

namespace sley::http::detail {

inline std::size_t bytes_in(std::span<const iovec> pieces) noexcept {
  std::size_t sum = 0;
  for (const iovec& piece : pieces) sum += piece.iov_len;
  return sum;
}

// The first `most` bytes of them; fewer if their pieces do not fit into the room.
inline std::span<const iovec> first_bytes(std::span<const iovec> pieces, std::size_t most,
                                          std::span<iovec> room) noexcept {
  std::size_t n = 0;
  for (const iovec& piece : pieces) {
    if (most == 0 || n == room.size()) break;
    if (piece.iov_len == 0) continue;
    room[n] = {piece.iov_base, std::min(piece.iov_len, most)};
    most -= room[n].iov_len;
    ++n;
  }
  return room.first(n);
}

// The pieces without their first `bytes` bytes; changes the piece in which those end.
inline std::span<iovec> without_first(std::span<iovec> pieces, std::size_t bytes) noexcept {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (!pieces.empty()) {
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + bytes;
    pieces.front().iov_len -= bytes;
  }
  return pieces;
}

// Writes all of them, and returns how many bytes were taken. The time limit is for the connection
// to take something: it begins again with each part that it takes. zero: none.
inline std::size_t write_in_time(connection& c, late_deadline& deadline, time_span limit,
                                 std::span<iovec> pieces, std::error_code& error) {
  std::size_t done = 0;
  error.clear();
  pieces = without_first(pieces, 0);
  while (!pieces.empty() && !error) {  // ends: each round writes something, or is the last one
    if (deadline.move(limit)) c.set_write_deadline(deadline.when());
    const std::size_t n = c.write_some(pieces, error);
    done += n;
    pieces = without_first(pieces, n);
  }
  return done;
}

}  // namespace sley::http::detail
