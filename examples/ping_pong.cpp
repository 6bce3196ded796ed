// Ping-pong: two goroutines play a ball to and fro over unbuffered channels.
//
// A send on an unbuffered channel meets a receive, so the two take turns, and each turn is a switch
// from one goroutine to the other. The goroutine that makes the last hit closes the other's channel
// instead of sending, which ends the other's loop.
#include <sley/sley.hpp>

#include <cstdio>

constexpr int last_hit = 200'000;

// The ball is the number of hits so far. Returns how many of them were made here.
int play(const char* sound, const sley::recv_chan<int>& from, const sley::send_chan<int>& to) {
  int made = 0;
  for (int hits : from) {
    ++hits;
    ++made;
    if (hits <= 6) std::printf("%s %d\n", sound, hits);
    if (hits == last_hit) break;
    to.send(hits);
  }
  to.close();
  return made;
}

int main() {
  return sley::run([] {
    const sley::chan<int> left;
    const sley::chan<int> right;
    auto ping = sley::async(play, "ping", left, right);
    auto pong = sley::async(play, "pong", right, left);

    left.send(0);
    const int pings = ping.get();
    const int pongs = pong.get();
    std::printf("...\n%d pings and %d pongs\n", pings, pongs);
  });
}
