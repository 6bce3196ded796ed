// Closing, and looking at the number of, what a goroutine is just reading or writing: pipes, and
// descriptors of others that were taken over. The rows of Go's tests stand beside the tests.
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/os.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

using sley::chan;
using sley::wait_group;
using sley::os::file;
using sley::os::pipe_ends;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::is_parked;
using sley_test::let_others_run;
using sley_test::read_error;
using sley_test::rounds;

namespace {

bool blocks(int fd) { return (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0; }

}  // namespace

// G14, TestFdRace, TestFdReadRace. Asking for the number disturbs no reader, and does not wait.
GO_TEST(os, native_handle_returns_while_a_reader_waits) {
  const pipe_ends p = sley::os::pipe();
  const int fd = p.reader.native_handle();
  const chan<std::error_code> ended(1);
  go_until_parked([&] { ended.send(read_error(p.reader)); });
  EXPECT_EQ(p.reader.native_handle(), fd);
  EXPECT_FALSE(blocks(fd)) << "unlike in Go it stays as it is";
  p.writer.write_all(bytes_of("x"));
  EXPECT_EQ(*ended.receive(), std::error_code());
}

// G14. It is the number, or -1, whatever else happens; and then it is closed.
GO_TEST(os, the_number_may_be_had_while_others_read_and_close) {
  for (int i = 0; i < rounds(200); ++i) {
    pipe_ends p = sley::os::pipe();
    const int fd = p.reader.native_handle();
    wait_group group;
    group.go([&] { EXPECT_EQ(read_error(p.reader), std::errc::operation_canceled); });
    for (int looker = 0; looker < 3; ++looker) {
      group.go([&] {
        int seen = fd;
        EXPECT_TRUE(eventually([&] {
          seen = p.reader.native_handle();
          return seen != fd;
        }));
        EXPECT_EQ(seen, -1);
      });
    }
    if (i % 2 == 0) let_others_run();
    p.reader.close();
    group.wait();
  }
}

// G4, G14, TestClosedPipeRaceWrite. What it has written can be read, and nothing else.
GO_TEST(os, closing_a_pipe_ends_every_write) {
  const std::string much(1'000'000, 'x');
  for (int i = 0; i < rounds(100); ++i) {
    pipe_ends p = sley::os::pipe();
    const chan<std::size_t> written(1);
    go_until_parked([&] {
      std::error_code error;
      const std::size_t n = p.writer.write_all(bytes_of(much), error);
      EXPECT_EQ(error, std::errc::operation_canceled);
      written.send(n);
    });
    wait_group others;
    for (int other = 0; other < 2; ++other) {  // in line behind it
      others.go([&] {
        std::error_code error;
        EXPECT_EQ(p.writer.write_all(bytes_of("y"), error), 0U);
        EXPECT_EQ(error, std::errc::operation_canceled);
      });
    }
    if (i % 2 == 0) let_others_run();
    p.writer.close();
    others.wait();
    EXPECT_EQ(sley_test::read_to_end(p.reader), std::string(*written.receive(), 'x'));
  }
}

// G15, TestCloseWithBlockingReadByNewFile: what blocked before it was taken over.
GO_TEST(os, closing_ends_a_read_of_a_pipe_that_was_taken_over) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(blocks(ends[0]));
  file reader(ends[0]);
  const file writer(ends[1]);
  EXPECT_FALSE(blocks(reader.native_handle()));
  const chan<std::error_code> ended(1);
  go_until_parked([&] { ended.send(read_error(reader)); });
  reader.close();
  EXPECT_EQ(*ended.receive(), std::errc::operation_canceled);
}

// G4, G15, TestCloseWithBlockingReadByFd: the pipe was made blocking again, as another process
// that shares it may do. The call can't be interrupted: close() waits for it, as a goroutine waits.
GO_TEST(os, closing_waits_for_a_read_that_blocks_its_thread) {
  pipe_ends p = sley::os::pipe();
  const int fd = p.reader.native_handle();
  ASSERT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
  std::array<std::atomic<const void*>, 2> readers{};
  const chan<std::error_code> ended(2);
  for (auto& reader : readers) {
    sley::go([&] {
      reader = sley_test::current_goroutine();
      ended.send(read_error(p.reader));
    });
  }
  // One reads and blocks its thread, the other waits for its turn.
  const auto waits = [](const void* reader) { return reader != nullptr && is_parked(reader); };
  EXPECT_TRUE(eventually([&] { return waits(readers[0]) || waits(readers[1]); }));
  const chan<void> closed;
  go_until_parked([&] {
    p.reader.close();
    closed.close();
  });
  EXPECT_EQ(ended.size(), 0U);
  EXPECT_EQ(read_error(p.reader), std::errc::operation_canceled) << "it is closed for all others";
  p.writer.write_all(bytes_of("x"));
  std::error_code error = *ended.receive(), other = *ended.receive();
  if (error) std::swap(error, other);
  EXPECT_EQ(error, std::error_code()) << "the one that has read";
  EXPECT_EQ(other, std::errc::operation_canceled) << "the one that never got a turn";
  closed.receive();
}
