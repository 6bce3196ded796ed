#include <sley/http/error.hpp>

#include <algorithm>
#include <iterator>

namespace sley::http {

namespace {

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "sley.http"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::malformed: return "the peer breaks the rules of HTTP";
      case errc::incomplete: return "the message ended too soon";
      case errc::body_too_large: return "the body is larger than allowed";
      case errc::head_too_large: return "the head of the answer is larger than allowed";
      case errc::too_many_redirects: return "redirected too often";
    }
    return "unknown error of HTTP";
  }
};

struct phrase {
  int status;
  std::string_view text;
};

// RFC 9110, 15, and the registry of status codes where others are in common use. In order.
constexpr phrase phrases[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
    {511, "Network Authentication Required"},
};

}  // namespace

const std::error_category& error_category() noexcept {
  static const category instance;
  return instance;
}

std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), error_category()}; }

std::string_view reason_phrase(int status) noexcept {
  const auto* found =
      std::lower_bound(std::begin(phrases), std::end(phrases), status,
                       [](const phrase& p, int wanted) { return p.status < wanted; });
  return found != std::end(phrases) && found->status == status ? found->text : std::string_view();
}

status_error::status_error(int status) : status_error(status, std::string(reason_phrase(status))) {}

}  // namespace sley::http
