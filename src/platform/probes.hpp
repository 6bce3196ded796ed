// Probes for bpftrace, perf, gdb and SystemTap: a program that runs can be asked at these places,
// from outside, what happens. A place that is not asked is one instruction that does nothing (nop).
// The arguments are noted in the ELF section `.note.stapsdt`, see
// https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
//
//   probe         arguments
//   spawn         the new goroutine's id, its creator's, the return address in the creator
//   ready         the id of a goroutine that can run again
//   run           the id of a goroutine that gets a processor
//   park          the id, the number of the reason (wait_reason.hpp), the address of the object
//   preempt       the id of a goroutine whose time slice is over while others wait
//   retake        the id of a goroutine whose processor is taken while its thread is in the kernel
//   block_begin, block_end    the id of a goroutine at both ends of an announced call
#pragma once

#include <cstdint>

#ifdef SLEY_PROBES
#include <sys/sdt.h>
#endif

namespace sley::platform {

// References, so that an argument that is in memory is read from there by the asker alone.
#ifdef SLEY_PROBES
#define SLEY_ID_PROBE(name)                                                           \
  [[gnu::always_inline]] inline void probe_##name(const std::uint64_t& id) noexcept { \
    STAP_PROBE1(sley, name, id);                                                      \
  }
[[gnu::always_inline]] inline void probe_spawn(const std::uint64_t& id,
                                               const std::uint64_t& created_by,
                                               const void* const& created_at) noexcept {
  STAP_PROBE3(sley, spawn, id, created_by, created_at);
}
[[gnu::always_inline]] inline void probe_park(const std::uint64_t& id, std::uint8_t reason,
                                              const void* object) noexcept {
  STAP_PROBE3(sley, park, id, reason, object);
}
#else
#define SLEY_ID_PROBE(name) \
  inline void probe_##name(const std::uint64_t&) noexcept {}
inline void probe_spawn(const std::uint64_t&, const std::uint64_t&, const void* const&) noexcept {}
inline void probe_park(const std::uint64_t&, std::uint8_t, const void*) noexcept {}
#endif

SLEY_ID_PROBE(ready)
SLEY_ID_PROBE(run)
SLEY_ID_PROBE(preempt)
SLEY_ID_PROBE(retake)
SLEY_ID_PROBE(block_begin)
SLEY_ID_PROBE(block_end)
#undef SLEY_ID_PROBE

}  // namespace sley::platform
