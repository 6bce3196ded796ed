#include "report.hpp"

#include <sley/runtime.hpp>
#include <sley/select.hpp>
#include <sley/time.hpp>

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <tuple>
#include <utility>

namespace wordcount {

namespace {

// The line on the terminal that is written over again and again.
class progress_line {
 public:
  explicit progress_line(bool wanted) : on_(wanted && isatty(STDERR_FILENO)) {}
  ~progress_line() { clear(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  bool is_on() const { return on_; }
  void show(const tally& t) {
    std::fprintf(stderr, "\r%" PRIu64 " files, %" PRIu64 " directories, %" PRIu64 " MB\033[K",
                 t.files, t.directories, t.total.bytes / 1'000'000);
    shown_ = true;
  }
  // Before anything else is written to the terminal.
  void clear() {
    if (std::exchange(shown_, false)) std::fputs("\r\033[K", stderr);
  }

 private:
  bool on_;
  bool shown_ = false;
};

// Empty if there is nothing to complain of.
std::string problem(const finding& f) {
  switch (f.what) {
    case outcome::unreadable: return f.error.message();
    case outcome::vanished: return "vanished before it could be read";
    case outcome::symlink_loop: return "symbolic link into a loop, not followed";
    default: return {};
  }
}

void keep_largest(std::vector<sized_file>& largest, sized_file file) {
  constexpr std::size_t count = 10;
  const auto comes_first = [](const sized_file& a, const sized_file& b) {
    return std::tie(b.bytes, a.path) < std::tie(a.bytes, b.path);
  };
  const auto where = std::upper_bound(largest.begin(), largest.end(), file, comes_first);
  if (where == largest.end() && largest.size() == count) return;
  largest.insert(where, std::move(file));
  if (largest.size() > count) largest.pop_back();
}

}  // namespace

void tally::add(finding&& f) {
  switch (f.what) {
    case outcome::counted:
      ++files;
      total += f.figures;
      keep_largest(largest, {f.figures.bytes, std::move(f.path)});
      break;
    case outcome::directory: ++directories; break;
    case outcome::dangling_symlink: ++dangling, ++symlinks; break;
    case outcome::symlink_loop: ++loops, ++symlinks; break;
    case outcome::symlink: ++symlinks; break;
    case outcome::special: ++special; break;
    case outcome::unreadable: ++unreadable; break;
    case outcome::vanished: ++vanished; break;
  }
}

tally collect(const sley::recv_chan<finding>& findings, bool quiet) {
  tally sums;
  progress_line line(!quiet);
  const sley::ticker clock(std::chrono::milliseconds(100));
  // Receiving from the nil channel never succeeds: that switches a case of a select off.
  const sley::recv_chan<sley::time_point> ticks = line.is_on() ? clock.channel() : nullptr;
  bool open = true;
  const auto take = [&](std::optional<finding> f) {
    if (!f) {
      open = false;
      return;
    }
    const std::string complaint = quiet ? std::string() : problem(*f);
    if (!complaint.empty()) {
      line.clear();
      std::fprintf(stderr, "wordcount: %s: %s\n", printable(f->path).c_str(), complaint.c_str());
    }
    sums.add(std::move(*f));
  };
  while (open) {
    sley::select(sley::on_receive(findings, take),
                 sley::on_receive(ticks, [&](auto) { line.show(sums); }));
  }
  return sums;
}

bool print_report(const tally& sums, std::chrono::duration<double> elapsed, bool quiet) {
  const auto& [lines, words, bytes] = sums.total;
  std::printf("%" PRIu64 " lines, %" PRIu64 " words, %" PRIu64 " bytes\n", lines, words, bytes);
  if (!quiet) {
    std::printf("\nlargest files:\n");
    for (const sized_file& f : sums.largest) {
      std::printf("%12" PRIu64 "  %s\n", f.bytes, printable(f.path).c_str());
    }
    std::printf("\nfiles %" PRIu64 "\ndirectories %" PRIu64 "\n", sums.files, sums.directories);
    std::printf("symbolic links %" PRIu64 " (not followed; %" PRIu64 " dangling, %" PRIu64
                " in loops)\n",
                sums.symlinks, sums.dangling, sums.loops);
    std::printf("special files %" PRIu64 " (not opened)\n", sums.special);
    std::printf("unreadable %" PRIu64 "\nvanished %" PRIu64 "\n", sums.unreadable, sums.vanished);
    std::printf("time %.2f s, %.0f MB/s\n", elapsed.count(),
                static_cast<double>(bytes) / 1e6 / std::max(elapsed.count(), 1e-9));
    const sley::runtime::stats s = sley::runtime::read_stats();
    std::printf("scheduler: %" PRIu64 " goroutines on %" PRIu64 " processors and %" PRIu64
                " threads; %" PRIu64 " stolen, %" PRIu64 " parks, %" PRIu64
                " processors taken back from sleeping threads\n",
                s.spawned, s.procs, s.threads, s.steals, s.parks, s.retakes);
  }
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace wordcount
