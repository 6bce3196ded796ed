#include "runtime/state/label_set.hpp"

#include <sley/detail/atomic.hpp>

#include "platform/unseen.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace sley::rt {

namespace {

// relaxed: a thread that has not seen it yet frees its set long before the report comes to it.
constinit detail::atomic<bool> are_kept;

std::uint64_t hash_of(std::span<const debug::label> labels) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  const std::hash<std::string_view> hash_of_text;
  std::uint64_t hash = labels.size();
  for (const debug::label& l : labels) {
    hash = (hash ^ hash_of_text(l.key)) * odd;
    hash = (hash ^ hash_of_text(l.value)) * odd;
  }
  return hash;
}

}  // namespace

label_set::label_set(std::vector<debug::label> sorted)
    : all(std::move(sorted)), hash(hash_of(all)) {
  platform::passes_order(this);
}

void add_reference(const label_set& labels) noexcept { labels.references.add(); }

void drop_reference(const label_set& labels) noexcept {
  if (labels.references.drop() && !are_kept.load_relaxed()) delete &labels;
}

std::span<const debug::label> labels_in(const label_set* labels) noexcept {
  if (labels == nullptr) return {};
  platform::takes_order(labels);
  return labels->all;
}

bool are_equal(const label_set* a, const label_set* b) noexcept {
  if (a == b) return true;
  if (a != nullptr && b != nullptr && a->hash != b->hash) return false;
  return std::ranges::equal(labels_in(a), labels_in(b));
}

void keep_all_labels() noexcept { are_kept.store_relaxed(true); }

}  // namespace sley::rt
