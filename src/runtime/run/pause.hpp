// Between one run() and the next; see pause.cpp.
#pragma once

namespace sley::rt {

void pause() noexcept;   // [inside] machines stop when they next enter the runtime
void resume() noexcept;  // [inside]

}  // namespace sley::rt
