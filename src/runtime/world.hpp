// Requests that sysmon serves, and stopping the world; see world.cpp.
#pragma once

#include "runtime/wait_reason.hpp"

namespace sley::rt {

struct goroutine;

// A goroutine waits until sysmon has called serve(this).
struct world_request {
  void (*serve)(world_request*) noexcept;
  goroutine* g = nullptr;
  world_request* next = nullptr;
};

// Parks the calling goroutine until the request is served. [inside]
void ask_sysmon(world_request& request, wait_reason reason) noexcept;

void serve_world_requests() noexcept;  // [sysmon]
bool is_world_request_pending() noexcept;

// [sysmon] Calls f(arg) while no machine uses a processor. f must not take a lock of libc, because
// its holder may have been stopped by a signal.
void with_world_stopped(void (*f)(void*), void* arg) noexcept;

}  // namespace sley::rt
