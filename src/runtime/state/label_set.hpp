// A goroutine's labels. From the label.Set of Go's internal/runtime/pprof/label.
//
// A set never changes, and many goroutines have the same one: a goroutine that gets other labels
// gets another set. Each goroutine, snapshot and sample that has a set has a reference to it.
#pragma once

#include <sley/debug.hpp>
#include <sley/detail/reference_count.hpp>

#include "runtime/state/label_ref.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sley::rt {

// The labels for readers outside the process, which do not know the C++ library's types: of each
// label the key and then the value, each of them behind its size in 32 bits. layout.hpp says where.
struct label_text {
  std::string_view whole() const noexcept { return {bytes, size}; }

  const char* bytes = nullptr;  // [const]
  std::uint32_t size = 0;       // [const]
};
// Nothing if the text is none of labels.
std::optional<std::vector<debug::label>> labels_in_text(std::string_view text);

// The base is first, so the address of a set is that of its text.
struct label_set : label_text {
  // With one reference, the caller's. Sorted by key.
  explicit label_set(std::vector<debug::label> sorted);
  label_set(const label_set&) = delete;
  label_set& operator=(const label_set&) = delete;

  std::vector<debug::label> all;  // [const]
  std::string text;               // [const] the bytes of the base
  std::uint64_t hash;             // [const] of all of it
  mutable detail::reference_count references;
};

// None for null.
std::span<const debug::label> labels_in(const label_set* labels) noexcept;
// Do they have the same labels? Either may be null.
bool are_equal(const label_set* a, const label_set* b) noexcept;

// From now on no set is freed: for the report of a process that ends, in which goroutines still
// run.
void keep_all_labels() noexcept;

}  // namespace sley::rt
