// The list of all records of a kind that were ever made, newest first. Records are never freed, so
// a reader may walk from any record to the older ones.
//
//   operation     allowed callers
//   add           one thread at a time
//   begin, end    any thread
//
//   A record is complete before another thread finds it: PB-1.
//   Test: tests/model/published_model.cpp.
#pragma once

#include "base/published.hpp"

namespace sley::parts {

template <class T, T* T::* Next>
class registry {
 public:
  class iterator {
   public:
    explicit iterator(T* at) noexcept : at_(at) {}
    T* operator*() const noexcept { return at_; }
    iterator& operator++() noexcept {
      at_ = at_->*Next;
      return *this;
    }
    bool operator==(const iterator&) const noexcept = default;

   private:
    T* at_;
  };

  constexpr registry() noexcept = default;

  void add(T* record) noexcept {
    record->*Next = newest_.read_relaxed();
    newest_.publish(record);
  }

  // Null if there is no record.
  T* newest() const noexcept { return newest_.read(); }
  iterator begin() const noexcept { return iterator(newest()); }
  iterator end() const noexcept { return iterator(nullptr); }

 private:
  base::published<T*> newest_;
};

}  // namespace sley::parts
