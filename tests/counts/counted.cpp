// Runs one workload of bench/ for counts.py, the same way each time.
//
//   counted compiler             the compiler's name and version
//   counted <workload> <n>       passes of 3n, n and 3n operations
//
// The first pass warms the free lists. The difference of the other two is 2n operations and nothing
// else. callgrind writes its figures whenever counted_mark is called.
//
// So that each run counts the same: there is no sysmon, and the clock goes on by a step at each
// reading, which also fixes the seeds of random generators.
#include "rows.hpp"

#include "runtime/watchdog/sysmon.hpp"

#include <sley/sley.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

namespace sley::rt {

void start_sysmon() noexcept {}
void keep_watch() noexcept {}

}  // namespace sley::rt

// In the place of libc's.
extern "C" int clock_gettime(clockid_t, timespec* now) noexcept {
  constexpr long step_ns = 50;
  static long ns = 1'000'000'000;
  ns += step_ns;
  *now = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  return 0;
}

extern "C" [[gnu::noinline]] void counted_mark() { asm volatile(""); }

namespace {

const bench::workload* find(std::string_view name) {
  for (auto rows : {bench::spawn_rows(), bench::chan_rows(), bench::sync_rows(),
                    bench::program_rows(), bench::time_rows(), bench::system_rows()}) {
    for (const bench::workload& w : rows) {
      if (w.name == name) return &w;
    }
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "compiler") == 0) {
#ifdef __clang__
    std::printf("clang++ %d\n", __clang_major__);
#else
    std::printf("g++ %d\n", __GNUC__);
#endif
    return 0;
  }
  const bench::workload* w = argc == 3 ? find(argv[1]) : nullptr;
  const int n = w == nullptr ? 0 : std::atoi(argv[2]);
  if (n < 1) {
    std::fputs("usage: counted compiler | counted <workload> <n>\n", stderr);
    return 2;
  }
  sley::run([w, n] {
    for (const int ops : {3 * n, n, 3 * n}) {
      counted_mark();
      w->run(ops);
    }
    counted_mark();
  });
  return 0;
}
