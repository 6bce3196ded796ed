// The command line of wordcount.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace wordcount {

struct options {
  std::string path;
  std::size_t limit;  // files and directories open at a time
  bool quiet = false;
};

// What the command line says. Where it asks for help or is wrong, the answer is on its way to the
// user when this returns, nothing is left to do, and `status` is what to exit with.
std::optional<options> parse_options(int argc, char** argv, int& status);

}  // namespace wordcount
