// A library that has started threads must not be unloaded: they would go on in memory that is gone.
#pragma once

namespace sley::platform {

// Keeps the shared object that this copy of sley is in loaded until the process ends, whatever
// dlclose() is told. Does nothing in a program. Takes the dynamic loader's lock, so only
// constructors of the object may call it: the caller holds that lock there, or no other thread can
// wait for it.
void keep_loaded() noexcept;

}  // namespace sley::platform
