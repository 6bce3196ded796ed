// Goroutines that do the same at the same place, for profiles.
#pragma once

#include <sley/debug.hpp>

#include <string>
#include <vector>

namespace sley::debug {

struct named_group {
  std::string name;           // go_options::name
  std::vector<label> labels;  // sorted by key
  goroutine_group group;
};

// As goroutine_profile(), but only goroutines with the same name and labels are taken together.
std::vector<named_group> goroutines_by_name();
// The same of leaked goroutines.
std::vector<named_group> leaks_by_name();

}  // namespace sley::debug
