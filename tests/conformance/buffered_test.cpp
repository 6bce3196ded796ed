// Lines, texts and pieces of streams. The rows of Go's tests (bufio) stand beside the tests.
//
// A scripted stream gives out its bytes in the pieces that the test has chosen, and fails where the
// test says. So what is tested does not depend on how the system cuts what is sent.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/temporary_folder.hpp"

#include <sley/buffered.hpp>
#include <sley/net.hpp>
#include <sley/os.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>

using sley::buffered_reader;
using sley::buffered_reader_options;
using sley::buffered_writer;
using sley_test::bytes_of;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

// One read of it gives one piece, or a part if there is less room; an errc fails once.
struct scripted_source {
  struct step {
    std::string bytes;
    std::errc error{};
  };
  std::deque<step> steps;

  std::size_t read_some(std::span<std::byte> room, std::error_code& error) {
    error.clear();
    if (steps.empty()) return 0;
    step& next = steps.front();
    if (next.error != std::errc{}) {
      error = std::make_error_code(next.error);
      steps.pop_front();
      return 0;
    }
    const std::size_t n = std::min(room.size(), next.bytes.size());
    std::memcpy(room.data(), next.bytes.data(), n);
    next.bytes.erase(0, n);
    if (next.bytes.empty()) steps.pop_front();
    return n;
  }
};

scripted_source source_of(std::string_view text, std::size_t piece) {
  scripted_source s;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    s.steps.push_back({std::string(text.substr(0, piece))});
  }
  return s;
}

// Takes `room` bytes and fails then, until it has got room again.
struct scripted_sink {
  std::string taken = {};
  std::size_t room = std::string::npos;
  std::errc error = std::errc::timed_out;
  int calls = 0;

  std::size_t write_all(std::span<const std::byte> bytes, std::error_code& e) {
    e.clear();
    ++calls;
    const std::size_t n = std::min(room, bytes.size());
    taken.append(reinterpret_cast<const char*>(bytes.data()), n);
    if (room != std::string::npos) room -= n;
    if (n < bytes.size()) e = std::make_error_code(error);
    return n;
  }
};

std::vector<std::string> lines_of(std::string_view text, std::size_t piece,
                                  const buffered_reader_options& options = {}) {
  scripted_source s = source_of(text, piece);
  buffered_reader in(s, options);
  std::vector<std::string> lines;
  for (std::string line; in.read_line(line);) lines.push_back(line);
  EXPECT_EQ(in.position(), text.size());
  return lines;
}

using strings = std::vector<std::string>;

std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + '\n';
  return text;
}

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const std::system_error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace

// ---- lines ----

// TestReadLine, TestScanLines: however the bytes come.
GO_TEST(buffered_reader, lines_are_the_same_however_the_bytes_come) {
  const std::string text = "one\ntwo\r\n\n\r\nfive\rstill five\r\r\nsix\0with zero\nlast"s;
  const strings expected = {"one", "two", "", "", "five\rstill five\r", "six\0with zero"s, "last"};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(lines_of(text, piece), expected) << piece;
    EXPECT_EQ(lines_of(text, piece, {.buffer_bytes = 1}), expected) << piece;
  }
}

GO_TEST(buffered_reader, the_end_is_no_line) {
  EXPECT_EQ(lines_of("", 1), strings{});
  EXPECT_EQ(lines_of("\n", 1), strings{""});
  EXPECT_EQ(lines_of("a", 1), strings{"a"});
  EXPECT_EQ(lines_of("a\n", 1), strings{"a"});
  EXPECT_EQ(lines_of("a\r", 1), strings{"a\r"});
  EXPECT_EQ(lines_of("\r\n", 1), strings{""});
}

GO_TEST(buffered_reader, the_optional_form_ends_with_nullopt) {
  scripted_source s = source_of("x\n\ny", 2);
  buffered_reader in(s);
  EXPECT_EQ(in.read_line(), "x");
  EXPECT_EQ(in.read_line(), "");
  EXPECT_EQ(in.read_line(), "y");
  EXPECT_EQ(in.read_line(), std::nullopt);
  s = source_of("more\n", 3);  // a file that grows
  EXPECT_EQ(in.read_line(), "more");
}

// TestLineTooLong
GO_TEST(buffered_reader, a_line_of_the_limit_passes_and_a_longer_one_is_an_error) {
  for (const std::string& end : {"\n"s, "\r\n"s, ""s}) {
    for (std::size_t piece : {1U, 3U, 100U}) {
      for (std::size_t limit : {1U, 2U, 15U, 16U, 17U, 64U}) {
        const std::string fits(limit, 'x');
        EXPECT_EQ(lines_of(fits + end, piece, {.max_bytes = limit}), strings{fits});
        scripted_source s = source_of(fits + "x" + end, piece);
        buffered_reader in(s, {.max_bytes = limit});
        std::string line = "before";
        std::error_code error;
        EXPECT_FALSE(in.read_line(line, error)) << end << piece << ' ' << limit;
        EXPECT_EQ(error, std::errc::message_size);
        EXPECT_EQ(line, "");
        EXPECT_FALSE(in.read_line(line, error)) << "it stays too long";
        EXPECT_EQ(error, std::errc::message_size);
        EXPECT_EQ(in.position(), 0U);
      }
    }
  }
}

GO_TEST(buffered_reader, memory_is_bounded_by_the_limit) {
  struct endless {
    std::size_t given = 0;
    std::size_t read_some(std::span<std::byte> room, std::error_code& error) {
      error.clear();
      std::memset(room.data(), 'x', room.size());
      given += room.size();
      return room.size();
    }
  } source;
  buffered_reader in(source, {.buffer_bytes = 1000, .max_bytes = 100'000});
  std::string line;
  std::error_code error;
  EXPECT_FALSE(in.read_line(line, error));
  EXPECT_EQ(error, std::errc::message_size);
  EXPECT_LE(source.given, 300'000U);
}

GO_TEST(buffered_reader, a_line_that_is_too_long_can_be_passed_over) {
  scripted_source s = source_of("short\n" + std::string(1000, 'x') + "\nnext\n", 7);
  buffered_reader in(s, {.buffer_bytes = 16, .max_bytes = 20});
  EXPECT_EQ(in.read_line(), "short");
  EXPECT_EQ(message_of([&] { in.read_line(); }),
            "sley: read_line at byte 6 of more than 20 bytes: Message too long");
  EXPECT_TRUE(in.skip_until("\n"));
  EXPECT_EQ(in.position(), 1007U);
  EXPECT_EQ(in.read_line(), "next");
  EXPECT_FALSE(in.skip_until("\n"));
}

// An error in the middle of a line keeps what has come.
GO_TEST(buffered_reader, an_error_in_the_middle_of_a_line_keeps_its_bytes) {
  scripted_source s;
  s.steps = {{"first\nsec"}, {"", std::errc::timed_out},       {"ond"}, {"", std::errc::timed_out},
             {"\nthird"},    {"", std::errc::connection_reset}};
  buffered_reader in(s);
  std::string line;
  std::error_code error = std::make_error_code(std::errc::io_error);
  EXPECT_TRUE(in.read_line(line, error));
  EXPECT_EQ(line, "first");
  EXPECT_FALSE(error);
  EXPECT_FALSE(in.read_line(line, error));
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(in.buffered(), "sec");
  EXPECT_EQ(message_of([&] { in.read_line(line); }),
            "sley: read_line at byte 6: " + std::make_error_code(std::errc::timed_out).message());
  EXPECT_EQ(in.buffered(), "second");
  EXPECT_TRUE(in.read_line(line, error));
  EXPECT_EQ(line, "second");
  EXPECT_FALSE(in.read_line(line, error));
  EXPECT_EQ(error, std::errc::connection_reset) << "a line that was cut off is no line";
  EXPECT_EQ(in.buffered(), "third");
}

// ---- other delimiters ----

// TestReadStringAllocs and ReadString's documentation.
GO_TEST(buffered_reader, text_up_to_a_delimiter_has_it_at_its_end) {
  const std::string text = "a: 1\r\nb: 2\r\n\r\nbody\0tail"s;
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    scripted_source s = source_of(text, piece);
    buffered_reader in(s, {.buffer_bytes = 1});
    std::string part;
    EXPECT_TRUE(in.read_until("\r\n\r\n", part));
    EXPECT_EQ(part, "a: 1\r\nb: 2\r\n\r\n");
    EXPECT_TRUE(in.read_until("\0"s, part));
    EXPECT_EQ(part, "body\0"s);
    EXPECT_TRUE(in.read_until("\0"s, part));
    EXPECT_EQ(part, "tail") << "without the delimiter: the stream has ended";
    EXPECT_FALSE(in.read_until("\0"s, part));
    EXPECT_EQ(part, "");
  }
}

GO_TEST(buffered_reader, a_delimiter_that_begins_twice_is_found) {
  for (std::size_t piece = 1; piece < 8; ++piece) {
    scripted_source s = source_of("--\r--\r--x", piece);
    buffered_reader in(s);
    std::string part;
    EXPECT_TRUE(in.read_until("--\r--x", part));
    EXPECT_EQ(part, "--\r--\r--x");
  }
}

GO_TEST(buffered_reader, the_limit_counts_the_bytes_before_a_delimiter) {
  for (std::size_t piece : {1U, 2U, 100U}) {
    scripted_source s = source_of("12345ENDx123456END", piece);
    buffered_reader in(s, {.max_bytes = 5});
    std::string part;
    std::error_code error;
    EXPECT_TRUE(in.read_until("END", part, error));
    EXPECT_EQ(part, "12345END");
    EXPECT_FALSE(in.read_until("END", part, error));
    EXPECT_EQ(error, std::errc::message_size);
    EXPECT_TRUE(in.skip_until("END", error));
    EXPECT_FALSE(in.read_until("END", part, error));
    EXPECT_FALSE(error);
  }
}

GO_TEST(buffered_reader, an_empty_delimiter_is_refused) {
  scripted_source s = source_of("text", 4);
  buffered_reader in(s);
  std::string part;
  std::error_code error;
  EXPECT_FALSE(in.read_until("", part, error));
  EXPECT_EQ(error, std::errc::invalid_argument);
  EXPECT_FALSE(in.skip_until("", error));
  EXPECT_EQ(error, std::errc::invalid_argument);
  EXPECT_EQ(in.read_line(), "text");
}

// ---- pieces ----

GO_TEST(buffered_reader, exact_pieces_come_whole_and_the_end_is_told) {
  for (std::size_t piece : {1U, 3U, 50U}) {
    scripted_source s = source_of("$5\r\nhello\r\nabc", piece);
    buffered_reader in(s, {.buffer_bytes = 16});
    EXPECT_EQ(in.read_line(), "$5");
    std::string text = "before";
    in.read_exactly(5, text);
    EXPECT_EQ(text, "hello");
    in.skip(2);
    std::array<std::byte, 5> room;
    std::error_code error;
    EXPECT_EQ(in.read_exactly(room, error), 3U);
    EXPECT_EQ(error, std::errc::connection_aborted);
    EXPECT_EQ(in.position(), 14U);
    EXPECT_NE(message_of([&] {
                in.read_exactly(room);
              }).find("sley: read_exactly at byte 14, where the stream ends: "),
              std::string::npos);
    EXPECT_EQ(in.skip(3, error), 0U);
    EXPECT_EQ(error, std::errc::connection_aborted);
    in.read_exactly(0, text);
    EXPECT_EQ(text, "");
    EXPECT_EQ(in.skip(0, error), 0U);
    EXPECT_FALSE(error);
  }
}

GO_TEST(buffered_reader, a_size_that_a_peer_announces_takes_no_memory_by_itself) {
  scripted_source s = source_of("few", 3);
  buffered_reader in(s);
  std::string text;
  std::error_code error;
  in.read_exactly(SIZE_MAX / 2, text, error);
  EXPECT_EQ(error, std::errc::connection_aborted);
  EXPECT_EQ(text, "few");
  EXPECT_LT(text.capacity(), 1UL << 20);
}

GO_TEST(buffered_reader, large_texts_come_in_steps) {
  std::string large;
  for (int i = 0; large.size() < 1'000'000; ++i) large += std::to_string(i);
  scripted_source s = source_of(large, 777);
  buffered_reader in(s);
  std::string text;
  in.read_exactly(large.size(), text);
  EXPECT_EQ(text, large);
}

// TestPeek
GO_TEST(buffered_reader, peeking_takes_nothing_away) {
  scripted_source s;
  s.steps = {{"ab"}, {"cd"}, {"", std::errc::timed_out}, {"ef"}};
  buffered_reader in(s, {.buffer_bytes = 16, .max_bytes = 20});
  EXPECT_EQ(in.peek(0), "");
  EXPECT_EQ(in.peek(1), "a");
  EXPECT_EQ(in.peek(3), "abc");
  std::error_code error;
  EXPECT_EQ(in.peek(5, error), "abcd");
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(in.peek(5, error), "abcde");
  EXPECT_FALSE(error);
  EXPECT_EQ(in.peek(20, error), "abcdef") << "less than wanted: the end";
  EXPECT_FALSE(error);
  in.peek(21, error);
  EXPECT_EQ(error, std::errc::message_size);
  EXPECT_EQ(in.position(), 0U);
  EXPECT_EQ(in.read_line(), "abcdef");
  EXPECT_EQ(in.peek(1), "");
}

GO_TEST(buffered_reader, a_short_read_is_given_out_as_it_is) {
  scripted_source s;
  s.steps = {{"abc"}, {"defgh"}, {"", std::errc::timed_out}, {std::string(100, 'x')}};
  buffered_reader in(s, {.buffer_bytes = 16});
  std::array<std::byte, 2> small;
  std::array<std::byte, 50> large;
  std::error_code error;
  EXPECT_EQ(in.read_some({}, error), 0U);
  EXPECT_EQ(in.read_some(small, error), 2U);
  EXPECT_EQ(in.read_some(large, error), 1U) << "the buffer first";
  EXPECT_EQ(in.read_some(large, error), 5U);
  EXPECT_EQ(in.read_some(large, error), 0U);
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(in.read_some(large, error), 50U) << "past the buffer";
  EXPECT_EQ(in.position(), 58U);
}

// ---- writing ----

// TestWriter
GO_TEST(buffered_writer, bytes_arrive_in_order_whatever_the_sizes) {
  for (std::size_t buffer : {0U, 16U, 17U, 100U, 8192U}) {
    scripted_sink sink;
    std::string expected;
    {
      buffered_writer out(sink, buffer);
      for (std::size_t size = 0; size < 120; ++size) {
        const std::string piece(size, static_cast<char>('a' + size % 26));
        out.write_all(piece);
        expected += piece;
        EXPECT_EQ(sink.taken.size(), out.position());
        EXPECT_EQ(sink.taken.size() + out.buffered(), expected.size());
      }
      out.flush();
      EXPECT_EQ(sink.taken, expected);
      out.write_all("tail");
    }
    EXPECT_EQ(sink.taken, expected + "tail") << "the destructor writes what is left";
  }
}

GO_TEST(buffered_writer, small_pieces_make_few_calls) {
  scripted_sink sink;
  buffered_writer out(sink, 1000);
  for (int i = 0; i < 1000; ++i) out.write_all("0123456789");
  out.flush();
  EXPECT_EQ(sink.calls, 10);
  out.flush();
  EXPECT_EQ(sink.calls, 10) << "nothing to write";
}

// TestWriteErrors, but what was not written stays.
GO_TEST(buffered_writer, bytes_that_an_error_has_kept_back_are_written_later) {
  scripted_sink sink;
  buffered_writer out(sink, 16);
  out.write_all("0123456789");
  sink.room = 4;
  std::error_code error;
  out.flush(error);
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(sink.taken, "0123");
  EXPECT_EQ(out.buffered(), 6U);
  EXPECT_EQ(message_of([&] { out.flush(); }),
            "sley: flush at byte 4, 6 more are buffered: " +
                std::make_error_code(std::errc::timed_out).message());
  sink.room = 3;
  const std::string_view more = "abcdefghijklmnopqrstuvwxyz";
  const std::size_t taken = out.write_all(more, error);
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_LT(taken, more.size());
  sink.room = std::string::npos;
  EXPECT_EQ(out.write_all(more.substr(taken), error), more.size() - taken);
  out.flush(error);
  EXPECT_FALSE(error);
  EXPECT_EQ(sink.taken, "0123456789abcdefghijklmnopqrstuvwxyz");
}

GO_TEST(buffered_writer, bytes_that_the_destructor_cannot_write_are_a_line_on_stderr) {
  testing::internal::CaptureStderr();
  {
    scripted_sink sink{.room = 2, .error = std::errc::broken_pipe};
    buffered_writer out(sink);
    out.write_all("hello");
  }
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "sley: a buffered_writer is destroyed with 3 bytes that can't be written: Broken pipe\n");
}

GO_TEST(buffered_writer, a_loss_that_the_caller_knows_of_is_not_told_again) {
  testing::internal::CaptureStderr();
  scripted_sink sink{.room = 2, .error = std::errc::broken_pipe};
  {
    buffered_writer out(sink);
    out.write_all("hello");
    EXPECT_THROW(out.flush(), std::system_error);
  }
  EXPECT_EQ(sink.calls, 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  {
    buffered_writer out(sink);
    out.write_all("hello");
    EXPECT_THROW(out.flush(), std::system_error);
    out.write_all(" and more");  // what the error was not about
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("14 bytes"), std::string::npos);
}

GO_TEST(buffered_writer, an_exception_of_the_caller_loses_no_earlier_bytes) {
  scripted_sink sink;
  try {
    buffered_writer out(sink);
    out.write_all("before");
    throw std::runtime_error("of the caller");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(sink.taken, "before");
  }
}

// ---- over what there is ----

GO_TEST(buffered, lines_go_over_a_tcp_connection_and_back) {
  const sley_test::tcp_pair c = sley_test::connect_tcp();
  constexpr int count = 20'000;
  sley::wait_group group;
  group.go([&] {
    buffered_reader in(c.server);
    buffered_writer out(c.server);
    for (std::string line; in.read_line(line);) {
      out.write_all(line + "\r\n");
      if (in.buffered().empty()) out.flush();
    }
    out.flush();
    c.server.shutdown_write();
  });
  group.go([&] {
    buffered_writer out(c.client);
    out.write_all(numbers(count));
    out.flush();
    c.client.shutdown_write();
  });
  buffered_reader in(c.client);
  int next = 0;
  for (std::string line; in.read_line(line); ++next) ASSERT_EQ(line, std::to_string(next));
  EXPECT_EQ(next, count);
  group.wait();
}

GO_TEST(buffered, a_deadline_in_the_middle_of_a_line_loses_nothing) {
  const sley_test::tcp_pair c = sley_test::connect_tcp();
  buffered_reader in(c.server);
  c.client.write_all("half a ");
  EXPECT_EQ(in.peek(7), "half a ");
  c.server.set_read_deadline(sley::time_point::min());
  std::string line;
  std::error_code error;
  EXPECT_FALSE(in.read_line(line, error));
  EXPECT_EQ(error, std::errc::timed_out);
  c.server.set_read_deadline(sley::time_point::max());
  c.client.write_all("line\n");
  EXPECT_EQ(in.read_line(), "half a line");
}

GO_TEST(buffered, files_and_pipes_have_lines) {
  const sley_test::temporary_folder folder;
  const std::string path = folder / "lines";
  sley::os::write_file(path, numbers(5000) + "without an end");
  const auto f = sley::os::file::open(path, O_RDONLY);
  buffered_reader in(f);
  int next = 0;
  std::string line;
  for (; in.read_line(line) && next < 5000; ++next) ASSERT_EQ(line, std::to_string(next));
  EXPECT_EQ(line, "without an end");
  EXPECT_FALSE(in.read_line(line));

  auto ends = sley::os::pipe();
  ends.writer.write_all("a\nb");
  ends.writer.close();
  buffered_reader from_pipe(ends.reader);
  EXPECT_EQ(from_pipe.read_line(), "a");
  EXPECT_EQ(from_pipe.read_line(), "b");
  EXPECT_EQ(from_pipe.read_line(), std::nullopt);
}

GO_TEST(buffered, a_writer_without_a_reader_learns_it_at_the_flush) {
  auto ends = sley::os::pipe();
  ends.reader.close();
  buffered_writer out(ends.writer);
  out.write_all("hello");
  std::error_code error;
  out.flush(error);
  EXPECT_EQ(error, std::errc::broken_pipe);
  EXPECT_EQ(out.buffered(), 5U);
}

// ---- text without a buffer ----

GO_TEST(byte_stream, takes_text) {
  const sley_test::tcp_pair c = sley_test::connect_tcp();
  const std::string with_zero = "a\0b"s;
  std::error_code error;
  c.client.write_all("literal ");
  c.client.write_all(with_zero);
  EXPECT_EQ(c.client.write_all(std::string_view(" view"), error), 5U);
  EXPECT_EQ(c.client.write_some(" some"), 5U);
  EXPECT_EQ(c.client.write_some("!", error), 1U);
  EXPECT_EQ(c.client.write_all("", error), 0U);
  EXPECT_EQ(sley_test::read_exactly(c.server, 22), "literal a\0b view some!"s);

  const auto receiver = sley::net::udp_socket::bind("127.0.0.1:0");
  const auto sender = sley::net::udp_socket::connect(receiver.local().to_string());
  std::array<std::byte, 10> room;
  EXPECT_EQ(sender.send("ping", error), 4U);
  EXPECT_EQ(receiver.receive(room), 4U);
  EXPECT_EQ(sley::net::udp_socket::bind("127.0.0.1:0").send_to("pong!", receiver.local()), 5U);
  EXPECT_EQ(receiver.receive(room), 5U);
}

GO_TEST(byte_stream, names_what_streams_and_files_share) {
  const auto greet = [](const sley::byte_stream& s) { s.write_all("hello\n"); };
  const sley_test::tcp_pair c = sley_test::connect_tcp();
  greet(c.client);
  EXPECT_EQ(sley_test::read_exactly(c.server, 6), "hello\n");
  auto ends = sley::os::pipe();
  greet(ends.writer);
  EXPECT_EQ(buffered_reader(ends.reader).read_line(), "hello");
  static_assert(sley::byte_source<const sley::os::file> && sley::byte_sink<sley::net::tcp_stream>);
  static_assert(!sley::byte_source<sley::net::tcp_listener>);
}
