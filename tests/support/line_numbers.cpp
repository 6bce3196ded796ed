#include "support/line_numbers.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace sley_test {

namespace {

// Whether one of the program's sections has the name.
bool has_section(const char* name) {
  std::ostringstream program;
  program << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
  const std::string all = std::move(program).str();
  Elf64_Ehdr header;
  Elf64_Shdr names;
  std::memcpy(&header, all.data(), sizeof(header));
  std::memcpy(&names, &all[header.e_shoff + sizeof(names) * header.e_shstrndx], sizeof(names));
  return all.substr(names.sh_offset, names.sh_size).find(name) != std::string::npos;
}

}  // namespace

bool has_line_numbers() {
  static const bool has_them = has_section(".debug_line");
  return has_them;
}

}  // namespace sley_test
