#include "options.hpp"

#include "files.hpp"

#include <getopt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace wordcount {

namespace {

constexpr int bad_usage = 2;
constexpr std::size_t usual_limit = 64;

void print_help() {
  std::printf(
      "Usage: wordcount [OPTION]... [PATH]\n"
      "Counts the lines, words and bytes of all regular files in the directory tree at PATH, as\n"
      "wc does in the C locale, with a goroutine for each directory and for each file. PATH may\n"
      "be a single file. Without PATH: the first of /usr/share, /usr and . that is there.\n"
      "\n"
      "  -j, --jobs=N  hold at most N files and directories open at a time (default %zu)\n"
      "  -q, --quiet   print the totals alone: no progress, no list of problems\n"
      "  -h, --help    print this\n"
      "\n"
      "Symbolic links are counted and not followed, except PATH itself; those that lead back to a\n"
      "directory they are in, or to themselves, are named. Fifos, sockets and devices are not\n"
      "opened. Whatever can't be read, or vanishes before it is read, is named on standard error\n"
      "and counted. Names are printed with control characters and whatever is not UTF-8 as \\xNN.\n"
      "\n"
      "Exit status: 0 if there are totals, even if some files could not be read; 1 if there are\n"
      "none; 2 if the command line is wrong.\n",
      usual_limit);
}

// What the process may open, less what the runtime itself needs. A deep path takes two descriptors
// while it is being opened.
std::size_t highest_limit() {
  constexpr std::size_t reserve = 32;
  const std::size_t open_files = open_files_limit();
  return open_files > reserve + 2 ? (open_files - reserve) / 2 : 1;
}

std::optional<std::size_t> parse_limit(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) {
    std::fprintf(stderr, "wordcount: -j wants a whole number above 0, not '%s'\n", text.data());
    return std::nullopt;
  }
  if (value > highest_limit()) {
    std::fprintf(stderr, "wordcount: -j %s is too much: ulimit -n %zu leaves room for %zu\n",
                 text.data(), open_files_limit(), highest_limit());
    return std::nullopt;
  }
  return value;
}

std::string usual_path() {
  for (const char* path : {"/usr/share/", "/usr/"}) {
    target there{};
    if (!follow(path, there) && there.kind == entry_kind::directory) return path;
  }
  return ".";
}

std::nullopt_t refuse(int& status) {
  std::fputs("Try 'wordcount --help'.\n", stderr);
  status = bad_usage;
  return std::nullopt;
}

}  // namespace

std::optional<options> parse_options(int argc, char** argv, int& status) {
  static constexpr std::array<option, 4> known{{{"jobs", required_argument, nullptr, 'j'},
                                                {"quiet", no_argument, nullptr, 'q'},
                                                {"help", no_argument, nullptr, 'h'},
                                                {nullptr, 0, nullptr, 0}}};
  options result{{}, std::min(usual_limit, highest_limit()), false};
  int letter;
  while ((letter = getopt_long(argc, argv, "j:qh", known.data(), nullptr)) != -1) {
    if (letter == 'q') {
      result.quiet = true;
    } else if (letter == 'h') {
      print_help();
      status = 0;
      return std::nullopt;
    } else if (letter == 'j') {
      const std::optional<std::size_t> limit = parse_limit(optarg);
      if (!limit) return refuse(status);
      result.limit = *limit;
    } else {
      return refuse(status);  // getopt_long has said what is wrong
    }
  }
  if (argc - optind > 1) {
    std::fprintf(stderr, "wordcount: one path at a time, not %d\n", argc - optind);
    return refuse(status);
  }
  result.path = optind < argc ? argv[optind] : usual_path();
  return result;
}

}  // namespace wordcount
