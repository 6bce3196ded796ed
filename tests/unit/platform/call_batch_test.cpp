// Aim: each call of a batch ends once, in order, as the call alone would end, and before make()
// returns: none waits. What the kernel does not take is said to be not made. Method: pairs of
// sockets and files whose state makes the calls succeed, fail or find nothing.
#include "platform/call_batch.hpp"

#include "support/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace platform = sley::platform;
using platform::call_batch;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
std::span<std::byte> room_in(std::string& text) { return std::as_writable_bytes(std::span(text)); }

struct ended {
  int number;
  std::int32_t result;
  bool operator==(const ended&) const = default;
};

class call_batches : public ::testing::Test {
 protected:
  void SetUp() override {
    const int error = batch_.open();
    if (error == EPERM || error == ENOSYS || error == EINVAL) GTEST_SKIP() << "no io_uring here";
    ASSERT_EQ(error, 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
  }
  void TearDown() override {
    for (const int fd : ends_) ::close(fd);
  }

  void add(const platform::batched_call& call) {
    numbers_[added_] = static_cast<int>(added_);
    batch_.add(call, &numbers_[added_]);
    ++added_;
  }
  std::vector<ended> make() {
    std::vector<ended> all;
    batch_.make(
        [&](void* tag, std::int32_t result) { all.push_back({*static_cast<int*>(tag), result}); });
    added_ = 0;
    return all;
  }

  call_batch batch_;
  int ends_[2] = {-1, -1};

 private:
  int numbers_[call_batch::capacity] = {};
  std::size_t added_ = 0;
};

TEST_F(call_batches, end_in_order_as_the_calls_alone_would) {
  std::string got(8, '.');
  std::string none(8, '.');
  add(platform::send_call(ends_[0], bytes_of("word")));
  add(platform::receive_call(ends_[1], room_in(got)));
  add(platform::receive_call(ends_[1], room_in(none)));
  add(platform::receive_call(-1, room_in(none)));
  EXPECT_EQ(make(), (std::vector<ended>{{0, 4}, {1, 4}, {2, -EAGAIN}, {3, -EBADF}}));
  EXPECT_EQ(got, "word....");
  EXPECT_EQ(none, "........");
}

TEST_F(call_batches, take_messages_of_several_buffers) {
  std::string parts[4] = {"one", "two", "...", "..."};
  iovec from[2];
  iovec to[2];
  for (int i = 0; i < 2; ++i) {
    from[i] = {parts[i].data(), 3};
    to[i] = {parts[2 + i].data(), 3};
  }
  msghdr sent = {};
  sent.msg_iov = from;
  sent.msg_iovlen = 2;
  msghdr received = {};
  received.msg_iov = to;
  received.msg_iovlen = 2;
  add(platform::send_message_call(ends_[0], sent));
  add(platform::receive_message_call(ends_[1], received));
  EXPECT_EQ(make(), (std::vector<ended>{{0, 6}, {1, 6}}));
  EXPECT_EQ(parts[2] + parts[3], "onetwo");
}

TEST_F(call_batches, wait_for_no_room_and_raise_no_signal) {
  const std::string much(std::size_t{1} << 20, 'x');
  int expected = 0;
  do {
    add(platform::send_call(ends_[0], bytes_of(much)));
    expected = make().front().result;
  } while (expected > 0);
  EXPECT_EQ(expected, -EAGAIN);
  ::shutdown(ends_[1], SHUT_RDWR);
  add(platform::send_call(ends_[0], bytes_of("word")));
  EXPECT_EQ(make(), (std::vector<ended>{{0, -EPIPE}}));  // SIGPIPE would end the process
}

TEST_F(call_batches, are_made_again_and_again) {
  EXPECT_TRUE(make().empty());
  std::array<std::byte, 1> byte = {};
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t i = 0; !batch_.is_full(); ++i) {
      add(i % 2 == 0 ? platform::send_call(ends_[0], byte)
                     : platform::receive_call(ends_[1], byte));
    }
    const std::vector<ended> all = make();
    ASSERT_EQ(all.size(), call_batch::capacity);
    for (int i = 0; i < static_cast<int>(call_batch::capacity); ++i) {
      ASSERT_EQ(all[static_cast<std::size_t>(i)], (ended{i, 1}));
    }
    EXPECT_FALSE(batch_.is_full());
    add(platform::receive_call(ends_[1], byte));  // batches begin at other places
    ASSERT_EQ(make(), (std::vector<ended>{{0, -EAGAIN}}));
  }
}

TEST_F(call_batches, read_what_a_file_has_in_memory) {
  char path[] = "/tmp/sley-test-XXXXXX";
  const int fd = ::mkstemp(path);
  ::unlink(path);
  ASSERT_EQ(::write(fd, "0123456789", 10), 10);
  std::string middle(4, '.');
  std::string last(4, '.');
  std::string none(4, '.');
  add(platform::read_at_call(fd, room_in(middle), 3));
  add(platform::read_at_call(fd, room_in(last), 8));
  add(platform::read_at_call(fd, room_in(none), 10));
  const std::vector<ended> all = make();
  ASSERT_EQ(all.size(), 3U);
  ::close(fd);
  if (all[0].result == -EOPNOTSUPP) GTEST_SKIP() << "the file system can't tell what is in memory";
  EXPECT_EQ(all, (std::vector<ended>{{0, 4}, {1, 2}, {2, 0}}));
  EXPECT_EQ(middle, "3456");
  EXPECT_EQ(last, "89..");
}

TEST_F(call_batches, say_what_the_kernel_has_not_taken) {
  std::array<std::byte, 1> byte = {};
  // As careless programs do, which close all that they do not know.
  std::ranges::for_each(sley_test::ring_descriptors(), ::close);
  add(platform::send_call(ends_[0], byte));
  add(platform::send_call(ends_[0], byte));
  std::vector<ended> all = make();
  std::ranges::sort(all, {}, &ended::number);
  EXPECT_EQ(all, (std::vector<ended>{{0, platform::not_made}, {1, platform::not_made}}));
  add(platform::send_call(ends_[0], byte));
  EXPECT_EQ(make(), (std::vector<ended>{{0, platform::not_made}}));
}

}  // namespace
