// Under what conditions a test runs: which build, and how slow it may be.
#pragma once

#include <chrono>

namespace sley_test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool under_asan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool under_asan = true;
#else
inline constexpr bool under_asan = false;
#endif
#else
inline constexpr bool under_asan = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool under_tsan = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif
#else
inline constexpr bool under_tsan = false;
#endif

#ifdef SLEY_CHAOS
inline constexpr bool under_chaos = true;
#else
inline constexpr bool under_chaos = false;
#endif

inline constexpr bool under_sanitizer = under_asan || under_tsan;

// How long a test waits for an event that must come: after that it never will. A shared machine may
// stand still for seconds, and then run at a tenth of its speed.
inline constexpr std::chrono::seconds patience{100};

}  // namespace sley_test
