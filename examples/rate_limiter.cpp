// Rate limiter: a ticker gives permits at a steady pace; a buffered channel allows a burst.
//
// Each request takes a permit before it goes on. The channel of permits has room for three: that
// many requests may come at once after a quiet time, all others follow the ticker.
#include <sley/sley.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;
using steady_clock = std::chrono::steady_clock;

class rate_limiter {
 public:
  rate_limiter(std::chrono::nanoseconds interval, std::size_t burst) : permits_(burst) {
    for (std::size_t i = 0; i < burst; ++i) permits_.send();
    sley::go([permits = permits_, quit = quit_, interval] {
      const sley::ticker clock(interval);
      for (bool stopped = false; !stopped;) {
        sley::select(sley::on_receive(quit, [&](bool) { stopped = true; }),
                     sley::on_receive(clock.channel(), [&](auto) { permits.try_send(); }));
      }
    });
  }
  rate_limiter(const rate_limiter&) = delete;
  rate_limiter& operator=(const rate_limiter&) = delete;
  ~rate_limiter() { quit_.close(); }

  // Parks until the next request may go.
  void acquire() const { permits_.receive(); }

 private:
  sley::chan<void> permits_;
  sley::chan<void> quit_;
};

int main() {
  return sley::run([] {
    constexpr auto interval = 20ms;
    constexpr int burst = 3;
    constexpr int requests = 8;
    const auto start = steady_clock::now();
    const rate_limiter limiter(interval, burst);

    for (int i = 1; i <= requests; ++i) {
      limiter.acquire();
      std::printf("request %d %s\n", i, i <= burst ? "in the burst" : "after a tick");
    }

    // A tick may come late, but none comes early.
    const bool kept = steady_clock::now() - start >= (requests - burst) * interval;
    std::printf("the pace was %s\n", kept ? "kept" : "too fast");
    return kept ? 0 : 1;
  });
}
