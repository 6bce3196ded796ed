// Aim: text is cut between characters of UTF-8, and text in any other encoding is cut all the same.
#include "base/cut_text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

using sley::base::bytes_kept;

namespace {

TEST(cut_text, a_text_that_fits_is_kept_whole) {
  EXPECT_EQ(bytes_kept("", 0), 0U);
  EXPECT_EQ(bytes_kept("four", 4), 4U);
  EXPECT_EQ(bytes_kept("caf\xc3\xa9", 5), 5U);
}

TEST(cut_text, a_character_is_never_cut) {
  EXPECT_EQ(bytes_kept("five5", 4), 4U);
  const std::string characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\xb9"};
  for (const std::string& c : characters) {
    const std::string text = "a" + c + "b";
    for (std::size_t most = 1; most <= c.size(); ++most) EXPECT_EQ(bytes_kept(text, most), 1U);
    EXPECT_EQ(bytes_kept(text, 1 + c.size()), 1 + c.size());
  }
  EXPECT_EQ(bytes_kept("\xc3\xa9", 1), 0U);
}

TEST(cut_text, bytes_that_are_no_characters_are_cut_anywhere) {
  const std::string bytes(40, '\x80');
  for (std::size_t most = 0; most <= 40; ++most) EXPECT_EQ(bytes_kept(bytes, most), most);
}

}  // namespace
