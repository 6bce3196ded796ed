// Machines that run a goroutine without a processor; see detached.cpp.
#pragma once

#include "runtime/state/machine.hpp"

namespace sley::rt {

// [sysmon]
class detached_list {
 public:
  // The machine runs its goroutine without a processor from now on.
  void add(machine* m) noexcept;
  // Looks at a batch of the list, and stops a machine that computes until it is its turn.
  void watch() noexcept;
  bool is_empty() const noexcept { return first_ == nullptr; }

 private:
  void add_new() noexcept;

  machine* first_ = nullptr;
};

}  // namespace sley::rt
