// For models of code that uses the status of a goroutine.
#pragma once

#include "model/model.hpp"

#include "parts/status.hpp"

#include <ostream>

namespace sley::parts {

void status_word::refuse(status, status) const noexcept {
  base::check_failed("a transition starts from the status that there is", __FILE__, __LINE__);
}

// The text that relacy prints.
inline std::ostream& operator<<(std::ostream& out, status s) { return out << name_of(s); }

}  // namespace sley::parts
