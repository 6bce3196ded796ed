// Hostile arguments of <sley/buffered.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"
#include "support/connections.hpp"

#include <sley/buffered.hpp>
#include <sley/os.hpp>

#include <fcntl.h>

#define SLEY_HOSTILE_HEADER hostile_buffered

using sley::buffered_reader;
using sley::buffered_writer;
using sley_hostile::arguments;
using sley_hostile::use;

namespace {

// Some kilobytes.
sley::os::file a_file() { return sley::os::file::open("/proc/self/maps", O_RDONLY); }

sley::os::file a_sink() { return sley::os::file::open("/dev/null", O_WRONLY); }

sley::buffered_reader_options extreme_options(arguments& x) {
  return {.buffer_bytes = x.capacity(8192), .max_bytes = x.number<std::size_t>(1000)};
}

}  // namespace

CALLS(options, "buffered_reader::buffered_reader(Stream stream, buffered_reader_options options)",
      "buffered_reader::read_line(string line)",
      "buffered_reader::read_line(string line, error_code error)") {
  const sley::os::file f = a_file();
  buffered_reader in(f, extreme_options(x));
  std::string line;
  use(in.read_line(line, x.error()));
  use(in.read_line(line));
}

CALLS(read_until, "buffered_reader::read_until(string_view delimiter, string text)",
      "buffered_reader::skip_until(string_view delimiter)") {
  const sley::os::file f = a_file();
  buffered_reader in(f);
  std::string text;
  use(in.read_until(x.text("\n"), text));
  use(in.skip_until(x.text("\n")));
}
CALLS(read_until_error,
      "buffered_reader::read_until(string_view delimiter, string text, error_code error)",
      "buffered_reader::skip_until(string_view delimiter, error_code error)") {
  const sley::os::file f = a_file();
  buffered_reader in(f);
  std::string text;
  std::error_code& error = x.error();
  use(in.read_until(x.text("\n"), text, error));
  use(in.skip_until(x.text("\n"), error));
}

CALLS(read, "buffered_reader::read_exactly(span<byte> room)",
      "buffered_reader::read_some(span<byte> room)") {
  const sley::os::file f = a_file();
  buffered_reader in(f);
  in.read_some(x.buffer());
  in.read_exactly(x.buffer());
}
CALLS(read_error, "buffered_reader::read_exactly(span<byte> room, error_code error)",
      "buffered_reader::read_some(span<byte> room, error_code error)") {
  const sley::os::file f = a_file();
  buffered_reader in(f);
  std::error_code& error = x.error();
  use(in.read_some(x.buffer(), error));
  use(in.read_exactly(x.buffer(), error));
}

CALLS(read_text, "buffered_reader::read_exactly(size_t size, string text)",
      "buffered_reader::peek(size_t size)", "buffered_reader::skip(uint64_t count)") {
  const sley::os::file f = a_file();
  buffered_reader in(f);
  std::string text;
  switch (x.pick<int>({0, 1, 2})) {
    case 0: in.read_exactly(x.number<std::size_t>(5), text); break;
    case 1: use(in.peek(x.number<std::size_t>(5))); break;
    default: in.skip(x.number<std::uint64_t>(5)); break;
  }
}
CALLS(read_text_error, "buffered_reader::read_exactly(size_t size, string text, error_code error)",
      "buffered_reader::peek(size_t size, error_code error)",
      "buffered_reader::skip(uint64_t count, error_code error)") {
  const sley::os::file f = a_file();
  buffered_reader in(f);
  std::string text;
  std::error_code& error = x.error();
  use(in.peek(x.number<std::size_t>(5), error));
  in.read_exactly(x.number<std::size_t>(5), text, error);
  use(in.skip(x.number<std::uint64_t>(5), error));
}

CALLS(writer, "buffered_writer::buffered_writer(Stream stream, size_t buffer_bytes)",
      "buffered_writer::write_all(span<byte> bytes)",
      "buffered_writer::write_all(string_view text)") {
  const sley::os::file f = a_sink();
  buffered_writer out(f, x.capacity(8192));
  out.write_all(x.bytes());
  out.write_all(x.text("text"));
}
CALLS(writer_error, "buffered_writer::write_all(span<byte> bytes, error_code error)",
      "buffered_writer::write_all(string_view text, error_code error)") {
  const sley::os::file f = a_sink();
  buffered_writer out(f);
  std::error_code& error = x.error();
  use(out.write_all(x.bytes(), error));
  use(out.write_all(x.text("text"), error));
}
