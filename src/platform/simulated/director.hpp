// Decides which thread goes on, and keeps the journal of all events.
#pragma once

#include "platform/simulated/simulation.hpp"
#include "platform/simulated/thread.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace sley::platform::simulated {

// Why a thread must be picked.
enum class why : std::uint8_t { passes, yields, sleeps };

// Picks one of the threads that can run; there are at least two. If the running thread can run, it
// is the first of them.
thread* pick(std::span<thread*> who, why reason) noexcept;

// The thread is at a point. Must another one be picked? Records the facts about the point in it.
bool is_pause_due(thread& me) noexcept;

// A point is passed: the clock, and the thread's count of steps, move on.
void note_step(std::uint64_t& steps, std::int64_t& clock_ns) noexcept;
// No thread has gone to sleep for long: the clock must jump.
bool is_jump_due() noexcept;
void note_sleep() noexcept;
// Returns the number of the step.
std::uint64_t note_switch(std::int32_t to, std::int64_t clock_ns) noexcept;
std::uint64_t step() noexcept;

std::int32_t new_thread_id() noexcept;
std::uint32_t new_priority() noexcept;

// The rest of a point: threads.cpp has it.
void pass_point() noexcept;

// Prints the last words and ends the process.
[[noreturn]] void give_up(ending how, std::string_view words) noexcept;

}  // namespace sley::platform::simulated
