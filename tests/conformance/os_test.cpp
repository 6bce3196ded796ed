// Files, pipes and descriptors of others. The rows of Go's tests stand beside the tests.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/temporary_file.hpp"

#include <sley/os.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

using sley::wait_group;
using sley::os::file;
using sley::os::pipe_ends;
using sley::os::poll_fd;
using sley_test::bytes_of;
using sley_test::let_others_run;
using sley_test::read_error;
using sley_test::read_to_end;
using sley_test::rounds;
using sley_test::temporary_file;
using namespace std::chrono_literals;

// G16.
GO_TEST(os, a_pipe_carries_bytes_to_its_end) {
  pipe_ends p = sley::os::pipe();
  wait_group group;
  group.go([&] { EXPECT_EQ(read_to_end(p.reader), "hello, world"); });
  let_others_run();
  p.writer.write_all(bytes_of("hello"));
  let_others_run();
  p.writer.write_all(bytes_of(", world"));
  p.writer.close();
  group.wait();
}

// G16. An error, not a signal.
GO_TEST(os, a_pipe_without_a_reader_is_broken) {
  pipe_ends p = sley::os::pipe();
  p.reader.close();
  for (int i = 0; i < 3; ++i) {  // each time anew, and no event tells it
    std::error_code error;
    p.writer.write_all(bytes_of("x"), error);
    EXPECT_EQ(error, std::errc::broken_pipe);
  }
}

namespace {

// Makes a standard stream a pipe that has no reader.
void leave_without_reader(int stream) {
  int ends[2];
  if (::pipe(ends) != 0 || ::dup2(ends[1], stream) != stream) std::_Exit(4);
  ::close(ends[0]);
  ::close(ends[1]);
}

// ... and writes to it as programs do, after a pipe of the library's has been broken.
int write_to_a_stream_without_reader(int stream) {
  return sley::run([stream] {
    pipe_ends p = sley::os::pipe();
    p.reader.close();
    std::error_code error;
    p.writer.write_all(bytes_of("x"), error);
    if (error != std::errc::broken_pipe) return 5;
    leave_without_reader(stream);
    return ::write(stream, "x", 1) == 1 ? 6 : 7;
  });
}

// ... and as a file of the library's.
int write_to_a_file_without_reader(int stream) {
  return sley::run([stream] {
    leave_without_reader(stream);
    std::error_code error;
    const file standard(stream);
    standard.write_all(bytes_of("x"), error);
    return error == std::errc::broken_pipe ? 7 : 5;
  });
}

}  // namespace

CHILD_MAIN(writes_to_output_without_a_reader) { return write_to_a_stream_without_reader(1); }
CHILD_MAIN(writes_to_errors_without_a_reader) { return write_to_a_stream_without_reader(2); }
CHILD_MAIN(has_output_as_a_file_without_a_reader) { return write_to_a_file_without_reader(1); }
CHILD_MAIN(has_errors_as_a_file_without_a_reader) { return write_to_a_file_without_reader(2); }

// G16, TestStdPipe. Unlike in Go it is not the number that counts, but whether the program
// or the library writes.
TEST(os, writes_of_the_programs_own_to_a_broken_standard_stream_end_the_process) {
  for (const char* name :
       {"writes_to_output_without_a_reader", "writes_to_errors_without_a_reader"}) {
    const auto child = sley_test::run_child(name);
    EXPECT_EQ(child.signal, SIGPIPE) << name << ": " << child;
  }
  for (const char* name :
       {"has_output_as_a_file_without_a_reader", "has_errors_as_a_file_without_a_reader"}) {
    const auto child = sley_test::run_child(name);
    EXPECT_EQ(child.status, 7) << name << ": " << child;
  }
}

GO_TEST(os, a_writer_waits_while_the_pipe_is_full) {
  pipe_ends p = sley::os::pipe();
  const std::string much(1'000'000, 'x');
  wait_group group;
  group.go([&] {
    p.writer.write_all(bytes_of(much));
    p.writer.close();
  });
  EXPECT_EQ(read_to_end(p.reader).size(), much.size());
  group.wait();
}

GO_TEST(os, pipes_have_deadlines) {
  const pipe_ends p = sley::os::pipe();
  p.reader.set_read_deadline(std::chrono::steady_clock::now() + 10ms);
  EXPECT_EQ(read_error(p.reader), std::errc::timed_out);
}

// G14, G15.
GO_TEST(os, closing_a_pipe_ends_every_read) {
  for (int i = 0; i < rounds(200); ++i) {
    pipe_ends p = sley::os::pipe();
    wait_group group;
    for (int reader = 0; reader < 3; ++reader) {
      group.go([&] { EXPECT_EQ(read_error(p.reader), std::errc::operation_canceled); });
    }
    if (i % 2 == 0) let_others_run();
    p.reader.close();
    group.wait();
  }
}

GO_TEST(os, a_byte_goes_back_and_forth) {
  const pipe_ends there = sley::os::pipe(), back = sley::os::pipe();
  const int count = rounds(5'000);
  wait_group group;
  group.go([&] {
    std::array<std::byte, 1> byte;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(there.reader.read_some(byte), 1U);
      byte[0] = std::byte(std::to_integer<int>(byte[0]) + 1);
      back.writer.write_all(byte);
    }
  });
  std::array<std::byte, 1> byte{};
  for (int i = 0; i < count; ++i) {
    there.writer.write_all(byte);
    ASSERT_EQ(back.reader.read_some(byte), 1U);
    ASSERT_EQ(std::to_integer<int>(byte[0]), (i + 1) % 256);
  }
  group.wait();
}

GO_TEST(os, a_regular_file_is_written_and_read) {
  const file f = temporary_file();
  f.write_all(bytes_of("0123456789"));
  EXPECT_EQ(f.size(), 10U);
  std::array<char, 4> got;
  EXPECT_EQ(f.read_at(std::as_writable_bytes(std::span(got)), 3), 4U);
  EXPECT_EQ(std::string(got.data(), got.size()), "3456");
  EXPECT_EQ(f.write_at(bytes_of("xx"), 4), 2U);
  EXPECT_EQ(f.read_at(std::as_writable_bytes(std::span(got)), 3), 4U);
  EXPECT_EQ(std::string(got.data(), got.size()), "3xx6");
  EXPECT_EQ(f.read_at(std::as_writable_bytes(std::span(got)), 10), 0U);  // the end
  f.sync();
}

// G12.
GO_TEST(os, a_regular_file_has_no_deadlines) {
  const file f = temporary_file();
  try {
    f.set_deadline(std::chrono::steady_clock::now());
    FAIL() << "there is none";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::operation_not_supported);
  }
}

GO_TEST(os, many_read_one_file_at_once) {
  const file f = temporary_file();
  std::string content;
  for (int i = 0; i < 1000; ++i) content += std::to_string(10'000 + i);
  f.write_all(bytes_of(content));
  wait_group group;
  for (int g = 0; g < 8; ++g) {
    group.go([&] {
      std::array<char, 5> got;
      for (std::size_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(f.read_at(std::as_writable_bytes(std::span(got)), 5 * i), 5U);
        ASSERT_EQ(std::string(got.data(), got.size()), content.substr(5 * i, 5));
      }
    });
  }
  group.wait();
}

GO_TEST(os, a_closed_file_says_so) {
  file f = temporary_file();
  f.close();
  std::error_code error;
  std::array<std::byte, 1> byte;
  f.read_at(byte, 0, error);
  EXPECT_EQ(error, std::errc::operation_canceled);
  f.write_all(bytes_of("x"), error);
  EXPECT_EQ(error, std::errc::operation_canceled);
  EXPECT_EQ(read_error(file()), std::errc::bad_file_descriptor);
}

GO_TEST(os, a_file_tells_its_size_or_why_it_has_none) {
  const file f = temporary_file();
  f.write_all(bytes_of("seven.."));
  std::error_code error = std::make_error_code(std::errc::timed_out);
  EXPECT_EQ(f.size(error), 7U);
  EXPECT_FALSE(error);
  f.sync(error);
  EXPECT_FALSE(error);
  EXPECT_EQ(file().size(error), 0U);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
  EXPECT_THROW(file().size(), std::system_error);
  file().sync(error);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
  EXPECT_THROW(file().sync(), std::system_error);
}

GO_TEST(os, open_names_the_file_it_could_not_open) {
  try {
    file::open("/nonexistent/sley", O_RDONLY);
    FAIL() << "there is none";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
    EXPECT_NE(std::string(e.what()).find("/nonexistent/sley"), std::string::npos) << e.what();
  }
}

GO_TEST(os, devices_that_are_always_ready_are_files) {
  const file zero = file::open("/dev/zero", O_RDONLY), null = file::open("/dev/null", O_WRONLY);
  std::array<std::byte, 100> bytes;
  bytes.fill(std::byte{1});
  EXPECT_EQ(zero.read_some(bytes), 100U);
  EXPECT_EQ(bytes[99], std::byte{0});
  null.write_all(bytes);
}

GO_TEST(os, a_descriptor_of_no_file_system_is_waited_for) {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ASSERT_GE(fd, 0);
  const file events(fd);
  wait_group group;
  group.go([&] {
    std::uint64_t count = 0;
    EXPECT_EQ(events.read_some(std::as_writable_bytes(std::span(&count, 1))), sizeof count);
    EXPECT_EQ(count, 3U);
  });
  let_others_run();
  const std::uint64_t three = 3;
  events.write_all(std::as_bytes(std::span(&three, 1)));
  group.wait();
}

GO_TEST(os, waits_for_descriptors_of_others) {
  const int fd = ::eventfd(0, EFD_NONBLOCK);
  ASSERT_GE(fd, 0);
  {
    const poll_fd event(fd);
    event.wait_writable();
    std::atomic<bool> has_come{false};
    wait_group group;
    group.go([&] {
      event.wait_readable();
      has_come = true;
    });
    let_others_run();
    EXPECT_FALSE(has_come);
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(fd, &one, sizeof one), 8);
    group.wait();
    event.wait_readable();  // it still is
    std::uint64_t value = 0;
    EXPECT_EQ(::read(fd, &value, sizeof value), 8);
    event.set_read_deadline(std::chrono::steady_clock::now() + 5ms);
    std::error_code error;
    event.wait_readable(error);
    EXPECT_EQ(error, std::errc::timed_out);
  }
  EXPECT_EQ(::close(fd), 0) << "it is still open";
}

GO_TEST(os, a_regular_file_cannot_be_waited_for) {
  const file f = temporary_file();
  std::error_code error;
  const poll_fd nothing(f.native_handle(), error);
  EXPECT_EQ(error, std::errc::operation_not_permitted);
  nothing.wait_readable(error);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
}

// Of three goroutines that wait for one descriptor, one gives up alone, each in turn.
GO_TEST(poll_fd, a_wait_ends_with_its_context_and_the_others_go_on) {
  for (int round = 0; round < sley_test::rounds(100); ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    poll_fd end(ends[0]);
    std::vector<std::pair<sley::context, sley::cancel_function>> limits;
    std::atomic<int> canceled = 0;
    std::atomic<int> ready = 0;
    sley::wait_group all;
    for (int i = 0; i < 3; ++i) {
      limits.push_back(sley::with_cancel(sley::context::background()));
      all.go([&, ctx = limits.back().first] {
        std::error_code error;
        end.wait_readable(ctx, error);
        ++(error == sley::context_errc::canceled ? canceled : ready);
        EXPECT_TRUE(!error || error == sley::context_errc::canceled);
      });
    }
    if (round % 2 == 0) sley_test::let_others_run();
    limits[static_cast<std::size_t>(round % 3)].second();
    EXPECT_TRUE(sley_test::eventually([&] { return canceled == 1; }));
    EXPECT_EQ(ready, 0);
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    all.wait();
    EXPECT_EQ(ready, 2);
    std::error_code error;
    end.wait_readable(limits[static_cast<std::size_t>(round % 3)].first, error);
    EXPECT_EQ(error, sley::context_errc::canceled) << "also where it would be ready";
    end.close();
    ::close(ends[0]);
    ::close(ends[1]);
  }
}
