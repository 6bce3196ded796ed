// Gives back memory of stacks that is not needed; see trim.cpp.
#pragma once

#include "runtime/state/goroutine.hpp"
#include "runtime/state/records.hpp"

#include <cstddef>

namespace sley::rt {

// Goes over all records, a part of them each time. [sysmon]
class stack_trimmer {
 public:
  // Gives back a batch. True if nothing is left to give back.
  bool trim_batch() noexcept;

 private:
  // True if the last full round found nothing to do now or later.
  bool trim_waiting() noexcept;
  goroutine* next() noexcept;

  slab* slab_ = nullptr;
  std::size_t place_ = 0;
  bool found_ = false;
  bool is_settled_ = false;
};

}  // namespace sley::rt
