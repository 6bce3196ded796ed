// Bodies that are compressed on their way out. What a client undoes: <sley/http/client.hpp>.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/http/router.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace sley::http {

// What compress() packs, and how well.
struct compress_options {
  std::uint64_t least_bytes = 1024;  // what is known to be smaller is sent as it is
  int level = 5;                     // from 1, the fastest, to 9, the smallest
  // Is a body of this type worth it? Asked with Content-Type in small letters, without parameters.
  // Default: is_compressible.
  std::function<bool(std::string_view content_type)> types = {};
};

// Sends the handler's body with gzip to clients of HTTP/1.1 whose Accept-Encoding has it no later
// than "identity" (RFC 9110, 12.5.3). It is sent while it is written, and flush() flushes; what is
// complete in the response's buffer gets a Content-Length, all else goes in chunks. The header says
// it all: Content-Encoding and Vary are set, an ETag becomes weak, Accept-Ranges goes.
//
// Left as they are: parts (206), bodies that have a Content-Encoding, bodies with "Cache-Control:
// no-transform", bodies of other types, and small ones. Secrets beside text that a stranger can
// choose should not be compressed over TLS (BREACH): their length tells of them.
//
// Throws std::invalid_argument for a level that is none. Where has_compression() is false nothing
// is ever compressed.
SLEY_API middleware compress(compress_options options = {});

// Text, and what is text inside: JSON, XML, JavaScript, SVG; WebAssembly, and plain fonts.
SLEY_API bool is_compressible(std::string_view content_type) noexcept;

// Was sley built with zlib (SLEY_GZIP)?
SLEY_API bool has_compression() noexcept;

}  // namespace sley::http
