// A program and its library must agree on settings that change the layout of shared types, and on
// sanitizers. Here each setting of a file becomes a reference to a variable whose name spells the
// setting. src/base/link_check.cpp defines the variables of the library's own settings. A program
// that differs does not link, and the linker names what differs.
//
// -fsanitize=undefined is not among them, because it needs nothing of the library, nor are
// _GLIBCXX_ASSERTIONS, NDEBUG and the version of C++.
#pragma once

#include <sley/detail/config.hpp>

#include <cstddef>  // _GLIBCXX_USE_CXX11_ABI, _LIBCPP_VERSION

#if defined(__has_feature)
#define SLEY_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SLEY_HAS_FEATURE(feature) 0
#endif

#if SLEY_HAS_FEATURE(safe_stack)
#error "sley: -fsanitize=safe-stack is not supported: it knows one stack for each thread"
#endif

#ifndef SLEY_SAME_SETTING
// Nothing uses the pointers, and neither compiler nor linker may drop them. Each costs a program 8
// bytes.
#if __has_attribute(retain)
#define SLEY_KEPT [[gnu::used, gnu::retain]]
#else
#define SLEY_KEPT [[gnu::used]]
#endif
#define SLEY_SAME_SETTING(name)    \
  extern SLEY_API const char name; \
  SLEY_KEPT SLEY_HIDDEN inline const char* const reference_to_##name = &name;
#endif

// A file of a sanitized program may be without the sanitizer: another file of the program has it,
// and gives what this one asks for.
#ifndef SLEY_OTHER_FILES_MAY_LACK
#define SLEY_OTHER_FILES_MAY_LACK(name)          \
  [[gnu::weak]] extern SLEY_API const char name; \
  const char name = 0;
#endif

namespace sley::link_check {

// Before 1.0 a minor version may break.
#define SLEY_SAME_VERSION(major, minor) SLEY_SAME_VERSION_NUMBERS(major, minor)
#define SLEY_SAME_VERSION_NUMBERS(major, minor) \
  SLEY_SAME_SETTING(a_program_with_headers_of_sley_##major##_##minor##_needs_its_library)
SLEY_SAME_VERSION(SLEY_VERSION_MAJOR, SLEY_VERSION_MINOR)
#undef SLEY_SAME_VERSION
#undef SLEY_SAME_VERSION_NUMBERS

#ifdef _LIBCPP_VERSION
SLEY_SAME_SETTING(a_program_on_libcxx_needs_a_sley_library_on_libcxx)
#else
SLEY_SAME_SETTING(a_program_on_libstdcxx_needs_a_sley_library_on_libstdcxx)
#endif

#ifdef _GLIBCXX_DEBUG
SLEY_SAME_SETTING(a_program_with_GLIBCXX_DEBUG_needs_a_sley_library_with_GLIBCXX_DEBUG)
#else
SLEY_SAME_SETTING(a_program_without_GLIBCXX_DEBUG_needs_a_sley_library_without_GLIBCXX_DEBUG)
#endif

#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
SLEY_SAME_SETTING(a_program_with_GLIBCXX_USE_CXX11_ABI_0_needs_a_sley_library_with_it)
#else
SLEY_SAME_SETTING(a_program_without_GLIBCXX_USE_CXX11_ABI_0_needs_a_sley_library_without_it)
#endif

#ifdef SLEY_DEBUG_CHECKS
SLEY_SAME_SETTING(a_program_with_SLEY_DEBUG_CHECKS_needs_a_sley_library_with_SLEY_CHECKS)
#else
SLEY_SAME_SETTING(a_program_without_SLEY_DEBUG_CHECKS_needs_a_sley_library_without_SLEY_CHECKS)
#endif

#ifdef SLEY_CHAOS
SLEY_SAME_SETTING(a_program_with_SLEY_CHAOS_needs_a_sley_library_with_SLEY_CHAOS)
#else
SLEY_SAME_SETTING(a_program_without_SLEY_CHAOS_needs_a_sley_library_without_SLEY_CHAOS)
#endif

#ifdef SLEY_SIMULATION
SLEY_SAME_SETTING(a_program_with_SLEY_SIMULATION_needs_the_library_sley_testing)
#else
SLEY_SAME_SETTING(a_program_without_SLEY_SIMULATION_needs_the_library_sley_not_sley_testing)
#endif

#if defined(__SANITIZE_ADDRESS__) || SLEY_HAS_FEATURE(address_sanitizer)
SLEY_SAME_SETTING(a_program_with_fsanitize_address_needs_a_sley_library_with_fsanitize_address)
SLEY_OTHER_FILES_MAY_LACK(a_program_without_fsanitize_address_needs_a_sley_library_without_it)
#else
SLEY_SAME_SETTING(a_program_without_fsanitize_address_needs_a_sley_library_without_it)
#endif

#if defined(__SANITIZE_THREAD__) || SLEY_HAS_FEATURE(thread_sanitizer)
SLEY_SAME_SETTING(a_program_with_fsanitize_thread_needs_a_sley_library_with_fsanitize_thread)
SLEY_OTHER_FILES_MAY_LACK(a_program_without_fsanitize_thread_needs_a_sley_library_without_it)
#else
SLEY_SAME_SETTING(a_program_without_fsanitize_thread_needs_a_sley_library_without_it)
#endif

#if defined(__SANITIZE_HWADDRESS__) || SLEY_HAS_FEATURE(hwaddress_sanitizer)
SLEY_SAME_SETTING(a_program_with_fsanitize_hwaddress_needs_a_sley_library_with_fsanitize_hwaddress)
SLEY_OTHER_FILES_MAY_LACK(a_program_without_fsanitize_hwaddress_needs_a_sley_library_without_it)
#else
SLEY_SAME_SETTING(a_program_without_fsanitize_hwaddress_needs_a_sley_library_without_it)
#endif

#if SLEY_HAS_FEATURE(memory_sanitizer)
SLEY_SAME_SETTING(a_program_with_fsanitize_memory_needs_a_sley_library_with_fsanitize_memory)
SLEY_OTHER_FILES_MAY_LACK(a_program_without_fsanitize_memory_needs_a_sley_library_without_it)
#else
SLEY_SAME_SETTING(a_program_without_fsanitize_memory_needs_a_sley_library_without_it)
#endif

}  // namespace sley::link_check

#undef SLEY_SAME_SETTING
#undef SLEY_OTHER_FILES_MAY_LACK
#undef SLEY_KEPT

namespace sley::detail {

// What only the compiler can tell.
struct layout_probe {
  char first;
  long long second;
};
enum layout_probe_enum { small_value };
static_assert(sizeof(layout_probe) == 16,
              "sley: -fpack-struct is not how the library was compiled");
static_assert(sizeof(layout_probe_enum) == sizeof(int),
              "sley: -fshort-enums is not how the library was compiled");

}  // namespace sley::detail
