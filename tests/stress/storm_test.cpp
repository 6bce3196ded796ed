// Storms of random channel and select operations, against a model that counts. Every value is sent
// at most once and has a number; each sender keeps a list of what it got into which channel. In
// the end every value that was sent must have been received once, and each receiver must have seen
// the values of one sender on one channel in the order in which they were sent.
#include "support/harness.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using sley::chan;
using sley::chan_status;
using sley_test::random_source;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

struct message {
  int sender = -1;
  int channel = -1;
  int number = -1;
  std::unique_ptr<int> owned;  // the number once more: a value that was lost or doubled shows here
};

class storm {
 public:
  storm(int channels, int workers, random_source& random, bool unbuffered)
      : workers_(workers), received_(static_cast<std::size_t>(workers)) {
    for (int c = 0; c < channels; ++c) {
      channels_.emplace_back(unbuffered ? 0 : random.index(8));
    }
    sent_.resize(static_cast<std::size_t>(workers));
  }

  // One goroutine's share: `operations` random operations.
  void work(int self, int operations, std::uint64_t stream) {
    random_source random(stream);
    for (int i = 0; i < operations; ++i) {
      switch (random.below(8)) {
        case 0: try_one_send(self, random); break;
        case 1: try_one_receive(self, random); break;
        case 2: timed_send(self, random); break;
        case 3: timed_receive(self, random); break;
        case 4: select_some(self, random); break;
        case 5: select_set_of_some(self, random); break;
        case 6: sley::this_goroutine::yield(); break;
        default: select_some(self, random);
      }
      if (testing::Test::HasFailure()) return;
    }
  }

  void close_one(int channel) { channels_[index(channel)].close(); }

  // Takes the remaining values, and compares.
  void finish() {
    for (int c = 0; c < count(); ++c) {
      message m;
      while (channels_[index(c)].try_receive(m) == chan_status::ok) keep(0, std::move(m));
    }
    expect_sent_is_received();
    expect_order_of_each_sender();
  }

 private:
  static std::size_t index(int n) { return static_cast<std::size_t>(n); }
  int count() const { return static_cast<int>(channels_.size()); }
  int any(random_source& random) const { return random.index(channels_.size()); }

  message next(int self, int channel) {
    auto& mine = sent_[index(self)];
    const int number = static_cast<int>(mine.size());
    return {self, channel, number, std::make_unique<int>(number)};
  }
  // The value is in the channel, or with a receiver. (Numbers of values that were not sent are used
  // again, by the same sender, for the next try.)
  void note_sent(int self, int channel) { sent_[index(self)].push_back(channel); }

  void keep(int self, message m) {
    ASSERT_TRUE(m.owned != nullptr && *m.owned == m.number) << "a value came damaged";
    received_[index(self)].push_back({m.sender, m.channel, m.number, nullptr});
  }

  void check_closed(int channel) {
    EXPECT_TRUE(channels_[index(channel)].closed()) << "channel " << channel;
  }

  void try_one_send(int self, random_source& random) {
    const int c = any(random);
    message m = next(self, c);
    switch (channels_[index(c)].try_send(m)) {
      case chan_status::ok: note_sent(self, c); break;
      case chan_status::closed: check_closed(c); [[fallthrough]];
      default: EXPECT_NE(m.owned, nullptr) << "a value that was not sent is gone";
    }
  }
  void timed_send(int self, random_source& random) {
    const int c = any(random);
    message m = next(self, c);
    switch (channels_[index(c)].try_send_for(m, random.index(100) * 1us)) {
      case chan_status::ok: note_sent(self, c); break;
      case chan_status::closed: check_closed(c); [[fallthrough]];
      default: EXPECT_NE(m.owned, nullptr) << "a value that was not sent is gone";
    }
  }
  void try_one_receive(int self, random_source& random) {
    message m;
    if (channels_[index(any(random))].try_receive(m) == chan_status::ok) keep(self, std::move(m));
  }
  void timed_receive(int self, random_source& random) {
    message m;
    const auto status = channels_[index(any(random))].try_receive_for(m, random.index(100) * 1us);
    if (status == chan_status::ok) keep(self, std::move(m));
  }

  auto keeper(int self, int channel) {
    return [this, self, channel](std::optional<message> m) {
      if (m) {
        EXPECT_EQ(m->channel, channel);
        keep(self, std::move(*m));
      } else {
        check_closed(channel);
      }
    };
  }

  // Two sends, two receives (possibly of one channel), and a way out.
  void select_some(int self, random_source& random) {
    const int a = any(random);
    const int b = any(random);
    const int c = any(random);
    const int d = any(random);
    try {
      sley::select(sley::on_receive(channels_[index(a)], keeper(self, a)),
                   sley::on_send(channels_[index(b)], next(self, b), [&] { note_sent(self, b); }),
                   sley::on_receive(channels_[index(c)], keeper(self, c)),
                   sley::on_send(channels_[index(d)], next(self, d), [&] { note_sent(self, d); }),
                   sley::on_timeout(random.index(200) * 1us));
    } catch (const sley::channel_closed&) {
      EXPECT_TRUE(channels_[index(b)].closed() || channels_[index(d)].closed());
    }
  }

  void select_set_of_some(int self, random_source& random) {
    sley::select_set set;
    const int cases = 1 + random.index(6);
    for (int i = 0; i < cases; ++i) {
      const int c = any(random);
      if (random.one_in(2)) {
        set.add_receive(channels_[index(c)], keeper(self, c));
      } else {
        set.add_send(channels_[index(c)], next(self, c), [this, self, c] { note_sent(self, c); });
      }
    }
    try {
      if (random.one_in(2)) {
        (void)set.try_wait();
      } else {
        set.add_timeout(random.index(200) * 1us);
        set.wait();
      }
    } catch (const sley::channel_closed&) {
    }
  }

  void expect_sent_is_received() {
    std::vector<std::vector<int>> times(index(workers_));
    for (int s = 0; s < workers_; ++s) times[index(s)].resize(sent_[index(s)].size());
    for (const auto& by_one : received_) {
      for (const message& m : by_one) {
        ASSERT_LT(index(m.number), times[index(m.sender)].size()) << "received, but not sent";
        EXPECT_EQ(sent_[index(m.sender)][index(m.number)], m.channel);
        ++times[index(m.sender)][index(m.number)];
      }
    }
    for (int s = 0; s < workers_; ++s) {
      for (std::size_t n = 0; n < times[index(s)].size(); ++n) {
        EXPECT_EQ(times[index(s)][n], 1) << "value " << n << " of sender " << s;
      }
    }
  }

  void expect_order_of_each_sender() {
    for (std::size_t r = 1; r < received_.size(); ++r) {  // the first also got the leftovers
      std::vector<std::vector<int>> last(index(workers_), std::vector<int>(channels_.size(), -1));
      for (const message& m : received_[r]) {
        int& before = last[index(m.sender)][index(m.channel)];
        EXPECT_LT(before, m.number) << "overtaken on channel " << m.channel;
        before = m.number;
      }
    }
  }

  int workers_;
  std::vector<chan<message>> channels_;
  std::vector<std::vector<int>> sent_;          // by sender: the channel of each number
  std::vector<std::vector<message>> received_;  // by receiver
};

void run_storm(int channels, int workers, int operations, bool unbuffered, int closes) {
  random_source random(1);
  storm s(channels, workers, random, unbuffered);
  sley::wait_group group;
  for (int w = 0; w < workers; ++w) {
    group.go([&s, w, operations] { s.work(w, operations, static_cast<std::uint64_t>(w) + 2); });
  }
  for (int c = 0; c < closes; ++c) {
    sley::this_goroutine::sleep_for(500us);
    s.close_one(c);
  }
  group.wait();
  s.finish();
}

}  // namespace

GO_TEST(storm, random_operations_lose_and_double_nothing) {
  for (int i = 0; i < 3 && !testing::Test::HasFailure(); ++i) {
    run_storm(6, 24, rounds(2000), false, 0);
  }
}

GO_TEST(storm, unbuffered_channels) { run_storm(4, 32, rounds(2000), true, 0); }

GO_TEST(storm, one_channel_for_all) { run_storm(1, 32, rounds(2000), false, 0); }

GO_TEST(storm, channels_that_are_closed_meanwhile) {
  for (int i = 0; i < 5 && !testing::Test::HasFailure(); ++i) {
    run_storm(8, 24, rounds(1000), i % 2 == 0, 7);
  }
}

GO_TEST(storm, many_goroutines_and_channels) { run_storm(100, rounds(1000), 200, false, 10); }
