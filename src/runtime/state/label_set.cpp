#include "runtime/state/label_set.hpp"

#include <sley/detail/atomic.hpp>

#include "base/check.hpp"
#include "platform/unseen.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

namespace sley::rt {

namespace {

// relaxed: a thread that has not seen it yet frees its set long before the report comes to it.
constinit detail::atomic<bool> are_kept;

using size_in_text = std::uint32_t;

void append_sized(std::string& to, std::string_view text) {
  const auto size = static_cast<size_in_text>(text.size());
  to.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

std::string text_of(std::span<const debug::label> labels) {
  std::string text;
  for (const debug::label& l : labels) {
    append_sized(text, l.key);
    append_sized(text, l.value);
  }
  return text;
}

// Takes a text and its size from the begin. False: it is not all there.
bool take_sized(std::string_view& from, std::string& to) {
  size_in_text size = 0;
  if (from.size() < sizeof size) return false;
  std::memcpy(&size, from.data(), sizeof size);
  from.remove_prefix(sizeof size);
  if (from.size() < size) return false;
  to = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace

std::optional<std::vector<debug::label>> labels_in_text(std::string_view text) {
  std::vector<debug::label> all;
  while (!text.empty()) {
    debug::label& l = all.emplace_back();
    if (!take_sized(text, l.key) || !take_sized(text, l.value)) return std::nullopt;
  }
  return all;
}

label_set::label_set(std::vector<debug::label> sorted)
    : all(std::move(sorted)), text(text_of(all)), hash(std::hash<std::string_view>()(text)) {
  SLEY_DCHECK(static_cast<const void*>(static_cast<label_text*>(this)) == this,
              "the text of labels is where the set is");
  bytes = text.data();
  size = static_cast<size_in_text>(text.size());
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
