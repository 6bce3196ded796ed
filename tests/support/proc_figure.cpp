#include "support/proc_figure.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

namespace sley_test {

std::size_t proc_figure(const std::filesystem::path& file, std::string_view beginning) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(beginning)) {
      return std::strtoull(line.c_str() + beginning.size(), nullptr, 10);
    }
  }
  return 0;
}

}  // namespace sley_test
