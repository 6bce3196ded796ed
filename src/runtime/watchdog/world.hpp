// Requests that sysmon serves, and stopping the world; see world.cpp.
#pragma once

#include "runtime/state/wait_reason.hpp"

#include <cstdint>

namespace sley::rt {

struct goroutine;
struct machine;

// A goroutine waits until sysmon has called serve(this).
struct world_request {
  void (*serve)(world_request*) noexcept;
  goroutine* g = nullptr;
  world_request* next = nullptr;
};

// Parks the calling goroutine until the request is served. [inside]
void ask_sysmon(world_request& request, wait reason) noexcept;

// Asks for a number of processors; 0 or less: as many as the process may use.
struct resize_request : world_request {
  explicit resize_request(int n) noexcept;

  int wanted;
  int before = 0;  // the number of processors when it was served

 private:
  static void resize_world(world_request* request) noexcept;
};

void serve_world_requests() noexcept;  // [sysmon]
bool is_world_request_pending() noexcept;

// [sysmon] Calls f(arg) while no machine uses a processor. f must not take a lock of libc, because
// its holder may have been stopped by a signal.
void with_world_stopped(void (*f)(void*), void* arg) noexcept;

// A machine that cannot enter: its border is closed, or its announced call is claimed.
struct shut_out_machine {
  machine* m = nullptr;
  std::uint32_t call = 0;
};

struct procs_setting;
void make_processors(const procs_setting& setting) noexcept;  // at boot
void follow_automatic_procs() noexcept;                       // [sysmon]

}  // namespace sley::rt
