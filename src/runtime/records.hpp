// Where the records of goroutines and machines come from, and where they wait to be used again.
#pragma once

#include "parts/registry.hpp"
#include "runtime/goroutine.hpp"
#include "runtime/machine.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::rt {

// A record in status idle; null if there is no memory. [inside]
goroutine* take_record(machine* m) noexcept;
// A dead goroutine's record, or one that was never started. [inside]
void give_record(machine* m, goroutine* g) noexcept;
// Never given out before, never 0 or 1. [inside]
std::uint64_t next_goroutine_id(machine* m) noexcept;

// A machine as new, on the list of all; null if there is no memory.
machine* new_machine() noexcept;
// One whose thread is gone or never came, to be used again by new_machine.
void give_machine(machine* m) noexcept;
// From now on those of new_machine come with it as well, and not any more. [stw]
void raise_on_all_machines(parts::border::reason reason) noexcept;
void lower_on_all_machines(parts::border::reason reason) noexcept;
// The calling thread is the machine's from now on, and not any more.
void attach_thread(machine* m) noexcept;
void detach_thread(machine* m) noexcept;

// All records of goroutines ever made: slabs, newest first.
inline constexpr std::size_t slab_records = 64;
struct slab {
  slab* next = nullptr;  // [const] once it can be seen
  goroutine records[slab_records];
};
extern parts::registry<slab, &slab::next> slabs;  // added to under sched.lock

// Memory for good, see parts/permanent_memory.hpp.
void* allocate_permanently(std::size_t bytes) noexcept;

}  // namespace sley::rt
