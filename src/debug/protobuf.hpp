// Messages in the encoding of Protocol Buffers, as far as profiles and traces need it:
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sley::debug {

// Fields are in the order in which they are added. A field that is left out reads as 0 or empty.
class protobuf_message {
 public:
  void add_number(std::uint32_t field, std::uint64_t value) {
    if (value == 0) return;
    put(std::uint64_t{field} << 3 | as_varint);
    put(value);
  }
  // A number of the type fixed64.
  void add_fixed(std::uint32_t field, std::uint64_t value) {
    put(std::uint64_t{field} << 3 | as_fixed);
    for (unsigned i = 0; i < sizeof value; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  // Also an empty one: the first of a list of texts may be.
  void add_bytes(std::uint32_t field, std::string_view bytes) {
    put(std::uint64_t{field} << 3 | as_bytes);
    put(bytes.size());
    bytes_ += bytes;
  }
  void add_message(std::uint32_t field, const protobuf_message& part) {
    add_bytes(field, part.bytes_);
  }
  void add_numbers(std::uint32_t field, std::span<const std::uint64_t> values) {
    protobuf_message packed;
    for (const std::uint64_t value : values) packed.put(value);
    add_message(field, packed);
  }

  std::string take_bytes() { return std::move(bytes_); }

 private:
  enum : std::uint64_t { as_varint = 0, as_fixed = 1, as_bytes = 2 };

  // Seven bits in a byte, the lowest first; the eighth says that more follow.
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace sley::debug
