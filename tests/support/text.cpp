#include "support/text.hpp"

#include <sley/detail/escape.hpp>

#include <gtest/gtest.h>

#include <cstddef>

#include <regex.h>

namespace sley_test {

// Of all matches that begin first the longest is found, so one of the whole text is not missed.
bool matches(const std::string& text, const std::string& pattern) {
  const auto groups = groups_of(text, pattern);
  return !groups.empty() && groups[0].size() == text.size();
}

bool contains_match(const std::string& text, const std::string& pattern) {
  return !groups_of(text, pattern).empty();
}

std::vector<std::string> groups_of(const std::string& text, const std::string& pattern) {
  regex_t regex;
  const int error = ::regcomp(&regex, pattern.c_str(), REG_EXTENDED | REG_NEWLINE);
  if (error != 0) {
    char message[200];
    ::regerror(error, &regex, message, sizeof message);
    ADD_FAILURE() << "bad pattern " << pattern << ": " << message;
    return {};
  }
  std::vector<regmatch_t> places(regex.re_nsub + 1);
  std::vector<std::string> groups;
  if (::regexec(&regex, text.c_str(), places.size(), places.data(), 0) == 0) {
    for (const auto [start, end] : places) {  // -1 for a group that took no part
      groups.push_back(start < 0 ? ""
                                 : std::string(&text[std::size_t(start)], &text[std::size_t(end)]));
    }
  }
  ::regfree(&regex);
  return groups;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const char c = text.front();
    const bool is_plain = c == '\\' || c == '\n';
    const std::size_t bytes = is_plain ? 1 : sley::detail::plain_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace sley_test
