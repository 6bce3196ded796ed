// Copies between files, pipes and sockets: the bytes that come out are the bytes that went in, for
// all pairs, and deadlines and close end a copy that waits.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/temporary_folder.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>

using sley::wait_group;
using sley::net::copy;
using sley::net::unix_stream;
using sley::os::file;
using sley_test::bytes_of;
using sley_test::connect_tcp;
using sley_test::let_others_run;
using sley_test::read_exactly;
using sley_test::read_to_end;
using sley_test::rounds;
using sley_test::tcp_pair;
using namespace std::chrono_literals;

namespace {

using sley::byte_stream;

std::string text_of(std::size_t size) {
  std::string text;
  sley_test::random_source random;
  while (text.size() < size) text += std::to_string(random());
  text.resize(size);
  return text;
}

file file_with(const std::string& content, int flags = O_RDWR) {
  const sley_test::temporary_folder folder;
  const std::string path = folder / "content";
  sley::os::write_file(path, content);
  return file::open(path, flags);
}

const std::string big = text_of(3'000'000);

// `fill` writes to what `from` is read from, and ends it; `to` is read by `sink`.
void expect_copied(const byte_stream& from, const std::function<void()>& fill, byte_stream& to,
                   const byte_stream& sink) {
  wait_group group;
  std::string got;
  group.go(fill);
  group.go([&] { got = read_to_end(sink); });
  EXPECT_EQ(copy(from, to), big.size());
  to.close();
  group.wait();
  EXPECT_TRUE(got == big) << got.size();
}

}  // namespace

GO_TEST(copy, from_streams_to_streams) {
  tcp_pair a = connect_tcp(), b = connect_tcp();
  const auto fill = [&] {
    a.client.write_all(bytes_of(big));
    a.client.shutdown_write();
  };
  expect_copied(a.server, fill, b.client, b.server);
  auto [c, d] = unix_stream::pair();
  tcp_pair e = connect_tcp();
  const auto fill_unix = [&from = c] {
    from.write_all(bytes_of(big));
    from.shutdown_write();
  };
  expect_copied(d, fill_unix, e.client, e.server);
}

GO_TEST(copy, between_pipes_and_streams) {
  auto p = sley::os::pipe(), q = sley::os::pipe();
  tcp_pair a = connect_tcp(), b = connect_tcp();
  expect_copied(
      p.reader,
      [&] {
        p.writer.write_all(bytes_of(big));
        p.writer.close();
      },
      a.client, a.server);
  expect_copied(
      b.server,
      [&] {
        b.client.write_all(bytes_of(big));
        b.client.close();
      },
      q.writer, q.reader);
}

GO_TEST(copy, from_files_to_streams_and_pipes) {
  tcp_pair a = connect_tcp();
  auto p = sley::os::pipe();
  expect_copied(file_with(big), [] {}, a.client, a.server);
  expect_copied(file_with(big), [] {}, p.writer, p.reader);
}

GO_TEST(copy, to_files) {
  const auto content_of = [](const file& f) {
    std::string content(f.size(), ' ');
    f.read_at(std::as_writable_bytes(std::span(content)), 0);
    return content;
  };
  const file plain = file_with("");
  EXPECT_EQ(copy(file_with(big), plain), big.size());
  EXPECT_TRUE(content_of(plain) == big);
  // Not by the kernel.
  const file appended = file_with("before ", O_RDWR | O_APPEND);
  EXPECT_EQ(copy(file_with("after"), appended), 5U);
  EXPECT_EQ(content_of(appended), "before after");
  auto p = sley::os::pipe();
  const file from_pipe = file_with("");
  wait_group group;
  group.go([&] {
    p.writer.write_all(bytes_of(big));
    p.writer.close();
  });
  EXPECT_EQ(copy(p.reader, from_pipe), big.size());
  group.wait();
  EXPECT_TRUE(content_of(from_pipe) == big);
}

// A file whose pages the kernel can't hand on.
GO_TEST(copy, from_a_source_that_the_kernel_cannot_send) {
  auto p = sley::os::pipe();
  const file version = file::open("/proc/version", O_RDONLY);
  const std::uint64_t n = copy(version, p.writer);
  p.writer.close();
  EXPECT_EQ(read_to_end(p.reader).size(), n);
  EXPECT_GT(n, 0U);
}

GO_TEST(copy, as_much_as_is_asked_for) {
  tcp_pair a = connect_tcp(), b = connect_tcp();
  a.client.write_all(bytes_of("0123456789"));
  EXPECT_EQ(copy(a.server, b.client, 4), 4U);
  EXPECT_EQ(read_exactly(b.server, 4), "0123");
  EXPECT_EQ(read_exactly(a.server, 6), "456789");
  EXPECT_EQ(copy(a.server, b.client, 0), 0U);
  const file f = file_with("0123456789");
  EXPECT_EQ(copy(f, b.client, 4), 4U);
  EXPECT_EQ(copy(f, b.client, 4), 4U);
  EXPECT_EQ(read_exactly(b.server, 8), "01234567") << "from the file's position";
}

GO_TEST(copy, send_file_writes_a_part_of_a_file) {
  tcp_pair a = connect_tcp();
  const file f = file_with("0123456789");
  EXPECT_EQ(a.client.send_file(f, 2, 5), 5U);
  EXPECT_EQ(a.client.send_file(f, 0, 2), 2U);
  EXPECT_EQ(a.client.send_file(f, 8, 100), 2U) << "it ends";
  EXPECT_EQ(a.client.send_file(f, 100, 5), 0U);
  EXPECT_EQ(a.client.send_file(f, 0, 0), 0U);
  EXPECT_EQ(read_exactly(a.server, 9), "234560189");
  EXPECT_EQ(f.read_some({}), 0U);
  const file all = file_with(big);
  wait_group group;
  for (int i = 0; i < 4; ++i) {
    group.go([&] { EXPECT_EQ(a.client.send_file(all, 0, big.size()), big.size()); });
  }
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(read_exactly(a.server, big.size()) == big);
  group.wait();
}

GO_TEST(copy, echoes_from_a_stream_to_itself) {
  tcp_pair a = connect_tcp();
  wait_group group;
  group.go([&] {
    EXPECT_EQ(copy(a.server, a.server), 12U);
    a.server.shutdown_write();
  });
  for (int i = 0; i < 3; ++i) {
    a.client.write_all(bytes_of("echo"));
    EXPECT_EQ(read_exactly(a.client, 4), "echo");
  }
  a.client.shutdown_write();
  EXPECT_EQ(read_to_end(a.client), "");
  group.wait();
}

// An error, no signal.
GO_TEST(copy, to_a_closed_peer_is_an_error) {
  auto p = sley::os::pipe();
  auto [a, b] = unix_stream::pair();
  p.reader.close();
  b.close();
  const file f = file_with(big);
  std::error_code error;
  copy(f, p.writer, UINT64_MAX, error);
  EXPECT_EQ(error, std::errc::broken_pipe);
  a.send_file(f, 0, big.size(), error);
  EXPECT_EQ(error, std::errc::broken_pipe);
  auto q = sley::os::pipe();
  q.writer.write_all(bytes_of("x"));
  copy(q.reader, a, UINT64_MAX, error);
  EXPECT_EQ(error, std::errc::broken_pipe);
}

GO_TEST(copy, deadlines_and_close_end_it) {
  const auto ends_with = [](tcp_pair& a, tcp_pair& b, auto end) {
    std::error_code error;
    wait_group group;
    group.go([&] { copy(a.server, b.client, UINT64_MAX, error); });
    let_others_run();
    end(a, b);
    group.wait();
    return error;
  };
  const auto now = [] { return std::chrono::steady_clock::now(); };
  for (int i = 0; i < rounds(20); ++i) {
    tcp_pair a = connect_tcp(), b = connect_tcp();
    EXPECT_EQ(ends_with(a, b, [&](auto& x, auto&) { x.server.set_read_deadline(now() + 1ms); }),
              std::errc::timed_out);
    a.server.set_read_deadline(sley::time_point::max());
    EXPECT_EQ(ends_with(a, b, [](auto& x, auto&) { x.server.close(); }),
              std::errc::operation_canceled);
    EXPECT_EQ(ends_with(a, b, [](auto&, auto&) {}), std::errc::operation_canceled);
  }
}

// There always is something to read, and room for it.
GO_TEST(copy, that_never_waits_is_ended_too) {
  const file zero = file::open("/dev/zero", O_RDONLY), null = file::open("/dev/null", O_WRONLY);
  file closed = file::open("/dev/zero", O_RDONLY);
  std::error_code error;
  wait_group group;
  group.go([&] { copy(closed, null, UINT64_MAX, error); });
  sley::this_goroutine::sleep_for(2ms);
  closed.close();
  group.wait();
  EXPECT_EQ(error, std::errc::operation_canceled);
  EXPECT_EQ(copy(zero, null, 10'000'000), 10'000'000U);
}

GO_TEST(copy, a_closed_end_is_an_error) {
  tcp_pair a = connect_tcp();
  std::error_code error;
  copy(sley::net::tcp_stream(), a.client, UINT64_MAX, error);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
  a.client.send_file(file(), 0, 1, error);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
  a.server.close();
  copy(a.server, a.client, UINT64_MAX, error);
  EXPECT_EQ(error, std::errc::operation_canceled);
  EXPECT_THROW(copy(a.server, a.client), std::system_error);
}
