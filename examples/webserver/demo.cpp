#include "demo.hpp"

#include <sley/net.hpp>
#include <sley/runtime.hpp>
#include <sley/sley.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

namespace webserver {

namespace {

using clock = std::chrono::steady_clock;

constexpr int clients = 64;
constexpr std::string_view question = "GET /hello HTTP/1.1\r\nHost: demo\r\n\r\n";
constexpr std::string_view answer_end = "hello\n";

// How long requests took, in classes an eighth apart.
class histogram {
 public:
  void add(std::chrono::nanoseconds d) {
    const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(d.count() / 1000, 0));
    ++counts_[std::min(class_of(us), counts_.size() - 1)];
    ++total_;
    most_us_ = std::max(most_us_, us);
  }
  void add(const histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
    most_us_ = std::max(most_us_, other.most_us_);
  }
  std::uint64_t total() const { return total_; }
  std::uint64_t most_us() const { return most_us_; }
  std::uint64_t quantile_us(double q) const {
    auto left = static_cast<std::uint64_t>(q * static_cast<double>(total_));
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] > left) return end_of(i);
      left -= counts_[i];
    }
    return most_us_;
  }

 private:
  // 0 to 15 by ones, then eight classes for each doubling.
  static std::size_t class_of(std::uint64_t us) {
    std::size_t shift = 0;
    while (us >> shift >= 16) ++shift;
    return shift * 8 + (us >> shift);
  }
  static std::uint64_t end_of(std::size_t index) {
    if (index < 16) return index + 1;
    const std::size_t shift = index / 8 - 1;
    return (index - shift * 8 + 1) << shift;
  }

  std::array<std::uint64_t, 256> counts_ = {};
  std::uint64_t total_ = 0;
  std::uint64_t most_us_ = 0;
};

void ask_until(const std::string& address, clock::time_point end, histogram& taken) {
  const auto s = sley::net::tcp_stream::connect(address);
  std::array<char, 1024> buffer;
  for (auto begin = clock::now(); begin < end;) {
    s.write_all(std::as_bytes(std::span(question)));
    std::size_t size = 0;
    while (!std::string_view(buffer.data(), size).ends_with(answer_end)) {
      const auto room = std::as_writable_bytes(std::span(buffer)).subspan(size);
      const std::size_t n = s.read_some(room);
      if (n == 0) return;
      size += n;
    }
    const auto now = clock::now();
    taken.add(now - begin);
    begin = now;
  }
}

// A client whose connection fails, as when the server is stopped, leaves the demo to the others.
void ask_while_served(const std::string& address, clock::time_point end, histogram& taken) {
  try {
    ask_until(address, end, taken);
  } catch (const std::system_error& e) {
    std::fprintf(stderr, "demo: %s\n", e.what());
  }
}

// In the words of schedtrace.
void print_scheduler(int second) {
  const sley::runtime::stats s = sley::runtime::read_stats();
  std::printf(
      "SCHED %ds: procs=%llu idleprocs=%llu threads=%llu idlethreads=%llu spinningthreads=%llu "
      "runqueue=%llu localqueues=%llu goroutines=%llu parks=%llu steals=%llu\n",
      second, static_cast<unsigned long long>(s.procs),
      static_cast<unsigned long long>(s.idle_procs), static_cast<unsigned long long>(s.threads),
      static_cast<unsigned long long>(s.idle_threads),
      static_cast<unsigned long long>(s.spinning_threads),
      static_cast<unsigned long long>(s.global_queue),
      static_cast<unsigned long long>(s.local_queues),
      static_cast<unsigned long long>(s.goroutines), static_cast<unsigned long long>(s.parks),
      static_cast<unsigned long long>(s.steals));
  std::fflush(stdout);
}

}  // namespace

void run_demo(const std::string& address, int seconds) {
  std::printf("demo: %d clients ask for /hello for %d s\n", clients, seconds);
  const auto begin = clock::now();
  const auto end = begin + std::chrono::seconds(seconds);
  std::vector<histogram> taken(clients);
  sley::wait_group asking;
  for (histogram& h : taken) asking.go([&] { ask_while_served(address, end, h); });
  for (int second = 1; second <= seconds; ++second) {
    sley::this_goroutine::sleep_until(begin + std::chrono::seconds(second));
    print_scheduler(second);
  }
  asking.wait();
  histogram all;
  for (const histogram& h : taken) all.add(h);
  std::printf("%.0f requests per second; latency us: p50 %llu, p90 %llu, p99 %llu, max %llu\n",
              static_cast<double>(all.total()) / std::max(seconds, 1),
              static_cast<unsigned long long>(all.quantile_us(0.5)),
              static_cast<unsigned long long>(all.quantile_us(0.9)),
              static_cast<unsigned long long>(all.quantile_us(0.99)),
              static_cast<unsigned long long>(all.most_us()));
}

}  // namespace webserver
