// For models of src/sync.
#pragma once

#include "runtime/state/goroutine.hpp"
