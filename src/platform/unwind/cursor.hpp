// Reads the numbers of DWARF from bytes that may hold anything. A read beyond the end fails, reads
// as zero, and leaves the cursor failed and at its end, so loops over a cursor end and callers ask
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sley::platform {

// Bytes, and the address at which a process has them.
struct image {
  const std::byte* bytes = nullptr;
  std::size_t size = 0;
  std::uint64_t address = 0;

  bool holds(std::uint64_t from, std::uint64_t count) const noexcept {
    return from >= address && from - address <= size && count <= size - (from - address);
  }
};

// Part of an image, or of a process's memory.
struct address_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool holds(std::uint64_t address) const noexcept { return address >= begin && address < end; }
};

class cursor {
 public:
  // Failed if the image does not hold all of the range.
  cursor(const image& of, address_range range) noexcept
      : image_(&of), at_(range.begin), end_(range.end) {
    if (range.end < range.begin || !of.holds(range.begin, range.end - range.begin)) fail();
  }
  // From there to the end of the image.
  cursor(const image& of, std::uint64_t from) noexcept : cursor(of, {from, of.address + of.size}) {}

  std::uint64_t address() const noexcept { return at_; }
  std::uint64_t end() const noexcept { return end_; }
  address_range rest() const noexcept { return {at_, end_}; }
  bool is_at_end() const noexcept { return at_ == end_; }
  bool has_failed() const noexcept { return has_failed_; }

  void fail() noexcept {
    has_failed_ = true;
    at_ = end_ = image_->address;
  }
  void skip(std::uint64_t bytes) noexcept {
    if (bytes > end_ - at_) return fail();
    at_ += bytes;
  }
  // Goes to an address in its range.
  void go_to(std::uint64_t address) noexcept { skip(address - at_); }
  // The next bytes, which the cursor skips.
  address_range take(std::uint64_t bytes) noexcept {
    const std::uint64_t begin = at_;
    skip(bytes);
    return has_failed_ ? address_range() : address_range{begin, at_};
  }

  template <class T>
  T number() noexcept {
    T value{};
    const std::uint64_t from = at_;
    skip(sizeof(T));
    if (!has_failed_) std::memcpy(&value, image_->bytes + (from - image_->address), sizeof(T));
    return value;
  }
  std::uint8_t byte() noexcept { return number<std::uint8_t>(); }

  // Little-endian base 128. Bits beyond 64 are lost, as in libgcc.
  std::uint64_t unsigned_leb() noexcept {
    unsigned shift = 0;
    return leb(shift);
  }
  std::int64_t signed_leb() noexcept {
    unsigned shift = 0;
    std::uint64_t value = leb(shift);
    if (shift < 64 && (value >> (shift - 1) & 1) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

 private:
  // `shift`: the number of bits, also if it is more than 64.
  std::uint64_t leb(unsigned& shift) noexcept {
    std::uint64_t value = 0;
    std::uint8_t b = 0;
    do {
      b = byte();
      if (shift < 64) value |= std::uint64_t{b & 0x7fU} << shift;
      shift += 7;
    } while ((b & 0x80) != 0);
    return value;
  }

  const image* image_;
  std::uint64_t at_;
  std::uint64_t end_;
  bool has_failed_ = false;
};

}  // namespace sley::platform
