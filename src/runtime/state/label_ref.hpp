// A reference to a goroutine's labels, for the record of a goroutine.
#pragma once

#include <utility>

namespace sley::rt {

struct label_set;  // see state/label_set.hpp

// Any thread, also in a signal handler, by a caller that is sure of another reference.
void add_reference(const label_set& labels) noexcept;
// Any thread, outside. Frees the set if it was the last one.
void drop_reference(const label_set& labels) noexcept;

// Null, or a reference.
class label_ref {
 public:
  constexpr label_ref() noexcept = default;
  // Takes over a reference of the caller's.
  explicit label_ref(const label_set* labels) noexcept : labels_(labels) {}
  label_ref(const label_ref& other) noexcept : labels_(other.labels_) {
    if (labels_ != nullptr) add_reference(*labels_);
  }
  label_ref(label_ref&& other) noexcept : labels_(std::exchange(other.labels_, nullptr)) {}
  label_ref& operator=(label_ref other) noexcept {
    std::swap(labels_, other.labels_);
    return *this;
  }
  ~label_ref() {
    if (labels_ != nullptr) drop_reference(*labels_);
  }

  const label_set* get() const noexcept { return labels_; }
  // The reference is the caller's then.
  const label_set* release() noexcept { return std::exchange(labels_, nullptr); }

 private:
  const label_set* labels_ = nullptr;
};

}  // namespace sley::rt
