// SPEC.md, "Whole programs".
#include "rows.hpp"

#include <sley/sley.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace bench {

namespace {

using int_chan = sley::chan<std::int64_t>;

// How long does a token take per hop round a ring in which one goroutine at a time can run?
outcome threadring503(int n) {
  constexpr std::size_t size = 503;
  std::vector<int_chan> ring(size);
  int_chan done;
  for (std::size_t i = 0; i < size; ++i) {
    sley::go([i, in = ring[i], out = ring[(i + 1) % size], done] {
      for (std::int64_t token : in) {
        if (token == 0) {
          done.send(static_cast<std::int64_t>(i));
          return;
        }
        out.send(token - 1);
      }
    });
  }
  outcome o = timed(n, [&] {
    ring[0].send(n);
    check(done.receive().value() == n % std::int64_t{size}, "ring position");
  });
  for (const int_chan& c : ring) c.close();
  return o;
}

// How long does a pipeline of up to 2000 filters take, one more for each prime found?
outcome sieve(int n) {
  constexpr int wanted = 2000;
  constexpr std::int64_t last = 17389;
  return timed(n, [&] {
    for (int run = 0; run < n; ++run) {
      int_chan source;
      sley::go([out = source] {
        for (std::int64_t i = 2;; ++i) out.send(i);
      });
      std::int64_t prime = 0;
      for (int i = 0; i < wanted; ++i) {
        prime = source.receive().value();
        int_chan filtered;
        sley::go([prime, in = source, out = filtered] {
          for (;;) {
            const std::int64_t v = in.receive().value();
            if (v % prime != 0) out.send(v);
          }
        });
        source = filtered;
      }
      check(prime == last, "2000th prime");
    }
  });
}

// A leaf sends its number, a node the sum of its ten children.
void skynet_node(const int_chan& parent, std::int64_t first, std::int64_t size) {
  if (size == 1) {
    parent.send(first);
    return;
  }
  int_chan mine;
  const std::int64_t part = size / 10;
  for (int i = 0; i < 10; ++i) sley::go(skynet_node, mine, first + i * part, part);
  std::int64_t sum = 0;
  for (int i = 0; i < 10; ++i) sum += mine.receive().value();
  parent.send(sum);
}

// How long does a tree of a million goroutines take to build and to add up?
outcome skynet(int n) {
  constexpr std::int64_t leaves = 1'000'000;
  constexpr std::int64_t goroutines = 1'111'111;
  outcome o = timed(n, [&] {
    for (int run = 0; run < n; ++run) {
      int_chan root;
      sley::go(skynet_node, root, 0, leaves);
      check(root.receive().value() == sum_below(leaves), "sum");
    }
  });
  o.add("ns_per_goroutine=%.2f", ns_each(o.wall, n * goroutines));
  return o;
}

std::int64_t fib(std::int64_t n) {
  if (n < 2) return n;
  int_chan c(1);
  sley::go([c, n] { c.send(fib(n - 1)); });
  const std::int64_t r = fib(n - 2);
  return r + c.receive().value();
}

// What does a goroutine cost as a unit of divide and conquer, without a cut-off?
outcome fib_spawn(int n) {
  constexpr std::int64_t spawns = 121'392;  // inner nodes of the fib(25) call tree
  return timed(n * spawns, [&] {
    for (int run = 0; run < n; ++run) check(fib(25) == 75025, "fib");
  });
}

std::uint64_t uneven_task(std::uint64_t i) {
  const std::uint64_t h = splitmix(i);
  int steps = 2000 * static_cast<int>(1 + (h & 15));
  if (((h >> 8) & 63) == 0) steps *= 32;
  return xorshift(i + 1, steps);
}

// How well do the Ps share tasks of very different length?
outcome parallel_for_uneven(int n) {
  std::vector<std::uint64_t> slots(static_cast<std::size_t>(n));
  auto sum = [&slots] { return std::reduce(slots.begin(), slots.end()); };
  const outcome sequential = timed(n, [&] {
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = uneven_task(i);
  });
  const std::uint64_t expected = sum();
  auto in_parallel = [&] {
    sley::wait_group wg;
    wg.add(n);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      sley::go([&slots, &wg, i] {
        slots[i] = uneven_task(i);
        wg.done();
      });
    }
    wg.wait();
    check(sum() == expected, "checksum");
  };
  slots.assign(slots.size(), 0);
  const int procs = sley::runtime::set_max_procs(1);
  const outcome one = timed(n, in_parallel);
  sley::runtime::set_max_procs(procs);
  slots.assign(slots.size(), 0);
  outcome o = timed(n, in_parallel);
  o.add("seq_ms=%.2f p1_ms=%.2f", milliseconds(sequential.wall), milliseconds(one.wall));
  o.add("speedup_vs_seq=%.3f speedup_vs_p1=%.3f",
        milliseconds(sequential.wall) / milliseconds(o.wall),
        milliseconds(one.wall) / milliseconds(o.wall));
  return o;
}

constexpr workload rows[] = {
    {"threadring503", 2'000'000, 100'000, threadring503},
    {"sieve", 3, 0, sieve},
    {"skynet", 3, 1, skynet},
    {"fib_spawn", 10, 1, fib_spawn},
    {"parallel_for_uneven", 10'000, 500, parallel_for_uneven},
};

}  // namespace

std::span<const workload> program_rows() { return rows; }

}  // namespace bench
