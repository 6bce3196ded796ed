#include "http/gzip.hpp"

#include <sley/http/error.hpp>

#include <algorithm>
#include <climits>
#include <new>

#define ZLIB_CONST  // next_in is const
#include <zlib.h>

namespace sley::http::detail {

namespace {

constexpr int window_bits = 15;
constexpr int as_gzip = 16;  // added to them: not zlib's own header
constexpr int memory_level = 8;

const Bytef* input_of(std::string_view text) noexcept {
  return reinterpret_cast<const Bytef*>(text.data());
}

// zlib counts in unsigned int.
uInt limited(std::size_t n) noexcept {
  return static_cast<uInt>(std::min<std::size_t>(n, UINT_MAX));
}

}  // namespace

bool has_gzip() noexcept { return true; }

// ---- packing ----

struct gzip_packer::state {
  explicit state(int level) {
    if (::deflateInit2(&z, level, Z_DEFLATED, window_bits + as_gzip, memory_level,
                       Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~state() { ::deflateEnd(&z); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  z_stream z = {};
};

gzip_packer::gzip_packer(int level) : state_(std::make_unique<state>(level)) {}
gzip_packer::~gzip_packer() = default;
gzip_packer::gzip_packer(gzip_packer&&) noexcept = default;
gzip_packer& gzip_packer::operator=(gzip_packer&&) noexcept = default;

void gzip_packer::pack(std::string_view text, then what, std::string& to) {
  z_stream& z = state_->z;
  char room[4096];
  do {  // ends: the text is consumed, and what it becomes does not fill the room for ever
    const uInt n = limited(text.size());
    const bool is_last = n == text.size();
    z.next_in = input_of(text);
    z.avail_in = n;
    do {
      z.next_out = reinterpret_cast<Bytef*>(room);
      z.avail_out = sizeof room;
      ::deflate(&z, !is_last || what == then::more ? Z_NO_FLUSH
                    : what == then::pause          ? Z_SYNC_FLUSH
                                                   : Z_FINISH);
      to.append(room, sizeof room - z.avail_out);
    } while (z.avail_out == 0);
    text.remove_prefix(n);
  } while (!text.empty());
}

// ---- unpacking ----

struct gzip_unpacker::state {
  state() {
    if (::inflateInit2(&z, window_bits + as_gzip) != Z_OK) throw std::bad_alloc();
  }
  ~state() { ::inflateEnd(&z); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  z_stream z = {};
  bool is_between = true;
};

gzip_unpacker::gzip_unpacker() : state_(std::make_unique<state>()) {}
gzip_unpacker::~gzip_unpacker() = default;
gzip_unpacker::gzip_unpacker(gzip_unpacker&&) noexcept = default;
gzip_unpacker& gzip_unpacker::operator=(gzip_unpacker&&) noexcept = default;

gzip_unpacker::progress gzip_unpacker::unpack(std::string_view input, std::span<std::byte> output,
                                              std::error_code& error) {
  z_stream& z = state_->z;
  progress p;
  for (;;) {  // ends: each round goes forward in one of the two, or is the last one
    if (state_->is_between && p.consumed == input.size()) break;
    const std::string_view left = input.substr(p.consumed);
    const auto room = output.subspan(p.produced);
    z.next_in = input_of(left);
    z.avail_in = limited(left.size());
    z.next_out = reinterpret_cast<Bytef*>(room.data());
    z.avail_out = limited(room.size());
    state_->is_between = false;
    const int result = ::inflate(&z, Z_NO_FLUSH);
    const auto consumed = static_cast<std::size_t>(z.next_in - input_of(left));
    const auto produced =
        static_cast<std::size_t>(z.next_out - reinterpret_cast<Bytef*>(room.data()));
    p.consumed += consumed;
    p.produced += produced;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) {
      state_->is_between = true;
      ::inflateReset(&z);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      if (p.produced == 0) error = errc::malformed;  // else the next call finds it again
      break;
    } else if (consumed == 0 && produced == 0) {
      break;
    }
  }
  return p;
}

bool gzip_unpacker::is_between_streams() const noexcept { return state_->is_between; }

}  // namespace sley::http::detail
