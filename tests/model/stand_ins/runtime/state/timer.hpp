// For models of src/sync.
#pragma once

#include "runtime/source/timers.hpp"
