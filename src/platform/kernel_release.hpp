// Releases of Linux. Some older ones do a thing wrong.
#pragma once

#include <charconv>
#include <compare>
#include <string_view>
#include <system_error>

namespace sley::platform {

struct kernel_release {
  int major = 0;
  int minor = 0;
  auto operator<=>(const kernel_release&) const = default;
};

// From the text of uname(2), such as "6.1.0-18-amd64". 0.0 if it is no such text.
inline kernel_release read_kernel_release(std::string_view text) noexcept {
  kernel_release r;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, r.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return {};
  const auto minor = std::from_chars(major.ptr + 1, end, r.minor);
  return minor.ec == std::errc{} ? r : kernel_release{};
}

}  // namespace sley::platform
