// What goes wrong in HTTP itself, besides the errors of the connection.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/needs_http.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace sley::http {

// What is wrong with a message, or with a chain of redirects.
enum class errc {
  malformed = 1,   // the peer does not speak HTTP, or breaks its rules
  incomplete,      // the peer ended the stream within a message
  body_too_large,  // more than the limit
  head_too_large,  // likewise, of an answer
  too_many_redirects,
};

// For std::error_code.
SLEY_API const std::error_category& error_category() noexcept;
SLEY_API std::error_code make_error_code(errc e) noexcept;

// "Not Found" for 404; empty for a number that RFC 9110 has no phrase for.
SLEY_API std::string_view reason_phrase(int status) noexcept;

// Thrown by a handler that wants to end with this status. The text becomes the body of the answer,
// so it must be fit for the client's eyes; by default it is the status's own phrase. What the
// handler has set of the header stays, but for what describes a body.
class SLEY_API status_error : public std::runtime_error {
 public:
  // With the phrase of the status, or with this text.
  explicit status_error(int status);
  status_error(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
  // Of the answer.
  int status() const noexcept { return status_; }

 private:
  int status_;
};

}  // namespace sley::http

template <>
struct std::is_error_code_enum<sley::http::errc> : std::true_type {};
