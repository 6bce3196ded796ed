// Synchronisation for goroutines: the standard library's names where it has the thing, Go's where
// it has not. Where one of these parks a goroutine it blocks a foreign thread. What each promises,
// and when it may be destroyed: docs/synchronisation.md.
#pragma once

#include <sley/condition_variable.hpp>
#include <sley/error_group.hpp>
#include <sley/goroutine_local.hpp>
#include <sley/latch.hpp>
#include <sley/mutex.hpp>
#include <sley/object_pool.hpp>
#include <sley/once.hpp>
#include <sley/pool.hpp>
#include <sley/rate_limiter.hpp>
#include <sley/recursive_mutex.hpp>
#include <sley/retry.hpp>
#include <sley/scope.hpp>
#include <sley/semaphore.hpp>
#include <sley/shared_mutex.hpp>
#include <sley/single_flight.hpp>
#include <sley/wait_group.hpp>
