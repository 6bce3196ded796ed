#include <sley/http/compression.hpp>

#include "http/body_encoder.hpp"
#include "http/content_coding.hpp"
#include "http/text.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace sley::http {

namespace detail {

namespace {

void add_vary(fields& headers) {
  if (headers.has_token("Vary", "Accept-Encoding") || headers.has_token("Vary", "*")) return;
  headers.add("Vary", "Accept-Encoding");
}

// The tag stands for other bytes than the client gets (RFC 9110, 8.8.1).
void weaken_tag(fields& headers) {
  const std::string_view tag = headers.get("ETag");
  if (tag.starts_with('"')) headers.set("ETag", "W/" + std::string(tag));
}

bool knows_weak_tag(const request& in, std::string_view tag) {
  return any_in_list(in.header("If-None-Match"), [&](std::string_view known) {
    return known.starts_with("W/") && known.substr(2) == tag;
  });
}

std::string media_type_of(const fields& headers) {
  const std::string_view type = headers.get("Content-Type");
  return to_small(trim(type.substr(0, type.find(';'))));
}

}  // namespace

body_encoder::body_encoder(const request& in, std::shared_ptr<const compress_options> options)
    : request_(in),
      options_(std::move(options)),
      is_wanted_(in.version() >= 11 && prefers_gzip(in.headers())) {}

bool body_encoder::begin(int status, std::optional<std::uint64_t> length, fields& headers) {
  if (status == 304) {  // has the header of what the client has (RFC 9110, 15.4.5)
    if (knows_weak_tag(request_, headers.get("ETag"))) weaken_tag(headers);
    add_vary(headers);
    return false;
  }
  if (!is_worth_it(status, length, headers)) return false;
  add_vary(headers);
  if (!is_wanted_) return false;
  packer_.emplace(options_->level);
  weaken_tag(headers);
  headers.set("Content-Encoding", "gzip");
  headers.erase("Content-Length");
  headers.erase("Accept-Ranges");
  return true;
}

bool body_encoder::is_worth_it(int status, std::optional<std::uint64_t> length,
                               const fields& headers) const {
  if (status == 204 || status == 206 || (length && *length < options_->least_bytes)) return false;
  if (headers.contains("Content-Encoding") || headers.contains("Content-Range") ||
      headers.has_token("Cache-Control", "no-transform")) {
    return false;
  }
  const std::string type = media_type_of(headers);
  return options_->types ? options_->types(type) : is_compressible(type);
}

struct response_access {
  static void encode(response& out, std::unique_ptr<body_encoder> encoder) noexcept {
    out.encoder_ = std::move(encoder);
  }
};

}  // namespace detail

middleware compress(compress_options options) {
  if (options.level < 1 || options.level > 9) {
    throw std::invalid_argument("sley: compress_options::level is not 1 to 9 but " +
                                std::to_string(options.level));
  }
  return [kept = std::make_shared<const compress_options>(std::move(options))](
             handler next) -> handler {
    if (!has_compression()) return next;
    return [kept, next = std::move(next)](request& in, response& out) {
      detail::response_access::encode(out, std::make_unique<detail::body_encoder>(in, kept));
      next(in, out);
    };
  };
}

bool is_compressible(std::string_view content_type) noexcept {
  static constexpr std::string_view known[] = {"application/javascript",
                                               "application/json",
                                               "application/vnd.ms-fontobject",
                                               "application/wasm",
                                               "application/x-ndjson",
                                               "application/xml",
                                               "font/otf",
                                               "font/ttf",
                                               "image/bmp",
                                               "image/svg+xml",
                                               "image/vnd.microsoft.icon",
                                               "image/x-icon"};
  return content_type.starts_with("text/") || content_type.ends_with("+json") ||
         content_type.ends_with("+xml") ||
         std::ranges::find(known, content_type) != std::end(known);
}

bool has_compression() noexcept { return detail::has_gzip(); }

}  // namespace sley::http
