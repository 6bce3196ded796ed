// The one thread-local variable of the runtime: which M this thread is.
//
// A goroutine may be resumed on another thread, and compilers keep the address of a thread-local
// variable across calls. Therefore it is read through volatile assembly on the thread pointer and
// nothing else: each call reads anew, and no address of it exists.
#pragma once

namespace sley::rt {
struct machine;
}

extern "C" {
// Initial-exec, so that both libraries, static and shared, reach it without a call.
extern thread_local __attribute__((tls_model("initial-exec"),
                                   visibility("hidden"))) sley::rt::machine* sley_current_machine;
}

namespace sley::platform {

// Null on a thread that the runtime has not met.
[[gnu::always_inline]] inline rt::machine* current_machine() noexcept {
  rt::machine* m;
  asm volatile(
      "movq sley_current_machine@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=r"(m));
  return m;
}

// Called once by each thread, before it enters the runtime.
void set_current_machine(rt::machine* m) noexcept;

}  // namespace sley::platform
