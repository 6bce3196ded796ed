// Pipeline: stages connected by channels, each a goroutine, and a way to stop them all early.
//
// A stage is a function that starts a goroutine and returns the channel of its results. The
// consumer here wants ten values of an endless stream; closing `quit` then tells every stage to
// end, wherever it waits, so that no goroutine is left behind.
#include <sley/sley.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>

using numbers = sley::recv_chan<std::uint64_t>;
using quit_signal = sley::recv_chan<void>;

// Sends the value unless told to quit; returns whether it did.
bool send_or_quit(const sley::chan<std::uint64_t>& out, std::uint64_t value,
                  const quit_signal& quit) {
  bool sent = false;
  sley::select(sley::on_send(out, value, [&] { sent = true; }), sley::on_receive(quit));
  return sent;
}

numbers count_up(const quit_signal& quit) {
  sley::chan<std::uint64_t> out;
  sley::go([out, quit] {
    std::uint64_t n = 1;
    while (send_or_quit(out, n, quit)) ++n;
    out.close();
  });
  return out;
}

numbers square(const numbers& in, const quit_signal& quit) {
  sley::chan<std::uint64_t> out;
  sley::go([in, out, quit] {
    for (const std::uint64_t n : in) {
      if (!send_or_quit(out, n * n, quit)) break;
    }
    out.close();
  });
  return out;
}

numbers keep_odd(const numbers& in, const quit_signal& quit) {
  sley::chan<std::uint64_t> out;
  sley::go([in, out, quit] {
    for (const std::uint64_t n : in) {
      if (n % 2 == 1 && !send_or_quit(out, n, quit)) break;
    }
    out.close();
  });
  return out;
}

int main() {
  return sley::run([] {
    const sley::chan<void> quit;
    const numbers odd_squares = keep_odd(square(count_up(quit), quit), quit);

    for (int i = 0; i < 10; ++i) {
      std::printf("%llu\n", static_cast<unsigned long long>(*odd_squares.receive()));
    }
    quit.close();

    // Each stage ends and closes its channel, the last one too; values on their way are dropped.
    while (odd_squares.receive()) {
    }
    std::puts("all stages have ended");
  });
}
