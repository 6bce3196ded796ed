// Which goroutines can never go on, because nothing that can still run reaches what they wait for.
#pragma once

#include "runtime/inspect/goroutine_text.hpp"

#include <cstdint>
#include <vector>

namespace sley::debug {

// The ids of the leaked goroutines, ascending. Parks. Throws std::system_error if the process can't
// be looked at, std::bad_alloc. [user code]
std::vector<std::uint64_t> find_leaked();

// The goroutines that are leaked now. Without a search: goroutines that wait for nothing at all.
class leaked_goroutines {
 public:
  leaked_goroutines();  // as find_leaked()
  bool operator()(const rt::goroutine_view& g) const noexcept;

 private:
  std::vector<std::uint64_t> ids_;
};

}  // namespace sley::debug
