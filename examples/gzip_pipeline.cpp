// Parallel gzip: one goroutine reads blocks, as many as there are processors compress them, and one
// writes them in the order in which they were read.
//
//   gzip_pipeline FROM TO        files; /dev/stdin and /dev/stdout as well
//
// The reader sends the future of each block down a channel before the block is compressed. So the
// channel keeps the order, and its capacity bounds how many blocks are in memory. If one goroutine
// of the group fails, the group's context ends the waits of the others, and wait() throws that
// failure. Each block is a gzip file of its own; gzip reads several in a row as one.
#include <sley/buffered.hpp>
#include <sley/os.hpp>
#include <sley/sley.hpp>

#include <fcntl.h>
#include <zlib.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace os = sley::os;
using packed_block = sley::future<std::string>;

constexpr std::size_t block_bytes = 256 << 10;

std::string pack(std::string block) {
  z_stream z{};
  constexpr int gzip_window = 15 + 16;
  if (deflateInit2(&z, 6, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib: no memory");
  }
  std::string packed(deflateBound(&z, block.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(block.data());
  z.avail_in = static_cast<uInt>(block.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);  // there is room for all of it
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

void read_all(sley::buffered_reader& in, const sley::chan<packed_block>& blocks,
              const sley::context& ctx) {
  std::string block;
  do {  // even an empty file has a block
    block = in.peek(block_bytes);
    in.skip(block.size());
    blocks.send(sley::async(pack, block), ctx);
  } while (block.size() == block_bytes);
  blocks.close();
}

void write_all(const os::file& out, const sley::chan<packed_block>& blocks,
               const sley::context& ctx) {
  while (auto block = blocks.receive(ctx)) out.write_all(block->get());
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: gzip_pipeline FROM TO\n", stderr);
    return 2;
  }
  return sley::run([&] {
    try {
      const os::file in = os::file::open(argv[1], O_RDONLY);
      sley::buffered_reader reader(in, {.buffer_bytes = block_bytes});
      const os::file out = os::file::open(argv[2], O_WRONLY | O_CREAT | O_TRUNC);
      const sley::chan<packed_block> blocks(2 * sley::runtime::max_procs());
      sley::error_group both;
      both.go([&] { read_all(reader, blocks, both.context()); });
      both.go([&] { write_all(out, blocks, both.context()); });
      both.wait();
      return 0;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "gzip_pipeline: %s\n", e.what());
      return 1;
    }
  });
}
