// Aim: the line writer formats right, cuts what does not fit, and keeps errno. Method: its view,
// and a pipe.
#include "base/print.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

using sley::base::line_writer;

namespace {

TEST(line_writer, numbers_are_written_in_full) {
  line_writer line;
  line.dec(0).text(" ").dec(-7).text(" ").dec(42U).text(" ").dec(INT64_MIN).text(" ");
  line.dec(UINT64_MAX).text(" ").hex(0).text(" ").hex(0xdeadbeef12345678U);
  EXPECT_EQ(line.view(),
            "0 -7 42 -9223372036854775808 18446744073709551615 0x0 0xdeadbeef12345678");
}

TEST(line_writer, bytes_are_two_digits_each) {
  line_writer line;
  line.bytes({}).bytes(std::as_bytes(std::span("\x01\xab\xff", 4)));
  EXPECT_EQ(line.view(), "01abff00");
}

TEST(line_writer, escapes_control_characters) {
  line_writer line;
  line.shown("caf\xc3\xa9 \\ a").text("|").shown(std::string_view("\x1b[2J\n\0\x7f", 7));
  EXPECT_EQ(line.view(), "caf\xc3\xa9 \\\\ a|\\x1b[2J\\n\\0\\x7f");
}

TEST(line_writer, a_line_that_is_too_long_is_cut) {
  line_writer line;
  const std::string many(1000, 'x');
  line.text(many).text(many).dec(5);
  EXPECT_EQ(line.view(), std::string(1024, 'x'));
}

TEST(line_writer, nothing_of_a_long_text_is_cut) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string all = "begin" + std::string(1019, 'x') + std::string(3000, 'y') + "end";
  line_writer line;
  line.text("begin").long_text(all.substr(5, 1019), ends[1]);
  EXPECT_EQ(line.view().size(), 1024U) << "it fits";
  line.long_text(all.substr(1024), ends[1]).flush(ends[1]);
  std::string buffer(5000, '\0');
  const ssize_t n = read(ends[0], buffer.data(), buffer.size());
  EXPECT_EQ(buffer.substr(0, static_cast<std::size_t>(n)), all);
  close(ends[0]);
  close(ends[1]);
}

TEST(line_writer, flush_writes_once_and_starts_afresh) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  line_writer line;
  line.text("one").flush(ends[1]);
  EXPECT_TRUE(line.view().empty());
  line.text("two").flush(ends[1]);
  char buffer[16] = {};
  EXPECT_EQ(read(ends[0], buffer, sizeof(buffer)), 6);
  EXPECT_STREQ(buffer, "onetwo");
  close(ends[0]);
  close(ends[1]);
}

TEST(line_writer, flush_to_nowhere_keeps_errno_and_returns) {
  line_writer line;
  errno = ENOTTY;
  line.text("lost").flush(-1);
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_TRUE(line.view().empty());
}

}  // namespace
