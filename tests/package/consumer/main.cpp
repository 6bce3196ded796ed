// The smallest program that needs the headers, the library and its threads.
#include <sley/sley.hpp>

#include <cstdio>
#include <string>

int main() {
  return sley::run([] {
    sley::chan<std::string> lines(1);
    sley::go([lines] {
      lines.send("hello from the installed sley");
      lines.close();
    });
    for (const std::string& line : lines) std::puts(line.c_str());
  });
}
