// The CPU behind contracts. Each CPU has a folder beside this file with headers of the same names,
// `cpu/*.hpp`, and its assembly; a build has one of the folders, by the target processor
// (cmake/cpu.cmake). Every function of those headers is declared, with its contract, in the header
// that includes it: here, in context.hpp, current.hpp, system_call.hpp, start_child.cpp and
// unwind/own_process.hpp.
#pragma once

#include "platform/kernel_release.hpp"

#include <cstdint>

namespace sley::platform {

// Tells the CPU that the thread waits for another CPU's store: it saves power, and leaves more to
// the CPU's other thread. It takes less than a microsecond, and is no barrier.
inline void pause_cpu() noexcept;

// No instruction that follows is begun by speculation, before the branches ahead are decided. Does
// nothing on a CPU that has no such barrier.
inline void speculation_barrier() noexcept;

// A counter that never goes back on one CPU, and runs at a constant rate while the thread does.
inline std::uint64_t read_cycle_counter() noexcept;
// How far the counter goes in this time, roughly: it may be twice as far, or half as far.
inline std::uint64_t counter_ticks(std::uint64_t ns) noexcept;

// Brings the page into the TLB and the line into the caches. The byte must be readable. No
// sanitizer looks at it.
inline void load_byte(const void* place) noexcept;

// The word at a readable address. Sanitizers do not see it: a stack may have marks of frames that
// are gone.
inline std::uint64_t load_word(std::uint64_t address) noexcept;

}  // namespace sley::platform

// Besides the functions it has `cache_line_bytes`, the piece of memory that CPUs take from each
// other as a whole; `membarrier_works_since`, the first kernel whose membarrier(2) keeps its
// promise wherever it can be called; and `frame_record_below`, how many bytes below the address of
// a frame (__builtin_frame_address) its record is: the address of the caller's frame, and the
// return address.
#include "cpu/instructions.hpp"
