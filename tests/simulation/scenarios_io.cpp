// The poller, on pipes and pairs of sockets: nothing outside of the simulation changes them.
#include "scenarios.hpp"

#include <sley/context.hpp>
#include <sley/net.hpp>
#include <sley/os.hpp>
#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sley_test {

namespace {

using namespace std::chrono_literals;
using sley::testing::check;

void a_pipe_fuller_than_it_holds() {
  auto [in, out] = sley::os::pipe();
  constexpr std::size_t total = 150'000;  // a pipe holds 65,536
  sley::wait_group all;
  const sley::os::file& source = in;
  sley::os::file& sink = out;
  all.go([&] {
    std::vector<std::byte> bytes(50'000, std::byte{7});
    for (std::size_t sent = 0; sent < total; sent += bytes.size()) sink.write_all(bytes);
    sink.close();
  });
  std::size_t got = 0;
  std::vector<std::byte> buffer(40'000);
  while (const std::size_t n = source.read_some(buffer)) {
    for (std::size_t i = 0; i < n; ++i) check(buffer[i] == std::byte{7}, "every byte comes");
    got += n;
  }
  all.wait();
  check(got == total, "all of it comes");
}

void ping_pong_over_pipes() {
  auto [in1, out1] = sley::os::pipe();
  auto [in2, out2] = sley::os::pipe();
  sley::wait_group all;
  const sley::os::file& there = in1;
  const sley::os::file& back = out2;
  all.go([&] {
    std::byte b{};
    for (int i = 0; i < 10; ++i) {
      check(there.read_some({&b, 1}) == 1, "it comes");
      back.write_all({&b, 1});
    }
  });
  for (int i = 0; i < 10; ++i) {
    std::byte b{static_cast<unsigned char>(i)};
    out1.write_all({&b, 1});
    check(in2.read_some({&b, 1}) == 1 && b == std::byte{static_cast<unsigned char>(i)},
          "it comes back");
  }
  all.wait();
}

void a_deadline_ends_a_read() {
  auto [in, out] = sley::os::pipe();
  std::byte b{};
  for (int i = 0; i < 3; ++i) {
    in.set_read_deadline(std::chrono::steady_clock::now() + 1ms);
    std::error_code error;
    in.read_some({&b, 1}, error);
    check(error == std::errc::timed_out, "it says why");
  }
  in.set_read_deadline(std::chrono::steady_clock::time_point::max());
  out.write_all({&b, 1});
  check(in.read_some({&b, 1}) == 1, "it reads again");
}

void close_wakes_a_reader() {
  auto [in, out] = sley::os::pipe();
  sley::wait_group all;
  sley::os::file& source = in;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      std::byte b{};
      std::error_code error;
      source.read_some({&b, 1}, error);
      check(static_cast<bool>(error), "it is told");
    });
  }
  sley::this_goroutine::yield();
  source.close();
  all.wait();
}

void a_reader_beside_hogs() {
  auto [in, out] = sley::os::pipe();
  std::atomic<bool> is_over = false;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      while (!is_over) sley::testing::point();
    });
  }
  const sley::os::file& sink = out;
  all.go([&] {
    sley::this_goroutine::sleep_for(1ms);
    std::byte b{};
    sink.write_all({&b, 1});
  });
  std::byte b{};
  check(in.read_some({&b, 1}) == 1, "it is woken");
  is_over = true;
  all.wait();
}

// The context is the reads' own, or bound to the file: whatever the order, each byte comes once.
template <bool is_bound>
void a_context_ends_reads() {
  auto [in, out] = sley::os::pipe();
  const sley::os::file& source = in;
  const sley::os::file& sink = out;
  constexpr int total = 6;
  sley::wait_group all;
  all.go([&] {
    for (int i = 0; i < total; ++i) {
      const auto b = static_cast<std::byte>(i);
      sink.write_all({&b, 1});
      sley::this_goroutine::yield();
    }
  });
  int ends = 20;  // after which the writer gets its turn, however unfair the order is
  for (int got = 0; got < total; --ends) {
    const auto [ctx, cancel] = sley::with_cancel({});
    if (ends > 0) all.go([end = cancel] { end(); });
    std::byte b{};
    std::error_code error;
    if constexpr (is_bound) {
      source.set_context(ctx);
      source.read_some({&b, 1}, error);
    } else {
      source.read_some({&b, 1}, ctx, error);
    }
    check(!error || error == sley::context_errc::canceled, "it says why");
    if (!error) check(b == static_cast<std::byte>(got++), "every byte comes once, in order");
  }
  all.wait();
}

// Readers in line, of which each has its own context: one ends, the others read.
void a_context_ends_one_reader_of_several() {
  auto [in, out] = sley::os::pipe();
  const sley::os::file& source = in;
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group readers;
  std::atomic<int> got = 0;
  for (int i = 0; i < 3; ++i) {
    readers.go([&, c = i == 1 ? ctx : sley::context()] {
      std::byte b{};
      std::error_code error;
      got += static_cast<int>(source.read_some({&b, 1}, c, error));
    });
  }
  sley::go([end = cancel] { end(); });
  std::byte bytes[3] = {};
  out.write_all(bytes);
  readers.wait();
  const int is_left = 3 - got;
  check(is_left <= 1, "the others read");
  if (is_left == 1) check(source.read_some(bytes) == 1, "what is not read is left");
}

// Two contexts end, one after the other is bound, and the file is closed: both readers go on.
void bindings_and_a_close_race() {
  auto [in, out] = sley::os::pipe();
  sley::os::file& source = in;
  const auto [first, end_first] = sley::with_cancel({});
  const auto [second, end_second] = sley::with_timeout({}, 1ms);
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      std::byte b{};
      std::error_code error;
      source.read_some({&b, 1}, error);
      check(static_cast<bool>(error), "it is told");
    });
  }
  all.go([&, end = end_first] { end(); });
  source.set_context(first);
  source.set_context(second);
  all.go([&] { source.close(); });
  all.wait();
}

// One goroutine receives from a pipe and from a channel: whatever the order, it misses nothing.
void a_pipe_as_a_case_of_select() {
  auto [in, out] = sley::os::pipe();
  const sley::os::file& source = in;
  const sley::os::file& sink = out;
  const sley::chan<int> values;
  constexpr int count = 4;
  sley::wait_group all;
  all.go([&] {
    const std::byte b{1};
    for (int i = 0; i < count; ++i) sink.write_all({&b, 1});
  });
  all.go([&] {
    for (int i = 0; i < count; ++i) values.send(i);
  });
  const auto read = [&source](sley::os::poll_events) {
    std::byte b{};
    check(source.read_some({&b, 1}) == 1, "a byte is there");
  };
  for (int got = 0; got < 2 * count; ++got) {
    sley::select(sley::os::on_ready(source, sley::os::poll_events::readable, read),
                 sley::on_receive(values));
  }
  all.wait();
}

// With SLEYDEBUG=uring=1 their calls are made together.
void exchanges_over_sockets() {
  constexpr int pairs = 3;
  constexpr int times = 4;
  sley::wait_group all;
  for (int pair = 0; pair < pairs; ++pair) {
    all.go([] {
      const auto [one, other] = sley::net::unix_stream::pair();
      sley::wait_group peer;
      peer.go([&end = other] {
        std::byte b{};
        for (int i = 0; i < times; ++i) {
          check(end.read_some({&b, 1}) == 1, "it comes");
          end.write_all({&b, 1});
        }
      });
      for (int i = 0; i < times; ++i) {
        std::byte b{static_cast<unsigned char>(i)};
        one.write_all({&b, 1});
        check(one.read_some({&b, 1}) == 1 && b == std::byte{static_cast<unsigned char>(i)},
              "it comes back");
      }
      peer.wait();
    });
  }
  all.go([] { sley::blocking([] { std::this_thread::sleep_for(1ms); }); });
  all.go([] { sley::runtime::set_max_procs(sley::runtime::set_max_procs(1)); });
  for (int i = 0; i < 5; ++i) sley::this_goroutine::yield();
  all.wait();
}

constexpr scenario scenarios[] = {
    {"a_pipe_fuller_than_it_holds", a_pipe_fuller_than_it_holds},
    {"ping_pong_over_pipes", ping_pong_over_pipes},
    {"a_deadline_ends_a_read", a_deadline_ends_a_read},
    {"close_wakes_a_reader", close_wakes_a_reader},
    {"a_reader_beside_hogs", a_reader_beside_hogs},
    {"a_context_ends_reads", a_context_ends_reads<false>},
    {"a_bound_context_ends_reads", a_context_ends_reads<true>},
    {"a_context_ends_one_reader_of_several", a_context_ends_one_reader_of_several},
    {"bindings_and_a_close_race", bindings_and_a_close_race},
    {"a_pipe_as_a_case_of_select", a_pipe_as_a_case_of_select},
    {"exchanges_over_sockets", exchanges_over_sockets},
};

}  // namespace

std::span<const scenario> io_scenarios() { return scenarios; }

}  // namespace sley_test
