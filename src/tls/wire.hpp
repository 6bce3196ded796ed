// Where OpenSSL reads and writes: memory, so that no call of it ever waits.
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace sley::tls {

// The bytes that have come from the network, and the bytes that must go there. A caller of OpenSSL
// or of this holds the session's lock.
class wire {
 public:
  static constexpr std::size_t room_bytes = 32 * 1024;  // nearly two of the longest records

  // The room for what comes next, all of which must have been read before: until received() or
  // ended() only the caller touches it. Empty if there is no memory.
  std::span<std::byte> room() noexcept;
  void received(std::size_t bytes) noexcept;
  void ended() noexcept { has_ended_ = true; }

  // What OpenSSL has written since the last swap; `empty` becomes the place for more.
  bool has_output() const noexcept { return !output_.empty(); }
  std::size_t output_bytes() const noexcept { return output_.size(); }
  void swap_output(std::vector<std::byte>& empty) noexcept { output_.swap(empty); }
  void drop_output() noexcept { output_ = {}; }

  // A BIO that reads and writes here. Null if there is no memory.
  BIO* make_bio() noexcept;

 private:
  static int read(BIO* bio, char* to, int size);
  static int write(BIO* bio, const char* from, int size);
  static long control(BIO* bio, int command, long number, void* pointer);
  static BIO_METHOD* make_method() noexcept;

  std::unique_ptr<std::byte[]> input_;
  std::size_t begin_ = 0, end_ = 0;  // of what is left in it
  bool has_ended_ = false;
  std::vector<std::byte> output_;
};

}  // namespace sley::tls
