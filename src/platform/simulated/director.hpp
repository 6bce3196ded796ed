// Who goes on: the plan's decisions, and the journal of what has happened.
#pragma once

#include "platform/simulated/simulation.hpp"
#include "platform/simulated/thread.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace sley::platform::simulated {

// Why somebody is to be picked.
enum class why : std::uint8_t { passes, yields, sleeps };

// One of those who can run, of whom there are two at least. If the running thread can, it is the
// first.
thread* pick(std::span<thread*> who, why reason) noexcept;

// The thread is at a point. Is another to be picked? What is known of the point is noted in it.
bool is_pause_due(thread& me) noexcept;

// A point is passed: the clock, and the thread's count of steps, move on.
void note_step(std::uint64_t& steps, std::int64_t& clock_ns) noexcept;
// Nobody has gone to sleep for long: the clock is to jump.
bool is_jump_due() noexcept;
void note_sleep() noexcept;
// Returns the number of the step.
std::uint64_t note_switch(std::int32_t to, std::int64_t clock_ns) noexcept;
std::uint64_t step() noexcept;

std::int32_t new_thread_id() noexcept;
std::uint32_t new_priority() noexcept;

// The rest of a point: threads.cpp has it.
void pass_point() noexcept;

// Ends the process, with its last words.
[[noreturn]] void give_up(ending how, std::string_view words) noexcept;

}  // namespace sley::platform::simulated
