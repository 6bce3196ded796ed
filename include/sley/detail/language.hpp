// What sley needs of the language. Asked before anything else, so that a wrong flag is one message
// and not a hundred.
#pragma once

#if __cplusplus < 202002L
#error "sley needs C++20: compile with -std=c++20 or later"
#define SLEY_LANGUAGE_IS_MISSING
#elif !defined(__cpp_exceptions)
#error "sley needs exceptions: compile without -fno-exceptions"
#define SLEY_LANGUAGE_IS_MISSING
#elif !defined(__cpp_rtti)
#error "sley needs run-time type information: compile without -fno-rtti"
#define SLEY_LANGUAGE_IS_MISSING
#endif

#ifdef SLEY_LANGUAGE_IS_MISSING
#include <see_the_error_above>  // there is no such file, which ends the compilation
#endif
