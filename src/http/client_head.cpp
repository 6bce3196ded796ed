// The head of a client's request, which says how its body comes.
#include "http/client_exchange.hpp"
#include "http/gzip.hpp"
#include "http/text.hpp"

namespace sley::http::detail {

namespace {

void append_field(std::string& to, std::string_view name, std::string_view value) {
  to.append(name).append(": ").append(value).append("\r\n");
}

// RFC 9110, 8.6: for these a body is expected, so that none is told as well.
bool tells_empty_body(const hop& h) {
  return !h.body.empty() || h.method == "POST" || h.method == "PUT" || h.method == "PATCH";
}

void append_framing(std::string& to, const hop& h) {
  const auto length = client_access::length_of(h.body);
  if (!length) return append_field(to, "Transfer-Encoding", "chunked");
  if (*length > 0 || tells_empty_body(h)) {
    append_field(to, "Content-Length", std::to_string(*length));
  }
}

}  // namespace

// A part of a packed body could not be unpacked, and a HEAD may tell of the whole one.
bool asks_for_gzip(const hop& h, const client_options& options) {
  return options.decompress && has_gzip() && h.method != "HEAD" &&
         !h.headers.contains("Accept-Encoding") && !h.headers.contains("Range");
}

namespace {

// TE and Upgrade are for the next recipient alone (RFC 9110, 10.1.4 and 7.8).
void append_connection(std::string& to, const fields& headers) {
  for (const std::string_view name : {"TE", "Upgrade"}) {
    if (headers.contains(name) && !headers.has_token("Connection", name)) {
      append_field(to, "Connection", name);
    }
  }
}

// Without a body there is nothing to wait with for "100 Continue" (RFC 9110, 10.1.1).
bool is_pointless(const hop& h, std::string_view name) {
  return client_access::length_of(h.body) == 0 && equals_ignoring_case(name, "Expect") &&
         h.headers.has_token("Expect", "100-continue");
}

}  // namespace

std::string make_request_head(const hop& h, const client_options& options) {
  std::string head = h.method + ' ' + h.to.target + " HTTP/1.1\r\n";
  if (!h.headers.contains("Host")) append_field(head, "Host", h.to.host_header());
  for (const fields::field& f : h.headers) {
    if (!is_pointless(h, f.name)) append_field(head, f.name, f.value);
  }
  append_connection(head, h.headers);
  if (!options.user_agent.empty() && !h.headers.contains("User-Agent")) {
    append_field(head, "User-Agent", options.user_agent);
  }
  if (asks_for_gzip(h, options)) append_field(head, "Accept-Encoding", "gzip");
  append_framing(head, h);
  return head += "\r\n";
}

std::string_view client_access::text_of(const request_body& b) noexcept {
  if (const auto* text = std::get_if<1>(&b.what_)) return **text;
  if (const auto* bytes = std::get_if<2>(&b.what_)) {
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }
  return {};
}

const request_body::source& client_access::source_of(const request_body& b) {
  return *std::get<3>(b.what_);
}

std::optional<std::uint64_t> client_access::length_of(const request_body& b) noexcept {
  if (is_source(b)) return b.length_;
  return text_of(b).size();
}

}  // namespace sley::http::detail
