#include "platform/current.hpp"

thread_local sley::rt::machine* sley_current_machine = nullptr;
thread_local sley::rt::machine* sley_calling_machine = nullptr;
