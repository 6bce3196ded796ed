// What every kind of stream promises. Each function has a connected pair of them to itself, with
// the members `client` and `server`.
#pragma once

#include "support/connections.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

#include <sys/uio.h>

namespace sley_test {

template <class Pair>
void expect_a_read_without_room_is_not_the_end(const Pair& c) {
  EXPECT_EQ(c.server.read_some({}), 0U);
  c.client.write_all(bytes_of("x"));
  EXPECT_EQ(c.server.read_some({}), 0U);
  EXPECT_EQ(read_exactly(c.server, 1), "x");
}

template <class Pair>
void expect_half_closes(const Pair& c) {
  c.client.write_all(bytes_of("question"));
  c.client.shutdown_write();
  EXPECT_EQ(read_to_end(c.server), "question");
  EXPECT_EQ(read_to_end(c.server), "");  // as often as one likes
  c.server.write_all(bytes_of("answer"));
  EXPECT_EQ(read_exactly(c.client, 6), "answer");
  std::error_code error;
  EXPECT_EQ(c.client.write_all(bytes_of("x"), error), 0U);
  EXPECT_EQ(error, std::errc::broken_pipe);
}

template <class Pair>
void expect_read_exactly_tells_a_stream_that_ends_too_soon(Pair c) {
  c.client.write_all(bytes_of("abc"));
  c.client.close();
  std::array<std::byte, 5> buffer;
  std::error_code error;
  EXPECT_EQ(c.server.read_exactly(buffer, error), 3U);
  EXPECT_EQ(error, std::errc::connection_aborted);
  EXPECT_THROW(c.server.read_exactly(buffer), std::system_error);
}

// Many buffers, more than the kernel takes in one call, some of them empty, some large.
template <class Pair>
void expect_gathers_and_scatters(const Pair& c) {
  std::vector<std::string> parts;
  std::string whole;
  std::vector<iovec> buffers;
  for (std::size_t i = 0; i < 3000; ++i) {
    parts.emplace_back(i % 97 == 0 ? 9000 : i % 7, static_cast<char>('a' + i % 26));
  }
  for (std::string& part : parts) {
    whole += part;
    buffers.push_back({part.data(), part.size()});
  }
  sley::wait_group group;
  group.go([&] {
    std::error_code error;
    EXPECT_EQ(c.client.write_all(buffers, error), whole.size());
    EXPECT_FALSE(error);
    c.client.write_all(bytes_of("headbody"));
  });
  EXPECT_EQ(read_exactly(c.server, whole.size()), whole);
  group.wait();
  char head[4], body[4];
  const iovec places[] = {{head, sizeof head}, {body, sizeof body}};
  std::error_code error;
  EXPECT_EQ(c.server.read_some(places, error), 8U);
  EXPECT_EQ(std::string(head, 4) + std::string(body, 4), "headbody");
}

}  // namespace sley_test
