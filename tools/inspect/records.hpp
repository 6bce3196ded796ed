// What sley's layout in a program says, and a goroutine's record by it.
#pragma once

#include "inspect/target.hpp"
#include "runtime/state/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace sley::inspect {

class layout_of {
 public:
  // Throws a failure if it is damaged, or of another version.
  layout_of(const target& from, std::uint64_t address);

  const rt::layout* operator->() const noexcept { return &head_; }
  // Texts are never freed.
  std::string_view status(std::uint8_t n) const {
    return n < statuses_.size() ? statuses_[n] : "?";
  }
  std::string_view wait(std::uint8_t n) const { return n < waits_.size() ? waits_[n] : "waiting"; }

 private:
  void read_texts(const target& from, std::uint64_t& at, std::uint64_t count,
                  std::vector<std::string_view>& to) const;

  rt::layout head_{};
  std::vector<std::string_view> statuses_;
  std::vector<std::string_view> waits_;
};

// A goroutine's record, of which `bytes` is a copy.
class record {
 public:
  record(const layout_of& layout, std::uint64_t address, const std::byte* bytes)
      : layout_(&layout), address_(address), bytes_(bytes) {}

  template <class T>
  T get(std::uint64_t offset) const noexcept {
    T value{};
    if (offset + sizeof value > l()->goroutine_bytes) return value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  std::uint64_t address() const noexcept { return address_; }
  std::uint64_t id() const noexcept { return get<std::uint64_t>(l()->goroutine_id); }
  std::string_view status() const { return l().status(get<std::uint8_t>(l()->goroutine_status)); }
  std::uint8_t needs() const noexcept { return get<std::uint8_t>(l()->goroutine_needs); }
  bool is_alive() const {
    return status() != "idle" && status() != "dead" &&
           get<std::uint8_t>(l()->goroutine_is_foreign) == 0;
  }
  // Its machine, if its own one waits for a processor; else 0.
  std::uint64_t bound_to() const noexcept {
    const bool is_bound = (needs() & l()->needs_machine) != 0;
    return is_bound ? get<std::uint64_t>(l()->goroutine_bound_to) : 0;
  }
  // Has it a stack that it does not run on?
  bool is_at_rest() const {
    return (needs() & (l()->needs_stack | l()->needs_machine)) == 0 && status() != "running";
  }
  // Does it stand where the other record of the same goroutine stands?
  bool is_as(const record& other) const {
    return std::memcmp(bytes_, other.bytes_, l()->goroutine_bytes) == 0;
  }

 private:
  const layout_of& l() const noexcept { return *layout_; }

  const layout_of* layout_;
  std::uint64_t address_;
  const std::byte* bytes_;
};

}  // namespace sley::inspect
