#include "http/text.hpp"

#include <sley/http/files.hpp>

namespace sley::http {

namespace {

struct entry {
  std::string_view suffix;
  std::string_view type;
};

// Of the IANA registry, what the web is made of.
constexpr entry types[] = {
    {"html", "text/html; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"js", "text/javascript; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"webmanifest", "application/manifest+json"},
    {"txt", "text/plain; charset=utf-8"},
    {"md", "text/markdown; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"xml", "application/xml"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"avif", "image/avif"},
    {"ico", "image/vnd.microsoft.icon"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"ttf", "font/ttf"},
    {"otf", "font/otf"},
    {"mp3", "audio/mpeg"},
    {"ogg", "audio/ogg"},
    {"wav", "audio/wav"},
    {"mp4", "video/mp4"},
    {"webm", "video/webm"},
    {"pdf", "application/pdf"},
    {"wasm", "application/wasm"},
    {"zip", "application/zip"},
    {"gz", "application/gzip"},
};

}  // namespace

std::string_view content_type_of(std::string_view file_name) noexcept {
  const std::size_t dot = file_name.rfind('.');
  const std::string_view suffix =
      dot == std::string_view::npos ? std::string_view() : file_name.substr(dot + 1);
  for (const entry& e : types) {
    if (equals_ignoring_case(e.suffix, suffix)) return e.type;
  }
  return "application/octet-stream";
}

}  // namespace sley::http
