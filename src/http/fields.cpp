#include <sley/http/fields.hpp>

#include "http/text.hpp"

#include <sley/detail/c_text.hpp>

#include <algorithm>
#include <stdexcept>

namespace sley::http {

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return detail::small(x) == detail::small(y);
         });
}

namespace {

// Returns the value, trimmed. Throws if one of them is none.
std::string_view checked(std::string_view name, std::string_view value) {
  value = detail::trim(value);
  if (!detail::is_token(name)) {
    throw std::invalid_argument("sley: " + sley::detail::quoted(name) +
                                " is not the name of a header");
  }
  if (!detail::is_field_value(value)) {
    throw std::invalid_argument("sley: the value of header " + sley::detail::quoted(name) +
                                " has control characters");
  }
  return value;
}

}  // namespace

void fields::add(std::string_view name, std::string_view value) {
  add_valid(name, checked(name, value));
}

void fields::add(std::string_view name, std::uint64_t value) {
  std::string text;
  detail::append_decimal(text, value);
  add_valid(name, checked(name, text));
}

void fields::set(std::string_view name, std::string_view value) {
  value = checked(name, value);  // throws before anything is lost
  erase(name);
  add_valid(name, value);
}

void fields::add_valid(std::string_view name, std::string_view value) {
  const std::size_t size = name.size() + value.size();
  if (text_.size() + size > text_.capacity()) {
    // Both may be views into the text that is about to move.
    std::string grown;
    grown.reserve(2 * text_.capacity() + size);
    grown.append(text_).append(name).append(value);
    text_.swap(grown);
  } else {
    text_.append(name).append(value);
  }
  entries_.push_back({static_cast<std::uint32_t>(text_.size() - size),
                      static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(value.size())});
}

void fields::set(std::string_view name, std::uint64_t value) {
  std::string text;
  detail::append_decimal(text, value);
  set(name, text);
}

std::size_t fields::erase(std::string_view name) noexcept {
  return std::erase_if(entries_, [&](const entry& e) {
    return equals_ignoring_case(std::string_view(text_).substr(e.at, e.name_size), name);
  });
}

std::optional<std::string_view> fields::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].name_size == name.size() && equals_ignoring_case((*this)[i].name, name)) {
      return (*this)[i].value;
    }
  }
  return std::nullopt;
}

std::string_view fields::get(std::string_view name) const noexcept {
  return find(name).value_or(std::string_view());
}

std::vector<std::string_view> fields::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const field& f : *this) {
    if (equals_ignoring_case(f.name, name)) values.push_back(f.value);
  }
  return values;
}

bool fields::has_token(std::string_view name, std::string_view token) const noexcept {
  for (const field& f : *this) {
    if (equals_ignoring_case(f.name, name) &&
        detail::any_in_list(f.value, [&](std::string_view element) {
          return equals_ignoring_case(element, token);
        })) {
      return true;
    }
  }
  return false;
}

}  // namespace sley::http
