// Without zlib no packer or unpacker is made.
#include "http/gzip.hpp"

#include <sley/http/error.hpp>

namespace sley::http::detail {

bool has_gzip() noexcept { return false; }

struct gzip_packer::state {};

gzip_packer::gzip_packer(int) {}
gzip_packer::~gzip_packer() = default;
gzip_packer::gzip_packer(gzip_packer&&) noexcept = default;
gzip_packer& gzip_packer::operator=(gzip_packer&&) noexcept = default;

void gzip_packer::pack(std::string_view, then, std::string&) {}

struct gzip_unpacker::state {};

gzip_unpacker::gzip_unpacker() = default;
gzip_unpacker::~gzip_unpacker() = default;
gzip_unpacker::gzip_unpacker(gzip_unpacker&&) noexcept = default;
gzip_unpacker& gzip_unpacker::operator=(gzip_unpacker&&) noexcept = default;

gzip_unpacker::progress gzip_unpacker::unpack(std::string_view, std::span<std::byte>,
                                              std::error_code& error) {
  error = errc::malformed;
  return {};
}

bool gzip_unpacker::is_between_streams() const noexcept { return true; }

}  // namespace sley::http::detail
