// Numbers in text files of /proc.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace sley_test {

// The first number behind this beginning of a line, as in `VmRSS:   1234 kB`. 0: there is no such
// line.
std::size_t proc_figure(const std::filesystem::path& file, std::string_view beginning);

}  // namespace sley_test
