// The poller, on pipes: nothing outside of the simulation changes them.
#include "scenarios.hpp"

#include <sley/os.hpp>
#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <system_error>
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

constexpr scenario scenarios[] = {
    {"a_pipe_fuller_than_it_holds", a_pipe_fuller_than_it_holds},
    {"ping_pong_over_pipes", ping_pong_over_pipes},
    {"a_deadline_ends_a_read", a_deadline_ends_a_read},
    {"close_wakes_a_reader", close_wakes_a_reader},
    {"a_reader_beside_hogs", a_reader_beside_hogs},
};

}  // namespace

std::span<const scenario> io_scenarios() { return scenarios; }

}  // namespace sley_test
