// Reads messages in the encoding of Protocol Buffers. Bytes that are none fail the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace sley_test {

// The fields of one message: numbers, or bytes.
struct field {
  std::uint64_t id;
  std::uint64_t number;
  std::string_view bytes;
};

class protobuf_reader {
 public:
  explicit protobuf_reader(std::string_view bytes) : left_(bytes) {}

  bool is_at_end() const { return left_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_[0]);
      left_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    ADD_FAILURE() << "a number without an end";
    left_ = {};
    return 0;
  }
  std::uint64_t fixed() {
    std::uint64_t value = 0;
    EXPECT_GE(left_.size(), sizeof value);
    for (unsigned i = 0; i < sizeof value && !left_.empty(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(left_[0])} << (8 * i);
      left_.remove_prefix(1);
    }
    return value;
  }
  field next() {
    const std::uint64_t head = varint();
    field f{head >> 3, 0, {}};
    if ((head & 7) == 0) {
      f.number = varint();
    } else if ((head & 7) == 1) {
      f.number = fixed();
    } else if ((head & 7) == 2) {
      const std::uint64_t size = varint();
      EXPECT_LE(size, left_.size());
      f.bytes = left_.substr(0, size);
      left_.remove_prefix(f.bytes.size());
    } else {
      ADD_FAILURE() << "a field of kind " << (head & 7);
      left_ = {};
    }
    return f;
  }

 private:
  std::string_view left_;
};

inline std::vector<field> fields_of(std::string_view message) {
  std::vector<field> all;
  for (protobuf_reader r(message); !r.is_at_end();) all.push_back(r.next());
  return all;
}

inline std::vector<field> fields_of(std::string_view message, std::uint64_t id) {
  std::vector<field> all = fields_of(message);
  std::erase_if(all, [id](const field& f) { return f.id != id; });
  return all;
}

inline field the(std::string_view message, std::uint64_t id) {
  const std::vector<field> all = fields_of(message, id);
  EXPECT_LE(all.size(), 1u) << "field " << id;
  return all.empty() ? field{id, 0, {}} : all[0];
}

inline std::vector<std::uint64_t> numbers(std::string_view packed) {
  std::vector<std::uint64_t> all;
  for (protobuf_reader r(packed); !r.is_at_end();) all.push_back(r.varint());
  return all;
}

}  // namespace sley_test
