// SPEC.md, "Channels and select". Goroutines that are joined through the wait group of their
// starter refer to its variables; the others hold handles of their own, which keep the channels
// alive.
#include "rows.hpp"

#include <sley/sley.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

namespace bench {

namespace {

using int_chan = sley::chan<std::int64_t>;

// How long does a value take to another goroutine and back?
outcome pingpong_unbuf(int n) {
  int_chan a, b;
  sley::chan<void> done;
  sley::go([a, b, done] {
    for (std::int64_t v : a) b.send(v + 1);
    done.close();
  });
  return timed(n, [&] {
    std::int64_t v = 0;
    for (int i = 0; i < n; ++i) {
      a.send(v);
      v = b.receive().value();
    }
    check(v == n, "pingpong count");
    a.close();
    done.receive();
  });
}

// What does a value cost on its way from one producer to one consumer through a buffer?
outcome chan_prodcons_buf128(int n) {
  int_chan c(128), result;
  return timed(n, [&] {
    sley::go([c, n] {
      for (std::int64_t i = 0; i < n; ++i) c.send(i);
      c.close();
    });
    sley::go([c, result] {
      std::int64_t sum = 0;
      for (std::int64_t v : c) sum += v;
      result.send(sum);
    });
    check(result.receive().value() == sum_below(n), "sum");
  });
}

// The same with four of each, which contend for the channel.
outcome chan_mpmc_4x4_buf128(int n) {
  constexpr int k = 4;
  const int each = std::max(1, n / k);
  const std::int64_t total = std::int64_t{each} * k;
  int_chan c(128);
  std::atomic<std::int64_t> sum = 0;
  return timed(total, [&] {
    sley::wait_group producers, consumers;
    producers.add(k);
    consumers.add(k);
    for (std::int64_t p = 0; p < k; ++p) {
      sley::go([&, p] {
        const std::int64_t base = p * each;
        for (std::int64_t i = 0; i < each; ++i) c.send(base + i);
        producers.done();
      });
      sley::go([&] {
        std::int64_t s = 0;
        for (std::int64_t v : c) s += v;
        sum += s;
        consumers.done();
      });
    }
    producers.wait();
    c.close();
    consumers.wait();
    check(sum == sum_below(total), "sum");
  });
}

// What do a send and a receive cost when no other goroutine uses the channel?
outcome chan_uncontended_buf(int n) {
  int_chan c(128);
  return timed(n, [&] {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      c.send(i);
      sum += c.receive().value();
    }
    check(sum == sum_below(n), "sum");
  });
}

// What does a value cost that is received by a blocking select of two cases?
outcome select2(int n) {
  const int half = std::max(1, n / 2);
  int_chan a, b;
  return timed(std::int64_t{2} * half, [&] {
    auto feed = [half](int_chan c) {
      for (std::int64_t i = 0; i < half; ++i) c.send(i);
    };
    sley::go(feed, a);
    sley::go(feed, b);
    std::int64_t sum = 0;
    auto add = [&sum](std::optional<std::int64_t> v) { sum += v.value(); };
    for (std::int64_t i = 0; i < std::int64_t{2} * half; ++i) {
      sley::select(sley::on_receive(a, add), sley::on_receive(b, add));
    }
    check(sum == 2 * sum_below(half), "sum");
  });
}

// What does a select cost that finds nothing ready, with one case and with two?
outcome select_default_nonblocking(int n) {
  int_chan a, b;
  int misses = 0;
  auto received = [](std::optional<std::int64_t>) {
    check(false, "received from an empty channel");
  };
  auto missed = [&misses] { ++misses; };
  outcome o = timed(n, [&] {
    for (int i = 0; i < n; ++i) {
      sley::select(sley::on_receive(a, received), sley::otherwise(missed));
    }
  });
  check(misses == n, "misses");
  misses = 0;
  const int k = std::max(1, n / 10);
  const outcome two_cases = timed(k, [&] {
    for (int i = 0; i < k; ++i) {
      sley::select(sley::on_receive(a, received), sley::on_receive(b, received),
                   sley::otherwise(missed));
    }
  });
  check(misses == k, "misses of two cases");
  o.add("two_case_ns=%.2f", ns_each(two_cases.wall, k));
  return o;
}

constexpr workload rows[] = {
    {"pingpong_unbuf", 1'000'000, 50'000, pingpong_unbuf},
    {"chan_prodcons_buf128", 10'000'000, 500'000, chan_prodcons_buf128},
    {"chan_mpmc_4x4_buf128", 5'000'000, 200'000, chan_mpmc_4x4_buf128},
    {"chan_uncontended_buf", 20'000'000, 1'000'000, chan_uncontended_buf},
    {"select2", 2'000'000, 100'000, select2},
    {"select_default_nonblocking", 100'000'000, 1'000'000, select_default_nonblocking},
};

}  // namespace

std::span<const workload> chan_rows() { return rows; }

}  // namespace bench
