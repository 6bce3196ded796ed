// Build configuration that the public headers need: symbol visibility and a few attributes.
#pragma once

#include <sley/detail/language.hpp>

#define SLEY_API __attribute__((visibility("default")))
#define SLEY_HIDDEN __attribute__((visibility("hidden")))
#define SLEY_ALWAYS_INLINE inline __attribute__((always_inline))
#define SLEY_NOINLINE __attribute__((noinline))

#define SLEY_VERSION_MAJOR 0
#define SLEY_VERSION_MINOR 1
#define SLEY_VERSION_PATCH 0

// Not in the library's own files, which may differ: some parts of it must not be sanitized.
#ifndef SLEY_LIBRARY
#include <sley/detail/link_check.hpp>
#endif
