// Allocates the records of goroutines and machines, and keeps free ones for reuse.
#pragma once

#include "parts/registry.hpp"
#include "platform/unseen.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::rt {

// A record in status idle; null if there is no memory. [inside]
goroutine* take_record(machine* m) noexcept;
// Takes back the record of a goroutine that is dead or was never started. [inside]
void give_record(machine* m, goroutine* g) noexcept;
// For the thread sanitizer: the record has a new user. take_record() has done this.
inline void forget_former_user(const goroutine& g) noexcept {
  platform::forget_accesses(&g, sizeof g);
  platform::forget_memory(g.task, sizeof g.task);
  platform::forget_memory(&g.strand, sizeof g.strand);
}
// Never given out before, never 0 or 1. [inside]
std::uint64_t next_goroutine_id(machine* m) noexcept;

// A machine in its initial state, on the list of all machines; null if there is no memory.
machine* new_machine() noexcept;
// Takes back a machine whose thread is gone or was never made.
void give_machine(machine* m) noexcept;
// Each machine that there is looks, at its next entry or round, whether the scheduler is halted.
void raise_stop() noexcept;
// Makes the calling thread the machine's.
void attach_thread(machine* m) noexcept;
// Undoes that.
void detach_thread(machine* m) noexcept;

// All records of goroutines ever made: slabs, newest first.
inline constexpr std::size_t slab_records = 64;
struct slab {
  slab* next = nullptr;  // [const] once it can be seen
  goroutine records[slab_records];
};
extern parts::registry<slab, &slab::next> slabs;  // added to under sched.lock

// Memory that is never freed; see parts/permanent_memory.hpp.
void* allocate_permanently(std::size_t bytes) noexcept;

}  // namespace sley::rt
