// What others have chosen stays in its line, and tells a terminal nothing.
#include <sley/detail/escape.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  sley::detail::escape(text, [&](std::string_view piece) { result += piece; });
  return result;
}

}  // namespace

TEST(escape, leaves_readable_text_alone) {
  for (const char* text :
       {"", "plain", "back\\slash \"quoted\"", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(escape, replaces_control_characters) {
  EXPECT_EQ(escaped("a\nb\r\tc"), "a\\x0ab\\x0d\\x09c");
  EXPECT_EQ(escaped("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(escaped(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(escaped("\xc2\x9b"
                    "2J"),
            "\\xc2\\x9b2J");                              // CSI in Latin-1
  EXPECT_EQ(escaped("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");  // a line separator
}

TEST(escape, replaces_bytes_that_are_no_utf8) {
  EXPECT_EQ(escaped("\x9b"
                    "2J"),
            "\\x9b2J");
  EXPECT_EQ(escaped("\xc3"), "\\xc3");
  EXPECT_EQ(escaped("\xe2\x82z"), "\\xe2\\x82z");
  EXPECT_EQ(escaped("\xc0\x8a"), "\\xc0\\x8a");
  EXPECT_EQ(escaped("\xff"
                    "a"),
            "\\xffa");
}
