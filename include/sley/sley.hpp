// All of the core. Each header below also stands alone.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/coroutine.hpp>
#include <sley/executor.hpp>
#include <sley/future.hpp>
#include <sley/go.hpp>
#include <sley/promise.hpp>
#include <sley/runtime.hpp>
#include <sley/select.hpp>
#include <sley/sync.hpp>
#include <sley/time.hpp>
