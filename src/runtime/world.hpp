// What sysmon does with the world stopped, for those who ask; see world.cpp.
#pragma once

#include "runtime/wait_reason.hpp"

namespace sley::rt {

struct goroutine;

// Somebody waits for sysmon to call serve(this).
struct world_request {
  void (*serve)(world_request*) noexcept;
  goroutine* g = nullptr;
  world_request* next = nullptr;
};

// Parks until it is served. [inside]
void ask_sysmon(world_request& request, wait_reason reason) noexcept;

void serve_world_requests() noexcept;  // [sysmon]
bool is_world_request_pending() noexcept;

// [sysmon] Calls f(arg) while nobody uses a processor. f takes no lock of libc: its holder may have
// been stopped by a signal.
void with_world_stopped(void (*f)(void*), void* arg) noexcept;

}  // namespace sley::rt
