// A goroutine ends.
#pragma once

#include "runtime/state/goroutine.hpp"

namespace sley::rt {

[[noreturn]] void goroutine_main();  // the bottom of every goroutine's stack
// [user] Unwinds the stack. Throws std::bad_alloc before it begins.
[[noreturn]] void exit_goroutine();
// A forced unwind has come to the end of the stack: that of exit(), as it should, or a fatal error.
void exit_arrives(goroutine* g) noexcept;
// In user code, where the goroutine or the thread ends: destroys its values and the rest of
// `extra`.
void end_extra(goroutine* g) noexcept;

}  // namespace sley::rt
