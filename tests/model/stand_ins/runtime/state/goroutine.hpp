// For models of src/sync: a thread of the model is a goroutine, the machine that it runs on and its
// processor. It parks on a note.
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/random.hpp"
#include "parts/note.hpp"
#include "parts/reader_slots.hpp"

#include <cstdint>

namespace sley::rt {

struct goroutine {
  parts::note note;
  detail::plain<bool> is_saved;  // its context: from its park to its ready
  parts::reader_slot* reader_slot = nullptr;
};

struct processor {
  parts::reader_slots<1> readers;
};

struct machine {
  goroutine own;
  goroutine* g = &own;
  processor permit;
  processor* p = &permit;
  base::random random;
};

// Made anew by each execution, which names it here: one for each thread.
inline machine* machines = nullptr;
inline std::uint32_t machine_count = 0;

inline machine* current_machine() noexcept { return &machines[rl::thread_index()]; }
inline machine* this_machine() noexcept { return current_machine(); }

}  // namespace sley::rt
