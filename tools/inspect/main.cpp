// sley-inspect: the goroutines of a process that goes on, and of a core. The process has prepared
// nothing, and is neither stopped nor asked.
#include "inspect/goroutines.hpp"
#include "inspect/names.hpp"
#include "inspect/report.hpp"
#include "inspect/symbolize.hpp"
#include "inspect/target.hpp"

#include "base/print.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace sley::inspect;

constexpr std::string_view usage =
    R"(usage: sley-inspect PID|CORE top         groups of goroutines, anew each two seconds
       sley-inspect PID|CORE dump        every goroutine with its stack
       sley-inspect PID|CORE profile     the goroutine profile for `go tool pprof`, for a file
       sley-inspect symbolize [FILE...]  copies a dump, with names for addresses; FILE is a program
                                         before it was stripped, or its debug information
)";

std::unique_ptr<target> open_target(const std::string& what) {
  int pid = 0;
  const auto [end, error] = std::from_chars(what.data(), what.data() + what.size(), pid);
  const bool is_number = error == std::errc() && end == what.data() + what.size();
  return is_number ? open_process(pid) : open_core(what);
}

std::size_t lines_of_terminal() {
  constexpr std::size_t usual = 24;
  winsize size = {};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 ? size.ws_row : usual;
}

// On a terminal until it is interrupted or the process ends; otherwise once.
void top(const std::string& what) {
  constexpr std::size_t head = 4;
  constexpr std::size_t all = 1'000'000;
  constexpr std::string_view clear = "\x1b[H\x1b[2J";
  const bool is_shown_again = ::isatty(STDOUT_FILENO) == 1;
  const std::unique_ptr<target> from = open_target(what);
  const target_names names(*from);
  for (;;) {
    const std::size_t groups = is_shown_again ? lines_of_terminal() - head : all;
    const std::string table = table_of(goroutines_of(*from), names, groups);
    if (is_shown_again) sley::base::write_all(STDOUT_FILENO, clear);
    sley::base::write_all(STDOUT_FILENO, table);
    if (!is_shown_again || !from->is_running()) return;
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
}

bool look(const std::string& what, std::string_view command) {
  if (command == "top") {
    top(what);
    return true;
  }
  if (command != "dump" && command != "profile") return false;
  const std::unique_ptr<target> from = open_target(what);
  const target_names names(*from);
  const std::vector<seen_goroutine> all = goroutines_of(*from);
  if (command == "dump") {
    print_dump(STDOUT_FILENO, all, names);
  } else if (::isatty(STDOUT_FILENO) == 1) {
    throw failure("a profile is no text: give it to a file, as by `> goroutines.pb`");
  } else {
    sley::base::write_all(STDOUT_FILENO, profile_of(all, names));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int misused = 2;
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (!words.empty() && words[0] == "symbolize") {
      symbolize(std::cin, STDOUT_FILENO, {words.begin() + 1, words.end()});
      return EXIT_SUCCESS;
    }
    if (words.size() == 2 && look(words[0], words[1])) return EXIT_SUCCESS;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sley-inspect: %s\n", e.what());
    return EXIT_FAILURE;
  }
  std::fputs(std::string(usage).c_str(), stderr);
  return misused;
}
