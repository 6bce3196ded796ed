// All records of a kind that were ever made, newest first. They stay for ever, so whoever has one
// may walk on to those that were made before it.
//
//   operation     who may call it
//   add           one thread at a time
//   begin, end    anybody
//
//   A record is complete before others find it: PB-1.
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

  // Null: there is none.
  T* newest() const noexcept { return newest_.read(); }
  iterator begin() const noexcept { return iterator(newest()); }
  iterator end() const noexcept { return iterator(nullptr); }

 private:
  base::published<T*> newest_;
};

}  // namespace sley::parts
