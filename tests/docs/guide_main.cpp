// Runs one piece of the guide's code: PROGRAM PAGE LINE.
#include "docs/guide_context.hpp"

#include <cstring>

int main(int argc, char** argv) {
  if (argc == 3) {
    for (const auto* p = guide::program_of_page::first; p != nullptr; p = p->next) {
      if (std::strcmp(p->page, argv[1]) == 0 && p->line == std::atoi(argv[2])) return p->run();
    }
  }
  std::fputs("usage: PROGRAM PAGE LINE, of a piece of code that there is\n", stderr);
  return 99;
}
