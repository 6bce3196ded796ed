// Lines, texts and small pieces over any stream, file or TLS stream. From Go's bufio.
//
//   sley::buffered_reader in(stream);
//   sley::buffered_writer out(stream);
//   for (std::string line; in.read_line(line);) {
//     out.write_all("you said: " + line + "\n");
//     if (in.buffered().empty()) out.flush();      // one system call for all that came at once
//   }
//   out.flush();
//
// They refer to the stream, which must outlive them and stay in its place; they do not close it.
// Its deadlines, its context (set_context), its close() and its errors are theirs. A reader or a
// writer is for one goroutine at a time; the reader and the writer of one stream may be used by
// two. What parks is the stream's read or write, so a foreign thread may use them as well.
//
// Each operation has two forms, as in <sley/net.hpp>. One throws std::system_error, whose what()
// says at which byte of the stream it was. The other one takes a std::error_code, which it clears
// or sets; it throws std::bad_alloc.
#pragma once

#include <sley/byte_stream.hpp>
#include <sley/detail/config.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sley {

// How much a buffered_reader reads at a time and keeps.
struct buffered_reader_options {
  std::size_t buffer_bytes = 8192;  // read from the stream at a time, at least 16
  // The longest line, text up to a delimiter, or view of peek(). The buffer grows up to that.
  std::size_t max_bytes = 1UL << 20;
};

// Reads ahead. An error in the middle of a line or a text takes nothing away: what has come stays
// in buffered(), and the same call can be made again, for example after a deadline.
class SLEY_API buffered_reader {
 public:
  // Reads nothing yet.
  template <byte_source Stream>
  explicit buffered_reader(Stream& stream, const buffered_reader_options& options = {})
      : stream_(const_cast<void*>(static_cast<const void*>(&stream))),
        read_(&read_from<Stream>),
        options_(options) {}
  buffered_reader(const buffered_reader&) = delete;
  buffered_reader& operator=(const buffered_reader&) = delete;

  // A line without its "\n" or "\r\n". What follows the last "\n" of the stream is a line as well,
  // unless it is empty. A "\r" elsewhere and zero bytes are bytes like any other. False, and `line`
  // is empty: the end. std::errc::message_size: the line has more than max_bytes; it stays in the
  // stream, and skip_until() can pass over it.
  bool read_line(std::string& line);
  bool read_line(std::string& line, std::error_code& error);
  // The same; nullopt at the end.
  std::optional<std::string> read_line();

  // As read_line() up to any delimiter, which is the last part of `text`; without it, the stream
  // has ended there. std::errc::invalid_argument: an empty delimiter.
  bool read_until(std::string_view delimiter, std::string& text);
  bool read_until(std::string_view delimiter, std::string& text, std::error_code& error);

  // As stream::read_exactly(): fills the room. If the stream ends before, that is
  // std::errc::connection_aborted. The form with `error` returns how many bytes were read.
  void read_exactly(std::span<std::byte> room);
  std::size_t read_exactly(std::span<std::byte> room, std::error_code& error);
  // The same for a text of that size, which takes memory as its bytes come. max_bytes is no limit
  // of it.
  void read_exactly(std::size_t size, std::string& text);
  void read_exactly(std::size_t size, std::string& text, std::error_code& error);

  // As stream::read_some(): at least one byte, 0 at the end. Reads from the stream at most once,
  // and not if there is something in the buffer.
  std::size_t read_some(std::span<std::byte> room);
  std::size_t read_some(std::span<std::byte> room, std::error_code& error);

  // The next bytes, which stay in the reader: `size` of them, fewer if the stream ends before, or
  // with an error. The view is good until the next call of another member.
  // std::errc::message_size: size is more than max_bytes.
  std::string_view peek(std::size_t size);
  std::string_view peek(std::size_t size, std::error_code& error);
  // What has been read ahead; never parks. The view is good as above.
  std::string_view buffered() const noexcept { return {data_.get() + begin_, end_ - begin_}; }

  // Passes over that many bytes. Errors as read_exactly().
  void skip(std::uint64_t count);
  std::uint64_t skip(std::uint64_t count, std::error_code& error);
  // Passes over all that comes up to a delimiter, and over that, however much it is. False: the
  // stream has ended before.
  bool skip_until(std::string_view delimiter);
  bool skip_until(std::string_view delimiter, std::error_code& error);

  // How many bytes of the stream the reader has given out or passed over.
  std::uint64_t position() const noexcept { return position_; }

 private:
  using read_function = std::size_t (*)(void*, std::span<std::byte>, std::error_code&);
  template <class Stream>
  static std::size_t read_from(void* stream, std::span<std::byte> room, std::error_code& error) {
    return static_cast<Stream*>(stream)->read_some(room, error);
  }

  struct found {
    std::size_t content = 0;    // bytes before the delimiter, or all there are
    std::size_t delimiter = 0;  // its size; 0: the stream has ended without one
  };
  found find(std::string_view delimiter, std::size_t most, std::error_code& error);
  bool fill(std::error_code& error);
  bool take_line(std::string& line);
  bool take_text(std::size_t size, std::string& text);
  void make_room();
  void take(std::size_t bytes) noexcept;
  [[noreturn]] void fail(const std::error_code& error, const char* operation) const;

  void* stream_;
  read_function read_;
  buffered_reader_options options_;
  std::unique_ptr<char[]> data_;  // null until the first read
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // data_[begin_, end_) has been read ahead
  std::size_t end_ = 0;
  std::uint64_t position_ = 0;
};

// Gathers what is written, and writes it to the stream when the buffer is full and at flush().
//
// Nothing is lost silently. Bytes that an error has kept from being written stay in the buffer, and
// the next flush() goes on with them. The destructor writes what is still buffered, and parks for
// that. If it fails, that is a line of <sley/log.hpp>, because a destructor does not throw; call
// flush() to learn of errors. After a call that has reported an error, and no later one that
// succeeded, the destructor drops what is left without another try: the caller knows.
class SLEY_API buffered_writer {
 public:
  // buffer_bytes is at least 16.
  template <byte_sink Stream>
  explicit buffered_writer(Stream& stream, std::size_t buffer_bytes = 8192)
      : stream_(const_cast<void*>(static_cast<const void*>(&stream))),
        write_(&write_to<Stream>),
        capacity_(buffer_bytes) {}
  buffered_writer(const buffered_writer&) = delete;
  buffered_writer& operator=(const buffered_writer&) = delete;
  ~buffered_writer();

  // Takes all bytes: into the buffer, or to the stream if they do not fit. The forms with `error`
  // return how many were taken, in their order; the caller keeps the rest.
  void write_all(std::span<const std::byte> bytes);
  std::size_t write_all(std::span<const std::byte> bytes, std::error_code& error);
  void write_all(std::string_view text) { write_all(std::as_bytes(std::span(text))); }
  std::size_t write_all(std::string_view text, std::error_code& error) {
    return write_all(std::as_bytes(std::span(text)), error);
  }

  // Writes what is buffered.
  void flush();
  void flush(std::error_code& error);

  // How many bytes wait to be written.
  std::size_t buffered() const noexcept { return size_; }
  // How many bytes have gone to the stream. std::system_error's what() tells it.
  std::uint64_t position() const noexcept { return position_; }

 private:
  using write_function = std::size_t (*)(void*, std::span<const std::byte>, std::error_code&);
  template <class Stream>
  static std::size_t write_to(void* stream, std::span<const std::byte> bytes,
                              std::error_code& error) {
    return static_cast<Stream*>(stream)->write_all(bytes, error);
  }

  std::size_t pass_on(std::span<const std::byte> bytes, std::error_code& error);
  void keep(std::span<const std::byte> bytes);
  [[noreturn]] void fail(const std::error_code& error, const char* operation) const;

  void* stream_;
  write_function write_;
  std::unique_ptr<std::byte[]> data_;  // null until the first write
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::uint64_t position_ = 0;
  bool is_loss_known_ = false;  // the last call has reported an error
};

}  // namespace sley
