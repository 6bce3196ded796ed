// The variables by which a service manager tells a process about itself.
#pragma once

#include <sley/detail/c_text.hpp>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

namespace sley::service {

// A variable as it was when this was made.
class service_variable {
 public:
  explicit service_variable(const char* name) : name_(name) {
    if (const char* value = std::getenv(name); value != nullptr) text_ = value;
  }

  bool is_set() const noexcept { return text_.has_value(); }
  const char* name() const noexcept { return name_; }
  const std::string& text() const noexcept { return *text_; }  // of one that is set

  // Throws std::system_error that names the variable and its value.
  [[noreturn]] void refuse() const {
    const std::string what = "sley: " + std::string(name_);
    throw detail::failed(std::make_error_code(std::errc::invalid_argument), what.c_str(), *text_);
  }
  // Digits alone, of a number above zero; else refuse().
  template <class Number>
  Number number() const {
    Number n = 0;
    const char* const end = text_->data() + text_->size();
    const auto [at, error] = std::from_chars(text_->data(), end, n);
    if (error != std::errc() || at != end || n < 1) refuse();
    return n;
  }

 private:
  const char* name_;
  std::optional<std::string> text_;
};

}  // namespace sley::service
