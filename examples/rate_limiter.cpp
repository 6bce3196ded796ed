// Rate limiter: goroutines share one `sley::rate_limiter`, and each request takes a token before it
// goes on.
//
// The bucket holds three tokens: that many requests may come at once after a quiet time, all others
// follow at a steady pace.
#include <sley/sley.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;
using steady_clock = std::chrono::steady_clock;

int main() {
  return sley::run([] {
    constexpr auto interval = 20ms;
    constexpr int burst = 3;
    constexpr int requests = 8;
    const auto start = steady_clock::now();
    sley::rate_limiter limiter(1s / interval, burst);

    sley::chan<int> served;
    for (int i = 0; i < requests; ++i) {
      sley::go([&limiter, served, i] {
        limiter.wait();
        served.send(i);
      });
    }
    for (int i = 1; i <= requests; ++i) {
      served.receive();
      std::printf("request %d %s\n", i, i <= burst ? "in the burst" : "after a wait");
    }

    // A request may be late, but none is early.
    const bool kept = steady_clock::now() - start >= (requests - burst) * interval;
    std::printf("the pace was %s\n", kept ? "kept" : "too fast");
    return kept ? 0 : 1;
  });
}
