// How much memory of one use is kept for the next.
//
// What a connection keeps while it is idle is at most 16 KiB, whatever it had to hold before: the
// sum of what these functions leave.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sley::http::detail {

constexpr std::size_t kept_of_a_text = 512;

inline void clear_and_keep(std::string& text, std::size_t most) noexcept {
  text.clear();
  if (text.capacity() > most) std::string().swap(text);
}

template <class T>
void clear_and_keep(std::vector<T>& values, std::size_t most) noexcept {
  values.clear();
  if (values.capacity() > most) std::vector<T>().swap(values);
}

}  // namespace sley::http::detail
