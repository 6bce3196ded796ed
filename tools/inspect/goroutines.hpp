// The goroutines of a process or core, with their stacks.
#pragma once

#include "inspect/target.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/state/label_ref.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sley::inspect {

struct seen_goroutine {
  rt::goroutine_view view;
  rt::label_ref labels;               // the view's
  std::vector<std::uintptr_t> stack;  // return addresses, innermost first
};

// In the order of their ids. In a process that goes on, each is seen at a moment of its own: a
// goroutine whose record has changed while its stack was read is looked at again, and has no stack
// if that goes on. Throws failure: there is no sley in the target, or one of another layout.
std::vector<seen_goroutine> goroutines_of(const target& from);

}  // namespace sley::inspect
