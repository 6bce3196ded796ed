// gzip (RFC 1952) in pieces: src/http/gzip_zlib.cpp, the only file that includes zlib, or
// src/http/gzip_none.cpp where there is none.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::http::detail {

bool has_gzip() noexcept;

// Only if has_gzip(). Throws std::bad_alloc: a quarter of a MiB each.
class gzip_packer {
 public:
  explicit gzip_packer(int level);  // 1 to 9
  ~gzip_packer();
  gzip_packer(gzip_packer&&) noexcept;
  gzip_packer& operator=(gzip_packer&&) noexcept;

  // What is behind the text: more of it; a pause, up to which the reader should get everything; the
  // end.
  enum class then { more, pause, end };
  // Appends the bytes that must be sent, which may be none yet.
  void pack(std::string_view text, then what, std::string& to);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// Likewise; 40 KiB each.
class gzip_unpacker {
 public:
  gzip_unpacker();
  ~gzip_unpacker();
  gzip_unpacker(gzip_unpacker&&) noexcept;
  gzip_unpacker& operator=(gzip_unpacker&&) noexcept;

  struct progress {
    std::size_t consumed = 0;  // all of the input, unless the output is full or there is an error
    std::size_t produced = 0;
  };
  // errc::malformed is the end of it, told once all before it was handed out. Several streams one
  // behind the other are one text (RFC 1952, 2.2).
  progress unpack(std::string_view input, std::span<std::byte> output, std::error_code& error);
  // May the input end here?
  bool is_between_streams() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sley::http::detail
