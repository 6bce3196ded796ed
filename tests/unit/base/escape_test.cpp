// A text of unknown origin stays in its line, tells a terminal nothing, and can be told from every
// other text. Method: all bytes, all pairs of bytes, all code points, and random bytes, each read
// back.
#include <sley/detail/escape.hpp>

#include "base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  sley::detail::escape(text, [&](std::string_view piece) { result += piece; });
  return result;
}

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// The text that was escaped.
std::string read_back(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (text[0] != '\\') {
      result += text[0];
      text.remove_prefix(1);
      continue;
    }
    constexpr std::string_view names = "\\0nrt", values("\\\0\n\r\t", 5);
    const std::size_t name = names.find(text.at(1));
    const bool is_coded = name == std::string_view::npos;
    result +=
        is_coded ? static_cast<char>(digit(text.at(2)) * 16 + digit(text.at(3))) : values[name];
    text.remove_prefix(is_coded ? 4 : 2);
  }
  return result;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

void expect_harmless_and_readable(std::string_view text) {
  const std::string shown = escaped(text);
  EXPECT_TRUE(std::ranges::none_of(shown, is_control)) << shown;
  EXPECT_EQ(read_back(shown), text) << shown;
}

// With all bits of a code point, in UTF-8's form of this length.
std::string encoded(char32_t c, int size) {
  if (size == 1) return {static_cast<char>(c)};
  std::string bytes;
  for (int i = 1; i < size; ++i, c >>= 6) bytes.insert(0, 1, static_cast<char>(0x80 | (c & 0x3f)));
  constexpr char32_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
  bytes.insert(0, 1, static_cast<char>(first[size] | c));
  return bytes;
}

std::string encoded(char32_t c) {
  return encoded(c, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
}

// Each of its bytes as \x and two digits.
std::string coded(std::string_view text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
  }
  return result;
}

bool is_one_of(char32_t c, std::initializer_list<char32_t> all) {
  return std::ranges::find(all, c) != all.end();
}

// What a terminal or a viewer of text obeys.
bool is_obeyed(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) ||
         is_one_of(c, {0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d,
                       0x202e, 0x2066, 0x2067, 0x2068, 0x2069});
}

}  // namespace

TEST(escape, leaves_readable_text_alone) {
  for (const char* text :
       {"", "plain", "slash / \"quoted\" 'x'", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(escape, replaces_controls_of_a_terminal) {
  EXPECT_EQ(escaped("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(escaped("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(escaped(std::string_view("\0\x7f", 2)), "\\0\\x7f");
  EXPECT_EQ(escaped("\xc2\x9b"
                    "2J"),
            "\\xc2\\x9b2J");                              // CSI in Latin-1
  EXPECT_EQ(escaped("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");  // a line separator
  EXPECT_EQ(escaped("\xe2\x80\xae"
                    "txt.exe"),
            "\\xe2\\x80\\xaetxt.exe");  // from right to left
}

TEST(escape, tells_a_control_from_its_name) {
  EXPECT_EQ(escaped("\\x1b"), "\\\\x1b");
  EXPECT_EQ(escaped("\\n"), "\\\\n");
  EXPECT_EQ(escaped("a\\"), "a\\\\");
}

TEST(escape, replaces_bytes_that_are_no_utf8) {
  for (const std::string_view text : {"\x9b", "\xc3", "\xff", "\xc0\x8a", "\xc1\xbf", "\xe2\x82",
                                      "\xf0\x9f\x98", "\xf5\x80\x80\x80"}) {
    EXPECT_EQ(escaped(text), coded(text));
    EXPECT_EQ(escaped(std::string(text) + 'a'), coded(text) + 'a');
  }
  EXPECT_EQ(escaped("\xe2\x82z"), "\\xe2\\x82z");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a pair of UTF-16
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // behind the last code point
  // A lenient reader would take each of these for the escape character.
  for (const int size : {2, 3, 4}) {
    EXPECT_EQ(escaped(encoded(0x1b, size)), coded(encoded(0x1b, size)));
  }
}

TEST(escape, of_each_byte) {
  for (int i = 0; i < 256; ++i) {
    const std::string text(1, static_cast<char>(i));
    std::string expected = i >= 0x20 && i < 0x7f ? text : coded(text);
    if (i == '\\') expected = "\\\\";
    if (i == '\0') expected = "\\0";
    if (i == '\n') expected = "\\n";
    if (i == '\r') expected = "\\r";
    if (i == '\t') expected = "\\t";
    EXPECT_EQ(escaped(text), expected) << i;
  }
}

TEST(escape, of_each_code_point) {
  for (char32_t c = 0x80; c < 0x110000; ++c) {
    const std::string text = encoded(c);
    const bool stays = !is_obeyed(c) && (c < 0xd800 || c > 0xdfff);
    ASSERT_EQ(escaped(text), stays ? text : coded(text)) << std::uint32_t{c};
  }
}

TEST(escape, of_any_bytes_can_be_read_back) {
  for (int i = 0; i < 0x10000; ++i) {
    const char pair[] = {static_cast<char>(i >> 8), static_cast<char>(i)};
    expect_harmless_and_readable({pair, 2});
  }
  sley::base::random random(1);
  for (int i = 0; i < 10'000; ++i) {
    std::string text(random.below(20), ' ');
    for (char& c : text) c = static_cast<char>(random.below(256));
    expect_harmless_and_readable(text);
    for (char& c : text) c = "\\0nrtx19af\n\xe2\x80\xae\xf0\x9f\x98\x80"[random.below(19)];
    expect_harmless_and_readable(text);
  }
}
