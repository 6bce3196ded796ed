// A goroutine's labels. From the label.Set of Go's internal/runtime/pprof/label.
//
// A set never changes, and many goroutines have the same one: a goroutine that gets other labels
// gets another set. Each goroutine, snapshot and sample that has a set has a reference to it.
#pragma once

#include <sley/debug.hpp>
#include <sley/detail/reference_count.hpp>

#include "runtime/state/label_ref.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sley::rt {

struct label_set {
  // With one reference, the caller's. Sorted by key.
  explicit label_set(std::vector<debug::label> sorted);

  std::vector<debug::label> all;  // [const]
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
