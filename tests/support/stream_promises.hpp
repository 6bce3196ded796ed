// What every kind of stream promises. Each function has a connected pair of them to itself, with
// the members `client` and `server`.
#pragma once

#include "support/connections.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
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

// 3,000 buffers of a byte, some of none: three times as many as the kernel takes in one call.
struct many_buffers {
  std::string bytes;
  std::vector<iovec> buffers;

  explicit many_buffers(char first) : bytes(3000, first) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (first != '-') bytes[i] = static_cast<char>(first + static_cast<int>(i % 26));
      buffers.push_back({&bytes[i], 1});
      if (i % 50 == 0) buffers.push_back({nullptr, 0});
    }
  }
  many_buffers(const many_buffers&) = delete;
  many_buffers& operator=(const many_buffers&) = delete;

  // Without the first `done` bytes.
  std::span<const iovec> behind(std::size_t done) const {
    std::span<const iovec> rest = buffers;
    while (done > 0) {
      done -= rest.front().iov_len;
      rest = rest.subspan(1);
    }
    return rest;
  }
};

template <class Sink>
void write_in_calls(const Sink& to, const many_buffers& from) {
  std::error_code error;
  for (std::size_t done = 0; done < from.bytes.size() && !error;) {
    const std::size_t n = to.write_some(from.behind(done), error);
    EXPECT_TRUE(n > 0 && !error) << error.message() << ", after " << done;
    if (n == 0) return;
    done += n;
  }
}

template <class Source>
void read_in_calls(const Source& from, const many_buffers& into) {
  std::error_code error;
  for (std::size_t done = 0; done < into.bytes.size() && !error;) {
    const std::size_t n = from.read_some(into.behind(done), error);
    EXPECT_TRUE(n > 0 && !error) << error.message() << ", after " << done;
    if (n == 0) return;
    done += n;
  }
}

// Both sides have waited for events before, and know that none is left.
template <class Writer, class Reader>
void expect_some_of_many_buffers(const Writer& writer, const Reader& reader) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  writer.set_write_deadline(limit);
  reader.set_read_deadline(limit);
  sley::wait_group group;
  group.add(1);
  go_until_parked([&] {
    std::array<std::byte, 1> byte;
    EXPECT_EQ(reader.read_some(byte), 1U);
    group.done();
  });
  writer.write_all(bytes_of("x"));
  group.wait();
  const many_buffers sent('a'), got('-');
  let_others_run();
  write_in_calls(writer, sent);
  let_others_run();
  read_in_calls(reader, got);
  EXPECT_TRUE(got.bytes == sent.bytes);
}

}  // namespace sley_test
