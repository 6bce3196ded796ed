// Aim: a call that moves fewer bytes than it could proves nothing about what is left, and what a
// system call does not take of a long list of buffers is taken by the next. Method: bytes that come
// in pieces which the kernel does not join, and lists of buffers beyond each of its limits. The
// reader knows before that there was nothing: it has waited, and all events have been delivered.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/stream_promises.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

using sley::net::stream;
using sley::net::unix_stream;
using sley::os::file;
using sley_test::bytes_of;
using sley_test::connect_tcp;
using sley_test::let_others_run;
using sley_test::read_exactly;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t beyond_ssize_max = std::size_t{1} << 63;

// Reads into a large buffer, as the bytes come, until it has `size` of them.
template <class Source>
std::string read_in_pieces(const Source& from, std::size_t size) {
  from.set_read_deadline(std::chrono::steady_clock::now() + sley_test::patience);
  std::string got;
  std::array<std::byte, 4096> buffer;
  while (got.size() < size) {
    std::error_code error;
    const std::size_t n = from.read_some(buffer, error);
    EXPECT_FALSE(error) << error.message() << ", behind '" << got << "'";
    if (n == 0 || error) break;
    got.append(reinterpret_cast<const char*>(buffer.data()), n);
  }
  return got;
}

// Makes the reader wait once, and delivers all events of that.
template <class Source>
void make_wait(const Source& reader, int writer) {
  sley::wait_group group;
  group.add(1);
  sley_test::go_until_parked([&] {
    std::array<std::byte, 1> byte;
    EXPECT_EQ(reader.read_some(byte), 1U);
    group.done();
  });
  EXPECT_EQ(::write(writer, "x", 1), 1);
  group.wait();
  let_others_run();
}

void write_raw(int fd, std::string_view text) {
  EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

// A message that carries a descriptor.
void send_with_descriptor(int to, std::string_view text, int fd) {
  iovec whole = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &whole;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  EXPECT_EQ(::sendmsg(to, &message, 0), static_cast<ssize_t>(text.size()));
}

struct adopted_pair {
  stream ours;
  int theirs = -1;

  explicit adopted_pair(int type) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
    ours = stream(ends[0]);
    theirs = ends[1];
  }
  ~adopted_pair() { ::close(theirs); }
  adopted_pair(const adopted_pair&) = delete;
  adopted_pair& operator=(const adopted_pair&) = delete;
};

}  // namespace

// ---- pieces that the kernel does not join ----

GO_TEST(short_reads, a_message_with_a_descriptor_does_not_hide_the_next) {
  const adopted_pair p(SOCK_STREAM);
  make_wait(p.ours, p.theirs);
  for (const char* text : {"one", "two", "three"}) send_with_descriptor(p.theirs, text, 0);
  write_raw(p.theirs, "four");
  let_others_run();
  EXPECT_EQ(read_in_pieces(p.ours, 15), "onetwothreefour");
}

GO_TEST(short_reads, a_pair_of_unix_streams_reads_behind_a_descriptor_too) {
  const auto [a, b] = unix_stream::pair();
  make_wait(a, b.native_handle());
  write_raw(b.native_handle(), "none");
  for (const char* text : {"one", "two", "three"}) send_with_descriptor(b.native_handle(), text, 0);
  let_others_run();
  EXPECT_EQ(read_in_pieces(a, 15), "noneonetwothree");
}

GO_TEST(short_reads, each_message_of_a_packet_socket_is_read) {
  const adopted_pair p(SOCK_SEQPACKET);
  make_wait(p.ours, p.theirs);
  for (const char* text : {"one", "two", "three"}) write_raw(p.theirs, text);
  let_others_run();
  EXPECT_EQ(read_in_pieces(p.ours, 11), "onetwothree");
}

GO_TEST(short_reads, each_packet_of_a_pipe_is_read) {
  const sley::os::pipe_ends p = sley::os::pipe();
  const int writer = p.writer.native_handle();
  ASSERT_EQ(::fcntl(writer, F_SETFL, ::fcntl(writer, F_GETFL) | O_DIRECT), 0);
  make_wait(p.reader, writer);
  for (const char* text : {"one", "two", "three"}) write_raw(writer, text);
  let_others_run();
  EXPECT_EQ(read_in_pieces(p.reader, 11), "onetwothree");
}

GO_TEST(short_reads, each_line_of_a_terminal_is_read) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master), 0);
  ASSERT_EQ(::unlockpt(master), 0);
  char name[64];
  ASSERT_EQ(::ptsname_r(master, name, sizeof name), 0);
  const file terminal(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings = {};
  ASSERT_EQ(::tcgetattr(terminal.native_handle(), &settings), 0);
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ASSERT_EQ(::tcsetattr(terminal.native_handle(), TCSANOW, &settings), 0);
  sley::wait_group group;
  group.add(1);
  sley_test::go_until_parked([&] {
    EXPECT_EQ(read_in_pieces(terminal, 2), "0\n");
    group.done();
  });
  write_raw(master, "0\n");
  group.wait();
  let_others_run();
  write_raw(master, "one\ntwo\nthree\n");
  let_others_run();
  EXPECT_EQ(read_in_pieces(terminal, 14), "one\ntwo\nthree\n");
  ::close(master);
}

// ---- more buffers than a system call takes ----

GO_TEST(long_lists, of_buffers_are_read_and_written_by_unix_streams) {
  auto [a, b] = unix_stream::pair();
  sley_test::expect_some_of_many_buffers(a, b);
}

GO_TEST(long_lists, of_buffers_are_read_and_written_by_pipes) {
  const sley::os::pipe_ends p = sley::os::pipe();
  sley_test::expect_some_of_many_buffers(p.writer, p.reader);
}

GO_TEST(long_lists, of_buffers_are_read_and_written_by_tcp) {
  const auto c = connect_tcp();
  sley_test::expect_some_of_many_buffers(c.client, c.server);
}

GO_TEST(long_lists, of_buffers_are_read_and_written_by_files) {
  const int fd = ::memfd_create("sley_long_lists", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  const file f(fd);
  sley_test::many_buffers sent('a'), got('-');
  sley_test::write_in_calls(f, sent);
  ASSERT_EQ(::lseek(fd, 0, SEEK_SET), 0);
  sley_test::read_in_calls(f, got);
  EXPECT_TRUE(got.bytes == sent.bytes);
}

GO_TEST(long_lists, that_begin_with_empty_buffers_are_not_taken_for_the_end) {
  const auto [a, b] = unix_stream::pair();
  std::vector<iovec> buffers(5000, iovec{nullptr, 0});
  char text[] = "text";
  buffers.push_back({text, 4});
  std::error_code error;
  EXPECT_EQ(a.write_some(buffers, error), 4U) << error.message();
  EXPECT_EQ(a.write_all(buffers, error), 4U) << error.message();
  char place[8] = {};
  buffers.back() = {place, sizeof place};
  EXPECT_EQ(b.read_some(buffers, error), 8U) << error.message();
  EXPECT_EQ(std::string(place, 8), "texttext");
}

// ---- more bytes than a system call takes ----

// Nothing is read into the room that there is not. One call asks for up to 2 GiB, and Linux may
// refuse a buffer that ends behind the last address of all: so there are as many addresses behind
// the room.
GO_TEST(large_buffers, of_any_size_have_room_for_the_available_bytes) {
  const auto [a, b] = unix_stream::pair();
  const sley::os::pipe_ends p = sley::os::pipe();
  constexpr std::size_t size = std::size_t{2} << 30;
  void* memory =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(::mprotect(memory, 100, PROT_READ | PROT_WRITE), 0);
  char* const room = static_cast<char*>(memory);
  const std::vector<iovec> buffers(2, iovec{room, beyond_ssize_max});  // 0 in total
  const std::vector<iovec> mixed = {{room, 3}, {room + 3, beyond_ssize_max}};
  std::error_code error;
  for (int round = 0; round < 2; ++round) {
    const std::vector<iovec>& into = round == 0 ? buffers : mixed;
    a.write_all(bytes_of("abc"));
    EXPECT_EQ(b.read_some(into, error), 3U) << error.message();
    p.writer.write_all(bytes_of("abc"));
    EXPECT_EQ(p.reader.read_some(into, error), 3U) << error.message();
    EXPECT_EQ(std::string(room, 3), "abc");
  }
  EXPECT_EQ(::munmap(memory, size), 0);
}

GO_TEST(large_buffers, are_written_in_as_many_calls_as_it_takes) {
  if (sley_test::under_tsan) GTEST_SKIP() << "its marks of what is read take 20 GB";
  constexpr std::size_t size = (std::size_t{5} << 30) + 1;
  void* memory =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const file null = file::open("/dev/null", O_RDWR);
  const std::span whole(static_cast<const std::byte*>(memory), size);
  std::error_code error;
  EXPECT_EQ(null.write_all(whole, error), size) << error.message();
  const std::span more_than_there_is(whole.data(), beyond_ssize_max);
  EXPECT_GT(null.write_some(more_than_there_is, error), std::size_t{1} << 30) << error.message();
  EXPECT_GT(null.write_at(more_than_there_is, 0, error), std::size_t{1} << 30) << error.message();
  EXPECT_EQ(::munmap(memory, size), 0);
}
