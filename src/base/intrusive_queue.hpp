// A singly linked FIFO through a pointer inside its elements. It owns nothing and takes no lock.
#pragma once

#include "base/peek.hpp"

#include <cstddef>
#include <utility>

namespace sley::base {

template <class T, T* T::* Next>
class intrusive_queue {
 public:
  bool is_empty() const noexcept { return first_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  std::size_t peek_size() const noexcept { return peek(size_); }  // any thread, for figures
  T* front() const noexcept { return first_; }

  void push_back(T* element) noexcept {
    element->*Next = nullptr;
    (first_ == nullptr ? first_ : last_->*Next) = element;
    last_ = element;
    ++size_;
  }

  void push_front(T* element) noexcept {
    element->*Next = first_;
    if (first_ == nullptr) last_ = element;
    first_ = element;
    ++size_;
  }

  // Moves all elements of `other` to the end of this queue.
  void append(intrusive_queue&& other) noexcept {
    if (other.is_empty()) return;
    (first_ == nullptr ? first_ : last_->*Next) = other.first_;
    last_ = other.last_;
    size_ += other.size_;
    other = intrusive_queue();
  }

  // The number of elements that `wanted` accepts.
  template <class Predicate>
  std::size_t count(Predicate wanted) const noexcept {
    std::size_t n = 0;
    for (T* element = first_; element != nullptr; element = element->*Next) n += wanted(element);
    return n;
  }

  // Removes every element that `wanted` accepts. Both the removed and the kept elements stay in
  // order.
  template <class Predicate>
  intrusive_queue extract(Predicate wanted) noexcept {
    intrusive_queue taken, kept;
    while (T* element = pop_front()) (wanted(element) ? taken : kept).push_back(element);
    *this = kept;
    return taken;
  }

  // Removes the first element that `wanted` accepts; null if there is none.
  template <class Predicate>
  T* remove_first(Predicate wanted) noexcept {
    T* before = nullptr;
    T* element = first_;
    while (element != nullptr && !wanted(element)) {
      before = element;
      element = element->*Next;
    }
    if (element == nullptr) return nullptr;
    (before == nullptr ? first_ : before->*Next) = element->*Next;
    if (element == last_) last_ = before;
    --size_;
    return element;
  }

  // Null when empty.
  T* pop_front() noexcept {
    T* element = first_;
    if (element != nullptr) {
      first_ = element->*Next;
      if (first_ == nullptr) last_ = nullptr;
      --size_;
    }
    return element;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sley::base
