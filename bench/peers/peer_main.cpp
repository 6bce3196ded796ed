// PROGRAM list | PROGRAM <workload> [n], as SPEC.md has it. BENCH_PROCS is the number of threads.
#include "peer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  const auto rows = bench::peer_rows();
  if (argc == 2 && std::string_view(argv[1]) == "list") {
    for (const bench::workload& w : rows) std::printf("%s %d\n", w.name, w.n);
    return 0;
  }
  const std::string_view name = argc > 1 ? argv[1] : "";
  const auto w = std::ranges::find(rows, name, &bench::workload::name);
  const char* procs = std::getenv("BENCH_PROCS");
  const int threads = procs == nullptr ? 1 : std::atoi(procs);
  const int n = argc > 2 ? std::atoi(argv[2]) : w == rows.end() ? 0 : w->n;
  if (w == rows.end() || n < 1 || threads < 1) {
    std::fprintf(stderr, "usage: %s list | %s <workload> [n]\n", argv[0], argv[0]);
    return 2;
  }
  bench::outcome o;
  bench::run_on_peer(threads, [&] {
    if (w->warm > 0) w->run(std::min(w->warm, n));
    o = w->run(n);
  });
  std::printf("workload=%s procs=%d ops=%lld ns_per_op=%.2f wall_ms=%.2f cpu_ms=%.2f%s\n", w->name,
              threads, static_cast<long long>(o.ops), bench::ns_each(o.cost, o.ops),
              bench::milliseconds(o.wall), bench::milliseconds(o.cpu), o.extra.c_str());
  return 0;
}
