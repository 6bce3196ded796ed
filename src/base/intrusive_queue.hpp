// A singly linked FIFO through a pointer inside its elements. It owns nothing and takes no lock.
#pragma once

#include <cstddef>
#include <utility>

namespace sley::base {

template <class T, T* T::* Next>
class intrusive_queue {
 public:
  bool is_empty() const noexcept { return first_ == nullptr; }
  std::size_t size() const noexcept { return size_; }

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

  // Moves all of `other` behind what is here.
  void append(intrusive_queue&& other) noexcept {
    if (other.is_empty()) return;
    (first_ == nullptr ? first_ : last_->*Next) = other.first_;
    last_ = other.last_;
    size_ += other.size_;
    other = intrusive_queue();
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
