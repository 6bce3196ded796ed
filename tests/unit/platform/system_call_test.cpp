// Aim: system calls without libc's functions do what libc's functions do. Method: each convention
// once, on real descriptors and memory.
#include "platform/system_call.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace sley::platform {
namespace {

namespace calls = platform::kernel;

class pipe_of_two {
 public:
  pipe_of_two() { EXPECT_EQ(::pipe(ends_), 0); }
  ~pipe_of_two() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }

 private:
  int ends_[2] = {-1, -1};
};

TEST(SystemCall, GivesWhatLibcDoes) { EXPECT_EQ(system_call(SYS_getpid), ::getpid()); }

TEST(SystemCall, AnErrorIsMinusOneAndErrno) {
  errno = 0;
  EXPECT_EQ(calls::read(-1, nullptr, 0), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(SystemCall, SuccessLeavesErrnoAlone) {
  errno = ERANGE;
  system_call(SYS_getpid);
  EXPECT_EQ(errno, ERANGE);
}

// An address is more than an int, and may look negative as one.
TEST(SystemCall, PassesSixArgumentsAndReturnsAWholeWord) {
  const long page = 4096;
  const long place = system_call(SYS_mmap, nullptr, page, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, -1) << std::strerror(errno);
  auto* const memory = reinterpret_cast<char*>(place);
  EXPECT_EQ(memory[page - 1], 0);
  EXPECT_EQ(::munmap(memory, static_cast<std::size_t>(page)), 0);
}

TEST(SystemCall, BytesGoThroughAPipe) {
  const pipe_of_two pipe;
  EXPECT_EQ(calls::write(pipe.writer(), "abc", 3), 3);
  char first[1], rest[8];
  const iovec to[] = {{first, sizeof first}, {rest, sizeof rest}};
  EXPECT_EQ(calls::readv(pipe.reader(), to, 2), 3);
  EXPECT_EQ(first[0], 'a');
  EXPECT_EQ(std::string(rest, 2), "bc");
}

TEST(SystemCall, DatagramsTellWhereTheyCameFrom) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
  EXPECT_EQ(calls::sendto(ends[0], "hello", 5, MSG_NOSIGNAL, nullptr, 0), 5);
  char text[8];
  sockaddr_storage from;
  socklen_t size = sizeof from;
  EXPECT_EQ(
      calls::recvfrom(ends[1], text, sizeof text, 0, reinterpret_cast<sockaddr*>(&from), &size), 5);
  EXPECT_EQ(std::string(text, 5), "hello");
  EXPECT_LE(size, sizeof(sa_family_t));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace sley::platform
