// The header or trailer of a message: names and values in the order they came or are to be sent.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/needs_http.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sley::http {

// An ordered multimap. Names are compared without regard to case, and keep the case they have. All
// text lies in one piece that a cleared object keeps up to 2 KiB, so reading messages of the usual
// size allocates nothing. Views
// are valid until the object is changed. A value: not for several threads at once.
class SLEY_API fields {
 public:
  // A name with its value.
  struct field {
    std::string_view name;   // with the case that it was added with
    std::string_view value;  // without white space around it
  };

  // Throws std::invalid_argument for a name that is no token and for a value with control
  // characters (CR and LF among them: nothing can be smuggled into a header), RFC 9110, 5.5 and
  // 5.6.2. White space around the value is dropped.
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, std::uint64_t value);
  // Replaces all of that name.
  void set(std::string_view name, std::string_view value);
  void set(std::string_view name, std::uint64_t value);
  // Returns how many there were.
  std::size_t erase(std::string_view name) noexcept;

  // The first value; empty if there is none.
  std::string_view get(std::string_view name) const noexcept;
  std::optional<std::string_view> find(std::string_view name) const noexcept;  // nullopt if so
  // Whether there is one, and the values of all.
  bool contains(std::string_view name) const noexcept { return find(name).has_value(); }
  std::vector<std::string_view> all(std::string_view name) const;
  // Is the word among the values of that name, which are lists with commas? "Connection: a, close"
  // has the token "close". Without regard to case.
  bool has_token(std::string_view name, std::string_view token) const noexcept;

  // How many there are; the one at a place; forgets all.
  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  field operator[](std::size_t i) const noexcept {
    const entry& e = entries_[i];
    const std::string_view text(text_);
    return {text.substr(e.at, e.name_size), text.substr(e.at + e.name_size, e.value_size)};
  }
  void clear() noexcept {
    text_.clear();
    entries_.clear();
    if (text_.capacity() > kept_bytes) std::string().swap(text_);
    if (entries_.capacity() > kept_entries) std::vector<entry>().swap(entries_);
  }

  // A forward iterator over all of them, whose values are views.
  class iterator {
   public:
    using value_type = field;
    using difference_type = std::ptrdiff_t;
    // At a place of an object; all else is as of any iterator.
    iterator() noexcept = default;
    iterator(const fields* of, std::size_t i) noexcept : of_(of), i_(i) {}
    field operator*() const noexcept { return (*of_)[i_]; }
    iterator& operator++() noexcept {
      ++i_;
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++i_;
      return before;
    }
    bool operator==(const iterator&) const noexcept = default;

   private:
    const fields* of_ = nullptr;
    std::size_t i_ = 0;
  };
  // for (const auto& [name, value] : fields)
  iterator begin() const noexcept { return {this, 0}; }
  iterator end() const noexcept { return {this, entries_.size()}; }

  // For parsers, which have looked at every character already: as add, unchecked.
  void add_valid(std::string_view name, std::string_view value);

 private:
  struct entry {
    std::uint32_t at;  // of the name in text_; the value follows it
    std::uint32_t name_size;
    std::uint32_t value_size;
  };

  static constexpr std::size_t kept_bytes = 2048;
  static constexpr std::size_t kept_entries = 64;

  std::string text_;
  std::vector<entry> entries_;
};

// Without regard to the case of ASCII letters.
SLEY_API bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept;

}  // namespace sley::http
