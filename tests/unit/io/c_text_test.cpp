// Aim: a message shows any text on one line, without what a terminal obeys, and not all of a long
// one.
#include <sley/detail/c_text.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <system_error>

namespace {

namespace detail = sley::detail;

TEST(quoted, shows_plain_text_as_it_is) {
  EXPECT_EQ(detail::quoted(""), "\"\"");
  EXPECT_EQ(detail::quoted("127.0.0.1:80"), "\"127.0.0.1:80\"");
  EXPECT_EQ(detail::quoted("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
}

TEST(quoted, escapes_control_characters) {
  EXPECT_EQ(detail::quoted("a\r\nb: c\t"), "\"a\\r\\nb: c\\t\"");
  EXPECT_EQ(detail::quoted("\x1b[2J\x7f\x01"), "\"\\x1b[2J\\x7f\\x01\"");
}

TEST(quoted, escapes_all_that_a_line_of_the_log_escapes) {
  EXPECT_EQ(detail::quoted("C:\\new"), "\"C:\\\\new\"");
  EXPECT_EQ(detail::quoted("\xc2\x9b\x9b\xe2\x80\xae"), "\"\\xc2\\x9b\\x9b\\xe2\\x80\\xae\"");
}

TEST(quoted, names_the_place_of_a_zero_byte) {
  EXPECT_EQ(detail::quoted(std::string_view("a\0b\0", 4)),
            "\"a\\0b\\0\" with a zero byte at position 1");
}

TEST(quoted, cuts_long_texts_and_tells_their_length) {
  const std::string begin(200, 'a');
  EXPECT_EQ(detail::quoted(begin), '"' + begin + '"');
  EXPECT_EQ(detail::quoted(begin + "b"), '"' + begin + "...\" of 201 bytes");
  const std::string euro = "\xe2\x82\xac";
  for (const std::size_t before : {197U, 198U, 199U}) {
    const std::string start(before, 'a');
    const std::string text = start + euro + euro;
    EXPECT_EQ(detail::quoted(text), '"' + start + (before == 197 ? euro : "") + "...\" of " +
                                        std::to_string(text.size()) + " bytes");
  }
  const std::string zeros(1 << 20, '\0');
  EXPECT_TRUE(
      detail::quoted(zeros).ends_with("...\" of 1048576 bytes with a zero byte at position 0"));
  EXPECT_LT(detail::quoted(zeros).size(), 500U);
}

TEST(quoted, is_the_form_in_exceptions) {
  const auto error = std::make_error_code(std::errc::invalid_argument);
  EXPECT_EQ(std::string(detail::failed(error, "sley: open", "a\nb").what()),
            "sley: open \"a\\nb\": Invalid argument");
}

}  // namespace
