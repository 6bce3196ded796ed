// Finds where the head of a message ends.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace sley::http::detail {

// A head is lines that end in CR LF, up to an empty one. What some take for a line's end and others
// do not is refused before a parser sees it: a bare LF, and in requests a field that goes on in the
// next line (obs-fold; RFC 9112, 2.2 and 5.2). A client has to take such a field. Looks at each
// byte once, however they come in pieces.
class head_scanner {
 public:
  enum class result { found, need_more, malformed };
  enum class folds { refused, taken };

  explicit head_scanner(folds f = folds::refused) noexcept : folds_(f) {}

  // `text` begins with the message, and only grows from call to call.
  result scan(std::string_view text) noexcept {
    for (;;) {  // ends: line_ and seen_ go forward
      const void* lf = seen_ < text.size()
                           ? std::memchr(text.data() + seen_, '\n', text.size() - seen_)
                           : nullptr;
      if (lf == nullptr) {
        seen_ = text.size();
        return result::need_more;
      }
      const auto end = static_cast<std::size_t>(static_cast<const char*>(lf) - text.data());
      if (end == line_ || text[end - 1] != '\r') return result::malformed;
      const bool is_empty = end == line_ + 1;
      const bool is_fold = line_ > 0 && (text[line_] == ' ' || text[line_] == '\t');
      if (is_fold && (folds_ == folds::refused || !has_field_)) return result::malformed;
      has_field_ = line_ > 0;
      line_ = seen_ = end + 1;
      if (is_empty) return result::found;
    }
  }

  // Once found: how much the head takes.
  std::size_t size() const noexcept { return line_; }
  bool has_whole_line() const noexcept { return line_ > 0; }
  void reset() noexcept {
    line_ = seen_ = 0;
    has_field_ = false;
  }

 private:
  folds folds_;
  bool has_field_ = false;  // of those lines one is a field, which the next can continue
  std::size_t line_ = 0;    // where the line begins that is looked at
  std::size_t seen_ = 0;    // before that there is no LF from line_ on
};

}  // namespace sley::http::detail
