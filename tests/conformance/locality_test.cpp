// Aim: a goroutine that has waited for packets goes on where they came in, as far as that processor
// can keep up. Method: connected pairs send each other messages, and the readers ask the kernel for
// the CPU that took the packets in and for their own CPU. Builds that perturb the schedule choose
// by chance, and the system may move threads about: one good round is enough.
#include "support/affinity.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/socket.h>

using sley::net::tcp_stream;
using namespace std::chrono_literals;

namespace {

constexpr int connections = 32;
constexpr int messages = 500;
constexpr int most_rounds = 50;

using message = std::array<std::byte, 64>;

int incoming_cpu(const tcp_stream& s) {
  int cpu = -1;
  socklen_t size = sizeof cpu;
  getsockopt(s.native_handle(), SOL_SOCKET, SO_INCOMING_CPU, &cpu, &size);
  return cpu;
}

struct tally {
  std::atomic<int> here = 0;
  std::atomic<int> elsewhere = 0;

  double share_here() const { return static_cast<double>(here) / (here + elsewhere); }
};

void receive(const tcp_stream& s, tally& seen) {
  message m;
  s.read_exactly(m);
  ++(sched_getcpu() == incoming_cpu(s) ? seen.here : seen.elsewhere);
}

double share_that_goes_on_where_packets_came_in() {
  std::vector<sley_test::tcp_pair> pairs;
  for (int i = 0; i < connections; ++i) pairs.push_back(sley_test::connect_tcp());
  tally seen;
  sley::wait_group all;
  for (const auto& pair : pairs) {
    all.go([&] {
      for (int i = 0; i < messages; ++i) {
        receive(pair.server, seen);
        pair.server.write_all(message{});
      }
    });
    all.go([&] {
      for (int i = 0; i < messages; ++i) {
        pair.client.write_all(message{});
        receive(pair.client, seen);
      }
    });
  }
  all.wait();
  return seen.share_here();
}

void compute_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Of computing that packets of one CPU ask for, how much others take over.
double share_done_elsewhere(const cpu_set_t& cpu_of_packets) {
  std::vector<sley_test::tcp_pair> pairs;
  for (int i = 0; i < connections; ++i) pairs.push_back(sley_test::connect_tcp());
  tally seen;
  sley::wait_group readers;
  for (const auto& pair : pairs) {
    readers.go([&] {
      for (int i = 0; i < messages / 10; ++i) {
        receive(pair.server, seen);
        compute_for(50us);
      }
    });
  }
  std::thread sender([&] {
    sched_setaffinity(0, sizeof cpu_of_packets, &cpu_of_packets);
    for (int i = 0; i < messages / 10; ++i) {
      for (const auto& pair : pairs) {
        const message m = {};
        ASSERT_EQ(::send(pair.client.native_handle(), m.data(), m.size(), 0), 64);
      }
    }
  });
  readers.wait();
  sender.join();
  return 1 - seen.share_here();
}

}  // namespace

GO_TEST(locality, goroutines_go_on_where_their_packets_come_in) {
  if (sley_test::under_chaos) GTEST_SKIP() << "there chance says where they go on";
  double best = 0;
  for (int i = 0; i < most_rounds && best < 0.8; ++i) {
    best = std::max(best, share_that_goes_on_where_packets_came_in());
  }
  EXPECT_GE(best, 0.8);
}

GO_TEST(locality, the_packets_of_one_cpu_keep_all_processors_at_work) {
  const cpu_set_t all = sley_test::affinity();
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is only one CPU";
  double best = 0;
  for (int i = 0; i < most_rounds && best < 0.3; ++i) {
    best = std::max(best, share_done_elsewhere(sley_test::first_of(all)));
  }
  EXPECT_GE(best, 0.3);
}
