#include "harness.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <sys/resource.h>
#include <unistd.h>

namespace bench {

namespace {

// User and system time of the whole process.
nanoseconds cpu_time() {
  rusage usage;
  check(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
  auto of = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// Element floor(p * (len - 1)), as SPEC.md has it.
nanoseconds percentile(const std::vector<nanoseconds>& sorted, double p) {
  return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

outcome timed(std::int64_t ops, const std::function<void()>& body) {
  const nanoseconds cpu_before = cpu_time();
  const clock::time_point start = clock::now();
  body();
  const nanoseconds wall = clock::now() - start;
  return {.ops = ops, .wall = wall, .cpu = cpu_time() - cpu_before, .cost = wall};
}

void self_check_failed(const char* what) {
  std::fprintf(stderr, "sley_bench: self-check failed: %s\n", what);
  std::_Exit(1);
}

void outcome::add(const char* format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  const int length = std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  check(length >= 0 && length < static_cast<int>(sizeof text), "length of an extra");
  extra.append(" ").append(text);
}

void outcome::add_latencies(std::string_view prefix, std::vector<nanoseconds> latencies) {
  std::ranges::sort(latencies);
  const std::string p(prefix);
  add("%sp50_us=%.1f %sp99_us=%.1f %smax_us=%.1f",  //
      p.c_str(), microseconds(percentile(latencies, 0.50)), p.c_str(),
      microseconds(percentile(latencies, 0.99)), p.c_str(), microseconds(latencies.back()));
}

int make_pages() {
  char path[] = "/tmp/sley_bench_XXXXXX";
  const int fd = ::mkstemp(path);
  check(fd >= 0, "mkstemp");
  ::unlink(path);
  std::array<std::byte, page_bytes> page{};
  for (std::uint64_t p = 0; p < page_count; ++p) {
    page[0] = std::byte(p % 256);
    check(::write(fd, page.data(), page.size()) == ssize_t{page_bytes}, "write");
  }
  return fd;
}

std::int64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  check(file != nullptr, "open statm");
  long pages = 0;
  check(std::fscanf(file, "%*d %ld", &pages) == 1, "read statm");
  std::fclose(file);
  return std::int64_t{pages} * sysconf(_SC_PAGESIZE);
}

}  // namespace bench
