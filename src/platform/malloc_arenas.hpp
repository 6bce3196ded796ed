// How many arenas glibc's malloc has.
//
// There each thread allocates from an arena, and a free gives the memory back to the arena that it
// came from. By default every thread that allocates gets an arena of its own, until there are eight
// for each CPU. Goroutines allocate on one thread and free on another. Their threads change all the
// time, and there are more of them than processors. So every arena grows until it could hold nearly
// all that the program has at once, and the memory that is free in one arena does not serve
// another.
#pragma once

#include <cstdint>
#include <string_view>

namespace sley::platform {

// The number of arenas for a process that may use this many CPUs: two for each, at least four. One
// for each is too few, because a goroutine that was preempted inside malloc holds its arena's lock
// until it runs again, and a thread that waits for that lock loses its processor.
std::uint32_t malloc_arenas_for(std::uint32_t cpus) noexcept;

// From now on malloc makes a new arena only while it has fewer than this, at least 1; then threads
// share arenas. Holds for the whole process. It changes nothing if the environment has a setting of
// its own (MALLOC_ARENA_MAX, MALLOC_ARENA_TEST, or one of glibc.malloc.arena_... in
// GLIBC_TUNABLES), nor where another allocator or libc is in use. glibc keeps the number for good
// once a thread has found no free arena, so a later call may change nothing.
//
// Takes locks of malloc. A goroutine that was stopped by a signal may hold those: so this is called
// before there are goroutines.
void limit_malloc_arenas(std::uint32_t arenas) noexcept;

// Is there a setting of glibc.malloc.arena_... in such a text, "name=value:name=value"?
bool has_arena_setting(std::string_view tunables) noexcept;

}  // namespace sley::platform
