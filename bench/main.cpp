// sley_bench runs one named workload of SPEC.md and prints one result line.
//
//   sley_bench list            names and default sizes
//   sley_bench <workload> [n]  run it
//
// SLEY_MAXPROCS sets the number of Ps. The files rows_*.cpp hold the workloads, in the order of
// SPEC.md; go/bench.go is the same program in Go, to be read side by side.
#include "rows.hpp"

#include <sley/sley.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace {

using bench::outcome;
using bench::workload;

std::vector<workload> all_workloads() {
  std::vector<workload> all;
  for (auto rows :
       {bench::spawn_rows(), bench::chan_rows(), bench::sync_rows(), bench::program_rows(),
        bench::time_rows(), bench::memory_rows(), bench::system_rows(), bench::io_rows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

// A size of at least 1, or nothing.
std::optional<int> parse_size(std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < 1) return std::nullopt;
  return n;
}

// The warm-up pass and the one that counts, on the main goroutine.
outcome measure(const workload& w, int n) {
  outcome result;
  sley::run([&] {
    if (w.warm > 0) w.run(std::min(w.warm, n));
    result = w.run(n);
  });
  return result;
}

void print(const workload& w, const outcome& o) {
  std::printf("workload=%s procs=%d ops=%lld ns_per_op=%.2f wall_ms=%.2f cpu_ms=%.2f%s\n", w.name,
              sley::runtime::max_procs(), static_cast<long long>(o.ops),
              bench::ns_each(o.cost, o.ops), bench::milliseconds(o.wall),
              bench::milliseconds(o.cpu), o.extra.c_str());
}

int usage_error(const char* what, const char* argument = "") {
  std::fprintf(stderr, "%s%s\n", what, argument);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage_error("usage: sley_bench list | sley_bench <workload> [n]");
  const std::vector<workload> all = all_workloads();
  if (std::strcmp(argv[1], "list") == 0) {
    for (const workload& w : all) std::printf("%s %d\n", w.name, w.n);
    return 0;
  }
  const auto w = std::ranges::find(all, std::string_view(argv[1]), &workload::name);
  if (w == all.end()) return usage_error("unknown workload ", argv[1]);
  const std::optional<int> n = argc > 2 ? parse_size(argv[2]) : w->n;
  if (!n) return usage_error("bad n ", argv[2]);
  print(*w, measure(*w, *n));
  return 0;
}
