// The two ends of a call that may block its thread.
#pragma once

#include <sley/detail/config.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace sley::detail {

SLEY_API void begin_blocking() noexcept;
SLEY_API void end_blocking() noexcept;

struct blocking_region {
  blocking_region() noexcept { begin_blocking(); }
  ~blocking_region() { end_blocking(); }
  blocking_region(const blocking_region&) = delete;
  blocking_region& operator=(const blocking_region&) = delete;
};

template <class T>
long syscall_word(T* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}
inline long syscall_word(decltype(nullptr)) noexcept { return 0; }
template <std::integral T>
long syscall_word(T value) noexcept {
  return static_cast<long>(value);
}
// The C library's constants often are unscoped enumerators.
template <class T>
  requires std::is_enum_v<T> && std::is_convertible_v<T, long>
long syscall_word(T value) noexcept {
  return static_cast<long>(value);
}

SLEY_API long blocking_syscall(long number, const long (&args)[6]) noexcept;

}  // namespace sley::detail
