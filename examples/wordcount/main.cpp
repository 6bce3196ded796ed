// wordcount: the lines, words and bytes of a whole directory tree, as wc counts them.
//
// One goroutine walks each directory and one reads each file (walk.cpp); the main goroutine
// receives what they find and adds it up (report.cpp). The channel of findings is closed when the
// last of them is done, which ends the sum.
#include "options.hpp"
#include "report.hpp"
#include "walk.hpp"

#include <sley/sley.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>

namespace wordcount {

namespace {

constexpr int success = 0;
constexpr int failure = 1;

int count_tree(const options& wanted) {
  target there{};
  if (const std::error_code error = follow(wanted.path, there)) {
    std::fprintf(stderr, "wordcount: %s: %s\n", printable(wanted.path).c_str(),
                 error.message().c_str());
    return failure;
  }
  if (there.kind == entry_kind::special) {
    std::fprintf(stderr, "wordcount: %s: neither a directory nor a regular file\n",
                 printable(wanted.path).c_str());
    return failure;
  }
  const auto start = std::chrono::steady_clock::now();
  const sley::chan<finding> findings(256);
  walker walk(wanted.limit, findings);
  if (there.kind == entry_kind::directory) {
    walk.start_directory(wanted.path);
  } else {
    const bool is_link = std::filesystem::is_symlink(wanted.path);
    walk.start_file(is_link ? std::filesystem::canonical(wanted.path).string() : wanted.path);
  }
  sley::go([&walk, findings] {
    walk.wait();
    findings.close();
  });
  const tally sums = collect(findings, wanted.quiet);
  if (sums.files + sums.directories == 0) {
    std::fprintf(stderr, "wordcount: nothing could be read\n");
    return failure;
  }
  if (!print_report(sums, std::chrono::steady_clock::now() - start, wanted.quiet)) {
    std::fprintf(stderr, "wordcount: cannot write to standard output\n");
    return failure;
  }
  return success;
}

}  // namespace

}  // namespace wordcount

int main(int argc, char** argv) {
  try {
    int status = 0;
    const auto wanted = wordcount::parse_options(argc, argv, status);
    if (!wanted) return status;
    return sley::run([&] { return wordcount::count_tree(*wanted); });
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wordcount: %s\n", e.what());
    return 1;
  }
}
