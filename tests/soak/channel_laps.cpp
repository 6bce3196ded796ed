// Channels of all kinds: each value that was sent is received once, undamaged, and in the order of
// its sender. A value that was not sent stays with its sender.
#include "soak/soak.hpp"
#include "support/account.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

using sley::chan;
using sley::chan_status;
using sley::wait_group;
using sley_test::account;
using sley_test::random_source;
using sley_test::rounds;
using soak::count;
using soak::tally;
using namespace std::chrono_literals;

namespace {

std::size_t any_capacity(random_source& random) {
  switch (random.below(3)) {
    case 0: return 0;
    case 1: return 1 + random.below(3);
    default: return random.below(200);
  }
}

// --- many senders, many receivers ----------------------------------------------------------------

struct message {
  int sender = -1;
  int number = -1;
  std::unique_ptr<int> owned;  // the number once more: shows a lost or doubled value
};

class crowd {
 public:
  explicit crowd(random_source& random)
      : channel_(any_capacity(random)),
        senders_(1 + random.index(20)),
        receivers_(1 + random.index(20)),
        messages_(1 + random.index(static_cast<std::size_t>(rounds(500)))) {}

  void run(random_source& random) {
    wait_group sending, receiving;
    for (int r = 0; r < receivers_; ++r) {
      receiving.go([this, stream = random()] { receive_all(random_source(stream)); });
    }
    for (int s = 0; s < senders_; ++s) {
      sending.go([this, s, stream = random()] { send_all(s, random_source(stream)); });
    }
    sending.wait();
    channel_.close();
    receiving.wait();
    EXPECT_EQ(received_, senders_ * messages_);
    count(tally::channel_values, static_cast<std::uint64_t>(received_));
  }

 private:
  void send_all(int sender, random_source random) {
    for (int i = 0; i < messages_; ++i) {
      send({sender, i, std::make_unique<int>(i)}, random);
      if (random.one_in(200)) sley::this_goroutine::sleep_for(random.below(300) * 1us);
    }
  }

  void send(message m, random_source& random) const {
    switch (random.below(4)) {
      case 0:
        while (channel_.try_send(m) != chan_status::ok) sley::this_goroutine::yield();
        break;
      case 1:
        while (channel_.try_send_for(m, random.below(100) * 1us) != chan_status::ok) {
          EXPECT_NE(m.owned, nullptr) << "a value that was not sent is gone";
        }
        break;
      case 2: sley::select(sley::on_send(channel_, std::move(m))); break;
      default: channel_.send(std::move(m));
    }
  }

  void receive_all(random_source random) {
    std::vector<int> last(static_cast<std::size_t>(senders_), -1);
    int received = 0;
    while (std::optional<message> m = receive(random)) {
      EXPECT_TRUE(m->owned != nullptr && *m->owned == m->number) << "came damaged";
      int& before = last[static_cast<std::size_t>(m->sender)];
      EXPECT_LT(before, m->number) << "overtaken";
      before = m->number;
      ++received;
    }
    received_ += received;
  }

  std::optional<message> receive(random_source& random) const {
    message m;
    std::optional<message> got;
    switch (random.below(4)) {
      case 0:
        if (channel_.try_receive(m) == chan_status::ok) return m;
        break;
      case 1:
        if (channel_.try_receive_for(m, random.below(100) * 1us) == chan_status::ok) return m;
        break;
      case 2:
        sley::select(sley::on_receive(channel_, [&](auto v) { got = std::move(v); }));
        return got;
      default: break;
    }
    return channel_.receive();
  }

  const chan<message> channel_;
  const int senders_, receivers_, messages_;
  std::atomic<int> received_{0};
};

// --- select over many channels -------------------------------------------------------------------

// Each trader offers tokens to some channels and takes some from others, whichever comes first.
class market {
 public:
  explicit market(random_source& random) {
    const auto channels = 1 + random.below(12);
    for (std::uint64_t c = 0; c < channels; ++c) channels_.emplace_back(any_capacity(random));
  }

  void run(random_source& random) {
    wait_group group;
    const auto traders = 2 + random.below(24);
    const int deals = rounds(300);
    for (std::uint64_t t = 0; t < traders; ++t) {
      group.go([=, this, stream = random()] { trade(t, deals, random_source(stream)); });
    }
    group.wait();
    for (const auto& c : channels_) {
      std::uint64_t token = 0;
      while (c.try_receive(token) == chan_status::ok) received_.add(token);
    }
    EXPECT_TRUE(sent_ == received_) << sent_.tokens << " sent, " << received_.tokens << " received";
    count(tally::channel_values, received_.tokens);
  }

 private:
  struct books {
    account sent, received;
  };

  const chan<std::uint64_t>& any(random_source& random) const {
    return channels_[random.below(channels_.size())];
  }

  void trade(std::uint64_t self, int deals, random_source random) {
    books mine;
    for (int i = 0; i < deals; ++i) {
      const std::uint64_t first = self << 40 | static_cast<std::uint64_t>(i) << 8;
      if (random.one_in(2)) {
        deal_of_four(mine, first, random);
      } else {
        deal_of_many(mine, first, random);
      }
    }
    count(tally::selects, static_cast<std::uint64_t>(deals));
    const std::lock_guard guard(mutex_);
    sent_.add(mine.sent);
    received_.add(mine.received);
  }

  void deal_of_four(books& mine, std::uint64_t token, random_source& random) const {
    sley::select(sley::on_send(any(random), token, [&] { mine.sent.add(token); }),
                 sley::on_receive(any(random), [&](auto t) { mine.received.add(t.value()); }),
                 sley::on_receive(chan<int>(nullptr)), sley::on_timeout(random.below(300) * 1us));
  }

  // Tokens that differ in their last byte; one of them at most is sent.
  void deal_of_many(books& mine, std::uint64_t first, random_source& random) const {
    sley::select_set set;
    const auto cases = 1 + random.below(24);
    for (std::uint64_t c = 0; c < cases; ++c) {
      if (random.one_in(2)) {
        set.add_send(any(random), first + c, [&mine, first, c] { mine.sent.add(first + c); });
      } else {
        set.add_receive(any(random), [&mine](auto t) { mine.received.add(t.value()); });
      }
    }
    if (random.one_in(3)) {
      (void)set.try_wait();
    } else {
      set.add_timeout(random.below(300) * 1us);
      set.wait();
    }
  }

  std::vector<chan<std::uint64_t>> channels_;
  sley::mutex mutex_;
  account sent_, received_;  // [lock: mutex_]
};

// --- a ring --------------------------------------------------------------------------------------

// Tokens go round until each has made its hops. There are fewer tokens than places, so at any time
// some goroutine waits for a token.
void run_ring(random_source& random) {
  const auto places = 2 + random.below(100);
  const auto tokens = 1 + random.below(places - 1);
  const int hops = rounds(200);
  std::vector<chan<int>> links;
  for (std::uint64_t i = 0; i < places; ++i) links.emplace_back(random.below(2));
  const chan<void> arrived(tokens);
  const chan<void> stop;
  std::atomic<std::uint64_t> moves{0};
  wait_group group;
  for (std::uint64_t i = 0; i < places; ++i) {
    group.go([&, in = links[i], out = links[(i + 1) % places]] {
      for (bool goes_on = true; goes_on;) {
        std::optional<int> left;
        sley::select(sley::on_receive(in, [&](auto v) { left = v; }),
                     sley::on_receive(stop, [&](bool) { goes_on = false; }));
        if (!left) continue;
        ++moves;
        *left == 1 ? arrived.send() : out.send(*left - 1);
      }
    });
  }
  for (std::uint64_t t = 0; t < tokens; ++t) links[t].send(hops);
  for (std::uint64_t t = 0; t < tokens; ++t) EXPECT_TRUE(arrived.receive());
  stop.close();
  group.wait();
  EXPECT_EQ(moves, tokens * static_cast<std::uint64_t>(hops));
  count(tally::channel_values, moves);
}

// --- the end of a channel ------------------------------------------------------------------------

// One goroutine closes the channel while others send and receive. Each value that was sent is
// received, a sender that could not send hears of it, and all wake.
void close_in_the_middle(random_source& random) {
  const chan<std::uint64_t> c(any_capacity(random));
  const auto senders = 1 + random.below(20);
  const auto receivers = 1 + random.below(20);
  std::atomic<std::uint64_t> sent{0}, received{0}, refused{0};
  wait_group group;
  for (std::uint64_t s = 0; s < senders; ++s) {
    group.go([&] {
      try {
        for (;; ++sent) c.send(1);
      } catch (const sley::channel_closed&) {
        ++refused;
      }
    });
  }
  for (std::uint64_t r = 0; r < receivers; ++r) {
    group.go([&] {
      for (const std::uint64_t one : c) received += one;
    });
  }
  sley::this_goroutine::sleep_for(random.below(3000) * 1us);
  c.close();
  group.wait();
  EXPECT_EQ(sent, received);
  EXPECT_EQ(refused, senders);
  count(tally::channel_values, received);
}

// --- questions and answers -----------------------------------------------------------------------

struct question {
  std::uint64_t number = 0;
  chan<std::uint64_t> answer{nullptr};
};

// Some askers do not wait for the answer, and that holds up no other goroutine.
void ask_and_answer(random_source& random) {
  const chan<question> questions(any_capacity(random));
  const int each = rounds(200);
  wait_group asking, answering;
  std::atomic<std::uint64_t> answered{0}, heard{0}, given_up{0};
  for (auto servers = 1 + random.below(4); servers > 0; --servers) {
    answering.go([&] {
      for (const question& q : questions) {
        q.answer.send(q.number * 2);
        ++answered;
      }
    });
  }
  const auto clients = 1 + random.below(16);
  for (std::uint64_t client = 0; client < clients; ++client) {
    asking.go([&, client, own = random_source(random())]() mutable {
      for (int i = 0; i < each; ++i) {
        const question q = {client << 32 | static_cast<std::uint64_t>(i), chan<std::uint64_t>(1)};
        questions.send(q);
        if (own.one_in(10)) {
          ++given_up;
          continue;
        }
        EXPECT_EQ(q.answer.receive(), q.number * 2);
        ++heard;
      }
    });
  }
  asking.wait();
  questions.close();
  answering.wait();
  EXPECT_EQ(answered, clients * static_cast<std::uint64_t>(each));
  EXPECT_EQ(heard + given_up, answered);
  count(tally::channel_values, answered + heard);
}

// --- a chain that ends from its head -------------------------------------------------------------

void run_pipeline(random_source& random) {
  const int stages = 1 + random.index(50);
  const int values = rounds(500);
  const chan<int> head(any_capacity(random));
  chan<int> out = head;
  wait_group group;
  for (int s = 0; s < stages; ++s) {
    group.go([in = out, next = out = chan<int>(any_capacity(random))] {
      for (const int v : in) next.send(v + 1);
      next.close();
    });
  }
  group.go([&] {
    for (int i = 0; i < values; ++i) head.send(i);
    head.close();
  });
  int expected = stages;
  for (const int v : out) EXPECT_EQ(v, expected++);
  EXPECT_EQ(expected, stages + values);
  group.wait();
  count(tally::channel_values,
        static_cast<std::uint64_t>(values) * static_cast<std::uint64_t>(stages + 1));
}

}  // namespace

SOAK_LAP(channel_crowd) { crowd(random).run(random); }
SOAK_LAP(channel_market) { market(random).run(random); }
SOAK_LAP(channel_ring) { run_ring(random); }
SOAK_LAP(channel_close) { close_in_the_middle(random); }
SOAK_LAP(channel_answers) { ask_and_answer(random); }
SOAK_LAP(channel_pipeline) { run_pipeline(random); }
