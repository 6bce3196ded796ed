// Static files.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/http/router.hpp>

#include <string>
#include <string_view>

namespace sley::http {

// How file_server() serves.
struct file_options {
  std::string index = "index.html";  // served for a folder; empty: folders are not found
  std::string cache_control = {};    // sent as Cache-Control if not empty
  bool precompressed = false;  // serve "name.gz" in place of "name" to clients that accept gzip
};

// Serves the files below a folder: what the pattern's {name...} matched, else the whole path. GET
// and HEAD; ETag, Last-Modified and the conditions on them, a single Range (several get the whole
// file, RFC 9110, 14.2), Content-Type by suffix. A folder without the final slash is redirected to
// the one with it. Nothing outside the folder is ever served: not by "..", an encoded slash, or a
// link (openat2(2), RESOLVE_BENEATH); names that begin with '.' are not found. Throws
// std::system_error if the folder can't be opened.
SLEY_API handler file_server(std::string_view root, const file_options& options = {});

// "text/html; charset=utf-8" for "a.html"; "application/octet-stream" if nothing is known.
SLEY_API std::string_view content_type_of(std::string_view file_name) noexcept;

}  // namespace sley::http
