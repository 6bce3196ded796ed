// Shared by the workloads: timing, self-checks, the generators of SPEC.md, figures of the process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// What a workload hands back. ns_per_op is cost / ops; cost is the wall time except where SPEC.md
// says otherwise.
struct outcome {
  std::int64_t ops = 0;
  nanoseconds wall{};
  nanoseconds cpu{};
  nanoseconds cost{};
  std::string extra{};  // " key=value ..."

  // Appends " key=value ...", as printf.
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...);
  // Appends p50, p99 and the maximum in microseconds, each key with the prefix.
  void add_latencies(std::string_view prefix, std::vector<nanoseconds> latencies);
};

// Runs the body on the calling goroutine and takes its wall time and the process's CPU time. Not a
// template: the body is opaque to the optimiser here, and its captures live in memory, as in the Go
// twin.
outcome timed(std::int64_t ops, const std::function<void()>& body);

// Ends the process with status 1, and so without a result line.
[[noreturn]] void self_check_failed(const char* what);

inline void check(bool ok, const char* what) {
  if (!ok) self_check_failed(what);
}

// The work of mutex_uncontended, with any library's mutex.
template <class Mutex>
outcome lock_and_unlock(int n) {
  Mutex mutex;
  int count = 0;
  outcome o = timed(n, [&] {
    for (int i = 0; i < n; ++i) {
      mutex.lock();
      ++count;
      mutex.unlock();
    }
  });
  check(count == n, "count");
  return o;
}

inline double milliseconds(nanoseconds d) { return static_cast<double>(d.count()) / 1e6; }
inline double microseconds(nanoseconds d) { return static_cast<double>(d.count()) / 1e3; }
inline double ns_each(nanoseconds d, std::int64_t count) {
  return static_cast<double>(d.count()) / static_cast<double>(count);
}

// A file of 16 MiB without a name; each page begins with the byte (its number % 256).
inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::uint64_t page_count = 4096;
int make_pages();

// Bytes of memory this process holds.
std::int64_t resident_bytes();

inline std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// k dependent steps; the caller must use the result.
inline std::uint64_t xorshift(std::uint64_t x, int k) {
  for (int i = 0; i < k; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

// 0 + 1 + ... + (n - 1)
inline std::int64_t sum_below(std::int64_t n) { return n * (n - 1) / 2; }

// Where results go that are needed for nothing else.
inline std::atomic<std::uint64_t> sink;

}  // namespace bench
