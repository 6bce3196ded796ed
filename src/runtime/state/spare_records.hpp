// Records of goroutines that no processor keeps: a stack of batches.
//
// The first record of a batch holds the batch in the room for its task. So a batch changes hands in
// one step: a walk over its records, which are in no cache by then, would take a cache miss for
// each.
#pragma once

#include "runtime/state/goroutine.hpp"

#include <new>
#include <utility>

namespace sley::rt {

class spare_records {
 public:
  bool is_empty() const noexcept { return last_ == nullptr; }

  void push(goroutine_list&& batch) noexcept {
    if (batch.is_empty()) return;
    void* place = batch.front()->task;
    last_ = ::new (place) entry{std::exchange(batch, {}), last_};
  }

  // The batch that came last; empty if there is none.
  goroutine_list pop() noexcept {
    if (is_empty()) return {};
    const entry e = *last_;
    last_ = e.before;
    return e.batch;
  }

 private:
  struct entry {
    goroutine_list batch;
    entry* before;
  };
  static_assert(sizeof(entry) <= sizeof(goroutine::task) && alignof(entry) <= alignof(goroutine));

  entry* last_ = nullptr;
};

}  // namespace sley::rt
