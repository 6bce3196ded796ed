// Bytes that have come and were not consumed yet, in one piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace sley::http::detail {

class input_buffer {
 public:
  std::string_view text() const noexcept { return {bytes_.get() + begin_, end_ - begin_}; }
  std::size_t size() const noexcept { return end_ - begin_; }
  bool empty() const noexcept { return begin_ == end_; }

  void consume(std::size_t n) noexcept {
    begin_ += n;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Lets go of memory that is more than a small message needs. Nothing must be left in it.
  void release() noexcept {
    if (capacity_ <= first_capacity) return;
    bytes_.reset();
    capacity_ = 0;
  }

  // Room for more behind the text, which may move.
  std::span<std::byte> room() {
    if (capacity_ - end_ < least_room) make_room();
    return std::as_writable_bytes(std::span(bytes_.get() + end_, capacity_ - end_));
  }
  void add(std::size_t n) noexcept { end_ += n; }

 private:
  static constexpr std::size_t first_capacity = 4096;
  static constexpr std::size_t least_room = 1024;

  void make_room() {
    const std::size_t n = size();
    // Moving is enough if that frees half of it; growing otherwise keeps the copying linear.
    const std::size_t capacity =
        n + least_room <= capacity_ / 2 ? capacity_ : std::max(first_capacity, 2 * capacity_);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (n > 0) std::memcpy(larger.get(), bytes_.get() + begin_, n);
    bytes_ = std::move(larger);
    capacity_ = capacity;
    begin_ = 0;
    end_ = n;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace sley::http::detail
