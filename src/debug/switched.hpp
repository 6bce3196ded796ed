// What is switched on and off for the whole program, as a trace and a profile are.
#pragma once

#include <sley/mutex.hpp>

#include <memory>

namespace sley::debug {

template <class T>
struct switched {
  // Never destroyed, because goroutines and threads use it until the process is gone.
  static switched& of_program() {
    static auto* const only = new switched;
    return *only;
  }

  sley::mutex lock;            // of ours, because switching parks
  std::unique_ptr<T> running;  // [lock: lock] null: it is off
};

}  // namespace sley::debug
