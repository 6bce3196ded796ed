// Reading ahead: lines, texts up to a delimiter, and exact pieces.
#include <sley/buffered.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace sley {

namespace {

constexpr std::size_t least_read_ahead = 16;

std::error_code too_long() { return std::make_error_code(std::errc::message_size); }
std::error_code too_short() { return std::make_error_code(std::errc::connection_aborted); }

std::size_t saturated_sum(std::size_t a, std::size_t b) noexcept {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::size_t>::max() : sum;
}

}  // namespace

// ---- the buffer ----

void buffered_reader::take(std::size_t bytes) noexcept {
  begin_ += bytes;
  position_ += bytes;
  if (begin_ == end_) begin_ = end_ = 0;
}

// Room behind the buffered bytes: they move to the front, or to a larger buffer.
void buffered_reader::make_room() {
  if (end_ < capacity_) return;
  const std::size_t kept = end_ - begin_;
  if (begin_ > 0 && kept <= capacity_ / 2) {
    std::memmove(data_.get(), data_.get() + begin_, kept);
  } else {
    const std::size_t larger = std::max({2 * capacity_, options_.buffer_bytes, least_read_ahead});
    std::unique_ptr<char[]> moved(new char[larger]);
    if (kept > 0) std::memcpy(moved.get(), data_.get() + begin_, kept);
    data_ = std::move(moved);
    capacity_ = larger;
  }
  begin_ = 0;
  end_ = kept;
}

// One read behind what is buffered. False: the end, or an error.
bool buffered_reader::fill(std::error_code& error) {
  make_room();
  const std::span<char> room(data_.get() + end_, capacity_ - end_);
  const std::size_t n = read_(stream_, std::as_writable_bytes(room), error);
  end_ += n;
  return n > 0 && !error;
}

// Reads until there is a delimiter behind at most `most` bytes; more than that are too long.
buffered_reader::found buffered_reader::find(std::string_view delimiter, std::size_t most,
                                             std::error_code& error) {
  error.clear();
  if (delimiter.empty()) error = std::make_error_code(std::errc::invalid_argument);
  const std::size_t overlap = delimiter.size() - 1;
  for (std::size_t searched = 0; !error;) {  // ends: each round has more bytes
    const std::string_view all = buffered();
    const std::size_t at = all.find(delimiter, searched);
    const bool is_found = at != std::string_view::npos;
    searched = all.size() > overlap ? all.size() - overlap : 0;
    if ((is_found ? at : searched) > most) {
      error = too_long();
    } else if (is_found) {
      return {at, delimiter.size()};
    } else if (!fill(error) && !error) {
      if (all.size() > most) error = too_long();
      return {all.size(), 0};
    }
  }
  return {};
}

// ---- lines and texts ----

// The short way of small pieces: all of a line of the usual size is in the buffer.
bool buffered_reader::take_line(std::string& line) {
  const std::string_view all = buffered();
  const std::size_t at = all.find('\n');
  if (at == std::string_view::npos || at > options_.max_bytes) return false;
  line.assign(all.data(), at > 0 && all[at - 1] == '\r' ? at - 1 : at);
  take(at + 1);
  return true;
}

bool buffered_reader::read_line(std::string& line, std::error_code& error) {
  error.clear();
  if (take_line(line)) return true;
  line.clear();
  found f = find("\n", saturated_sum(options_.max_bytes, 1), error);
  if (error) return false;
  if (f.delimiter != 0 && f.content > 0 && buffered()[f.content - 1] == '\r') {
    --f.content;
    ++f.delimiter;
  }
  if (f.content > options_.max_bytes) {
    error = too_long();
    return false;
  }
  line = buffered().substr(0, f.content);
  take(f.content + f.delimiter);
  return f.content + f.delimiter > 0;
}
bool buffered_reader::read_line(std::string& line) {
  std::error_code error;
  const bool is_there = read_line(line, error);
  if (error) fail(error, "read_line");
  return is_there;
}
std::optional<std::string> buffered_reader::read_line() {
  std::string line;
  if (!read_line(line)) return std::nullopt;
  return line;
}

bool buffered_reader::read_until(std::string_view delimiter, std::string& text,
                                 std::error_code& error) {
  text.clear();
  const found f = find(delimiter, options_.max_bytes, error);
  if (error) return false;
  const std::size_t size = f.content + f.delimiter;
  text = buffered().substr(0, size);
  take(size);
  return size > 0;
}
bool buffered_reader::read_until(std::string_view delimiter, std::string& text) {
  std::error_code error;
  const bool is_there = read_until(delimiter, text, error);
  if (error) fail(error, "read_until");
  return is_there;
}

bool buffered_reader::skip_until(std::string_view delimiter, std::error_code& error) {
  error.clear();
  if (delimiter.empty()) error = std::make_error_code(std::errc::invalid_argument);
  while (!error) {  // ends: each round takes bytes off the stream
    const std::string_view all = buffered();
    const std::size_t at = all.find(delimiter);
    if (at != std::string_view::npos) {
      take(at + delimiter.size());
      return true;
    }
    const std::size_t kept = std::min(all.size(), delimiter.size() - 1);
    take(all.size() - kept);
    if (!fill(error) && !error) {
      take(kept);
      return false;
    }
  }
  return false;
}
bool buffered_reader::skip_until(std::string_view delimiter) {
  std::error_code error;
  const bool is_there = skip_until(delimiter, error);
  if (error) fail(error, "skip_until");
  return is_there;
}

// ---- pieces ----

std::size_t buffered_reader::read_some(std::span<std::byte> room, std::error_code& error) {
  error.clear();
  if (room.empty()) return 0;
  if (begin_ == end_) {
    if (room.size() >= std::max(options_.buffer_bytes, least_read_ahead)) {
      const std::size_t n = read_(stream_, room, error);
      position_ += n;
      return n;
    }
    if (!fill(error)) return 0;
  }
  const std::size_t n = std::min(room.size(), end_ - begin_);
  std::memcpy(room.data(), data_.get() + begin_, n);
  take(n);
  return n;
}
std::size_t buffered_reader::read_some(std::span<std::byte> room) {
  std::error_code error;
  const std::size_t n = read_some(room, error);
  if (error) fail(error, "read_some");
  return n;
}

std::size_t buffered_reader::read_exactly(std::span<std::byte> room, std::error_code& error) {
  error.clear();
  std::size_t done = 0;
  while (done < room.size() && !error) {
    const std::size_t n = read_some(room.subspan(done), error);
    if (n == 0 && !error) error = too_short();
    done += n;
  }
  return done;
}
void buffered_reader::read_exactly(std::span<std::byte> room) {
  std::error_code error;
  read_exactly(room, error);
  if (error) fail(error, "read_exactly");
}

// The short way of small pieces: all of the text is in the buffer.
bool buffered_reader::take_text(std::size_t size, std::string& text) {
  if (size > end_ - begin_) return false;
  text.assign(data_.get() + begin_, size);
  take(size);
  return true;
}

// A size that a stranger has announced takes no memory before the bytes are there.
void buffered_reader::read_exactly(std::size_t size, std::string& text, std::error_code& error) {
  constexpr std::size_t least_step = 64UL << 10;
  error.clear();
  if (take_text(size, text)) return;
  text.clear();
  while (text.size() < size && !error) {  // ends: each round has more bytes, or an error
    const std::size_t had = text.size();
    text.resize(had + std::min(size - had, std::max(had, least_step)));
    const std::span<char> room(text.data() + had, text.size() - had);
    text.resize(had + read_exactly(std::as_writable_bytes(room), error));
  }
}
void buffered_reader::read_exactly(std::size_t size, std::string& text) {
  std::error_code error;
  read_exactly(size, text, error);
  if (error) fail(error, "read_exactly");
}

std::string_view buffered_reader::peek(std::size_t size, std::error_code& error) {
  error.clear();
  if (size > options_.max_bytes) error = too_long();
  while (end_ - begin_ < size && !error) {  // ends: each round has more bytes, or is the last
    if (!fill(error)) break;
  }
  return buffered().substr(0, size);
}
std::string_view buffered_reader::peek(std::size_t size) {
  std::error_code error;
  const std::string_view seen = peek(size, error);
  if (error) fail(error, "peek");
  return seen;
}

std::uint64_t buffered_reader::skip(std::uint64_t count, std::error_code& error) {
  error.clear();
  std::uint64_t done = 0;
  while (done < count && !error) {  // ends: each round takes bytes off the stream, or is the last
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count - done, end_ - begin_));
    take(n);
    done += n;
    if (done < count && !fill(error) && !error) error = too_short();
  }
  return done;
}
void buffered_reader::skip(std::uint64_t count) {
  std::error_code error;
  skip(count, error);
  if (error) fail(error, "skip");
}

// ---- errors ----

void buffered_reader::fail(const std::error_code& error, const char* operation) const {
  std::string what = std::string("sley: ") + operation + " at byte " + std::to_string(position_);
  if (error == std::errc::message_size) {
    what += " of more than " + std::to_string(options_.max_bytes) + " bytes";
  } else if (error == too_short()) {
    what += ", where the stream ends";
  }
  throw std::system_error(error, what);
}

}  // namespace sley
