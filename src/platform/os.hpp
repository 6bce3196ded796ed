// What sley asks of the operating system, as contracts. Each function says what it needs and what
// it promises; nothing here knows of goroutines. None of them allocates or takes a lock of libc
// unless it says so, so the runtime may call them with its own locks held.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::platform {

// ---- time ----

// Nanoseconds of CLOCK_MONOTONIC, the clock of std::chrono::steady_clock; never goes back. ~25 ns.
std::int64_t monotonic_ns() noexcept;

// A counter that runs with the CPU; only its differences mean something, and only roughly. ~8 ns.
// It says how long ago something was before monotonic_ns() is worth its price.
inline std::uint64_t cycle_counter() noexcept { return __builtin_ia32_rdtsc(); }

// Blocks the thread until then, or for at least `ns`, also when signals come.
void sleep_until_ns(std::int64_t when_ns) noexcept;
void sleep_ns(std::int64_t ns) noexcept;

// sched_yield(2).
void yield_thread() noexcept;

// ---- futex ----

// Blocks while *word == expected, until woken, or until CLOCK_MONOTONIC reaches deadline_ns
// (INT64_MAX: no deadline). May return at any time without reason: callers check the word again.
void futex_wait(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) noexcept;

// Wakes up to `count` threads that wait on the word.
void futex_wake(std::uint32_t* word, int count) noexcept;

// ---- threads ----

// Starts a detached thread with all signals blocked while it is made; `entry(arg)` runs with the
// caller's signal mask. Returns 0, or an errno value (EAGAIN: a limit was hit). Takes libc's locks.
int create_thread(void (*entry)(void*), void* arg) noexcept;

// CPUs this process may run on, at least 1.
int available_cpus() noexcept;

// Makes timed waits of the calling thread as exact as the clock allows.
void set_exact_timers() noexcept;

// ---- memory ----

std::size_t page_bytes() noexcept;

// Zeroed, readable and writable memory, backed page by page when touched; null when there is none.
// Never made of huge pages if `small_pages`. `bytes` is a multiple of the page size.
void* map_memory(std::size_t bytes, bool small_pages) noexcept;
void unmap_memory(void* start, std::size_t bytes) noexcept;

// Makes every access to the page-aligned range fault with SIGSEGV from now on. False, with errno
// set, if the process may not have another guard. Uses MADV_GUARD_INSTALL (Linux 6.13), which costs
// no mapping, else mprotect.
bool install_guard(void* start, std::size_t bytes) noexcept;

}  // namespace sley::platform
