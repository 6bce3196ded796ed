// How the cost of an operation changes with the size of what it works on; curves.py runs all sizes.
//
//   sley_curves list            the curves with their sizes
//   sley_curves <curve> <size>  prints cpu_ns, the process's CPU time for one operation
//
// CPU time, because it hardly depends on what else the machine does.
#include "harness.hpp"

#include <sley/sley.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace {

using bench::outcome;
using int_chan = sley::chan<std::int64_t>;
using std::chrono::hours;
using std::chrono::microseconds;

constexpr int enough = 4'000'000;  // operations

// One yield among `size` goroutines that do nothing else, all of which have run before.
outcome yield(int size) {
  const int each = std::max(4, enough / size);
  sley::wait_group ready, over;
  sley::chan<void> gate;
  ready.add(size);
  over.add(size);
  for (int g = 0; g < size; ++g) {
    sley::go([&, each] {
      ready.done();
      gate.receive();
      for (int i = 0; i < each; ++i) sley::this_goroutine::yield();
      over.done();
    });
  }
  ready.wait();
  return bench::timed(std::int64_t{size} * each, [&] {
    gate.close();
    over.wait();
  });
}

// One goroutine started, parked beside `size` others, and released.
outcome park(int size) {
  const int rounds = std::max(1, enough / 4 / size);
  return bench::timed(std::int64_t{size} * rounds, [&] {
    for (int round = 0; round < rounds; ++round) {
      sley::wait_group ready, over;
      sley::chan<void> gate;
      ready.add(size);
      over.add(size);
      for (int g = 0; g < size; ++g) {
        sley::go([&] {
          ready.done();
          gate.receive();
          over.done();
        });
      }
      ready.wait();
      gate.close();
      over.wait();
    }
  });
}

// One timer set anew among `size` that are armed, each an hour and some time ahead.
outcome timer_reset(int size) {
  std::vector<sley::timer> armed;
  armed.reserve(static_cast<std::size_t>(size));
  const auto when = [](std::uint64_t i) {
    return hours(1) + microseconds(bench::splitmix(i) % 3'600'000'000);
  };
  for (int i = 0; i < size; ++i) {
    armed.push_back(sley::after_func(when(static_cast<std::uint64_t>(i)), [] {}));
  }
  constexpr int times = enough / 4;
  outcome o = bench::timed(times, [&] {
    for (std::uint64_t i = 0; i < times; ++i) {
      armed[bench::splitmix(i) % armed.size()].reset(when(i + 1'000'000'000));
    }
  });
  for (sley::timer& t : armed) t.stop();
  return o;
}

// One value from a producer to a consumer over a channel with room for `size`.
outcome capacity(int size) {
  int_chan c(static_cast<std::size_t>(size));
  return bench::timed(enough, [&] {
    sley::go([c] {
      for (std::int64_t i = 0; i < enough; ++i) c.send(i);
      c.close();
    });
    std::int64_t sum = 0;
    for (std::int64_t v : c) sum += v;
    bench::check(sum == bench::sum_below(enough), "sum");
  });
}

// One value by a select of `size` cases, all of which have senders.
outcome select(int size) {
  const int each = std::max(1, enough / 8 / size);
  std::vector<int_chan> channels(static_cast<std::size_t>(size));
  sley::select_set set;
  std::int64_t sum = 0;
  for (const int_chan& c : channels) {
    set.add_receive(c, [&sum](std::optional<std::int64_t> v) { sum += v.value(); });
  }
  return bench::timed(std::int64_t{size} * each, [&] {
    for (const int_chan& c : channels) {
      sley::go([c, each] {
        for (std::int64_t i = 0; i < each; ++i) c.send(i);
      });
    }
    for (std::int64_t i = 0; i < std::int64_t{size} * each; ++i) set.wait();
    bench::check(sum == size * bench::sum_below(each), "sum");
  });
}

// With `size` processors: goroutines that start, wait for each other and end, in a tree.
std::int64_t fib(std::int64_t n) {
  if (n < 2) return n;
  int_chan c(1);
  sley::go([c, n] { c.send(fib(n - 1)); });
  const std::int64_t right = fib(n - 2);
  return right + c.receive().value();
}

outcome procs_spawn(int size) {
  sley::runtime::set_max_procs(size);
  fib(20);
  constexpr std::int64_t spawns = 121'392;
  return bench::timed(4 * spawns, [] {
    for (int run = 0; run < 4; ++run) bench::check(fib(25) == 75025, "fib");
  });
}

// With `size` processors: as many pairs that pass values over a channel.
outcome procs_chan(int size) {
  sley::runtime::set_max_procs(size);
  constexpr int pairs = 16;
  constexpr int each = enough / pairs;
  return bench::timed(std::int64_t{each} * pairs, [] {
    sley::wait_group over;
    for (int pair = 0; pair < pairs; ++pair) {
      const int_chan c(128);
      over.go([c] {
        for (std::int64_t i = 0; i < each; ++i) c.send(i);
        c.close();
      });
      over.go([c] {
        std::int64_t sum = 0;
        for (std::int64_t v : c) sum += v;
        bench::check(sum == bench::sum_below(each), "sum");
      });
    }
    over.wait();
  });
}

struct curve {
  const char* name;
  const char* sizes;
  outcome (*run)(int size);
};

constexpr curve curves[] = {
    {"yield", "10 100 1000 10000 100000 1000000", yield},
    {"park", "10 100 1000 10000 100000 1000000", park},
    {"timer_reset", "1 10 100 1000 10000 100000 1000000", timer_reset},
    {"capacity", "0 1 4 16 64 256 1024 4096", capacity},
    {"select", "1 2 4 8 16 32 64", select},
    {"procs_spawn", "1 2 4 8 16", procs_spawn},
    {"procs_chan", "1 2 4 8 16", procs_chan},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "list") == 0) {
    for (const curve& c : curves) std::printf("%s %s\n", c.name, c.sizes);
    return 0;
  }
  const auto c = std::ranges::find_if(
      curves, [&](const curve& one) { return argc == 3 && std::string_view(argv[1]) == one.name; });
  int size = -1;
  if (c != std::end(curves)) std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), size);
  if (size < 0) {
    std::fputs("usage: sley_curves list | sley_curves <curve> <size>\n", stderr);
    return 2;
  }
  outcome o;
  sley::run([&] { o = c->run(size); });
  std::printf("curve=%s size=%d cpu_ns=%.2f wall_ns=%.2f\n", c->name, size,
              bench::ns_each(o.cpu, o.ops), bench::ns_each(o.wall, o.ops));
  return 0;
}
