// The bytes of TCP streams. The rows of Go's tests that are met here stand beside the tests.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/stream_promises.hpp"

#include <sley/net.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using sley::wait_group;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::connect_tcp;
using sley_test::eventually;
using sley_test::let_others_run;
using sley_test::random_source;
using sley_test::read_error;
using sley_test::read_exactly;
using sley_test::read_to_end;
using sley_test::rounds;
using sley_test::tcp_pair;
using namespace std::chrono_literals;

namespace {

// While it lives, a goroutine sets deadlines: some just past, some soon, and at its end none.
class changing_deadlines {
 public:
  template <class Set>
  explicit changing_deadlines(Set set) {
    setter_.go([this, set] {
      random_source random(1);
      while (!stop_) {
        const auto soon = std::chrono::microseconds(random.below(300)) - 50us;
        set(random.one_in(2) ? sley::time_point::max() : std::chrono::steady_clock::now() + soon);
        sley::this_goroutine::sleep_for(std::chrono::microseconds(random.below(100)));
      }
      set(sley::time_point::max());
    });
  }
  ~changing_deadlines() {
    stop_ = true;
    setter_.wait();
  }
  changing_deadlines(const changing_deadlines&) = delete;
  changing_deadlines& operator=(const changing_deadlines&) = delete;

 private:
  std::atomic<bool> stop_{false};
  wait_group setter_;
};

}  // namespace

GO_TEST(tcp, carries_bytes_both_ways) {
  const tcp_pair c = connect_tcp();
  c.client.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(c.server, 5), "hello");
  c.server.write_all(bytes_of("world"));
  EXPECT_EQ(read_exactly(c.client, 5), "world");
  EXPECT_EQ(c.client.remote(), c.server.local());
  EXPECT_EQ(c.client.local(), c.server.remote());
}

// G20.
GO_TEST(tcp, reads_all_bytes_before_the_end_of_the_stream) {
  tcp_pair c = connect_tcp();
  c.client.write_all(bytes_of("last words"));
  c.client.close();
  EXPECT_EQ(read_to_end(c.server), "last words");
  EXPECT_EQ(read_to_end(c.server), "");  // as often as one likes
}

// G20.
GO_TEST(tcp, a_read_without_room_is_not_the_end) {
  sley_test::expect_a_read_without_room_is_not_the_end(connect_tcp());
}

GO_TEST(tcp, half_closes) { sley_test::expect_half_closes(connect_tcp()); }

GO_TEST(tcp, read_exactly_tells_a_stream_that_ends_too_soon) {
  sley_test::expect_read_exactly_tells_a_stream_that_ends_too_soon(connect_tcp());
}

// The data and the end come before the reader looks for the first time, and at every other moment.
GO_TEST(tcp, never_misses_the_end_behind_the_data) {
  for (int i = 0; i < rounds(300); ++i) {
    tcp_pair c = connect_tcp();
    wait_group group;
    group.go([&] { EXPECT_EQ(read_to_end(c.server), "some bytes"); });
    if (i % 3 != 0) sley::this_goroutine::yield();
    c.client.write_all(bytes_of("some "));
    if (i % 2 == 0) sley::this_goroutine::yield();
    c.client.write_all(bytes_of("bytes"));
    if (i % 5 == 0) sley::this_goroutine::yield();
    c.client.close();
    group.wait();
  }
}

GO_TEST(tcp, a_reset_is_an_error_for_the_reader) {
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] { EXPECT_EQ(read_error(c.server), std::errc::connection_reset); });
  let_others_run();
  c.client.set_linger(0s);
  c.client.close();
  group.wait();
}

// G16. Writing to a peer that has gone is an error, not a signal.
GO_TEST(tcp, a_write_to_a_closed_peer_is_an_error) {
  tcp_pair c = connect_tcp();
  c.server.close();
  std::error_code error;
  EXPECT_TRUE(eventually([&] {
    c.client.write_all(bytes_of("x"), error);
    return bool(error);
  }));
  EXPECT_TRUE(error == std::errc::broken_pipe || error == std::errc::connection_reset) << error;
}

// More than all buffers hold: the writer waits, and nothing is lost.
GO_TEST(tcp, a_writer_waits_for_a_slow_reader) {
  const tcp_pair c = connect_tcp();
  constexpr std::size_t size = 20'000'000;
  std::vector<std::byte> sent(size);
  random_source random;
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&sent[i], &word, 8);
  }
  wait_group group;
  group.go([&] { c.client.write_all(sent); });
  std::vector<std::byte> got(size);
  std::size_t done = 0;
  while (done < size) {
    const std::size_t room = std::min<std::size_t>(1 + random.below(100'000), size - done);
    done += c.server.read_some(std::span(got).subspan(done, room));
    if (random.below(50) == 0) sley::this_goroutine::sleep_for(1ms);
  }
  group.wait();
  EXPECT_TRUE(sent == got);
}

GO_TEST(tcp, gathers_and_scatters) { sley_test::expect_gathers_and_scatters(connect_tcp()); }

// ---- many ----

GO_TEST(tcp, echoes_to_many) {
  constexpr int clients = 64;
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  wait_group group;
  group.go([&] {
    for (int i = 0; i < clients; ++i) {
      group.go([s = listener.accept()] {
        std::array<std::byte, 4096> buffer;
        while (const std::size_t n = s.read_some(buffer)) s.write_all(std::span(buffer).first(n));
      });
    }
  });
  for (int i = 0; i < clients; ++i) {
    group.go([&, i] {
      const tcp_stream s = tcp_stream::connect(listener.local().to_string());
      random_source random(static_cast<std::uint64_t>(i));
      for (int r = 0; r < rounds(200); ++r) {
        const std::string text(1 + random.below(300), static_cast<char>('a' + r % 26));
        s.write_all(bytes_of(text));
        ASSERT_EQ(read_exactly(s, text.size()), text);
      }
    });
  }
  group.wait();
}

// G11. Several readers and writers of one socket: each byte goes to one of them, whatever deadlines
// end the readers' calls.
GO_TEST(tcp, many_share_one_socket) {
  tcp_pair c = connect_tcp();
  constexpr int writers = 5, block = 100;
  const int each = rounds(500);
  wait_group writing, reading;
  for (int w = 0; w < writers; ++w) {
    writing.go([&, w] {
      const std::string text(block, static_cast<char>('a' + w));
      for (int i = 0; i < each; ++i) c.client.write_all(bytes_of(text));
    });
  }
  std::mutex lock;
  std::array<std::size_t, writers> counts{};
  for (int r = 0; r < 5; ++r) {
    reading.go([&] {
      std::array<char, 37> buffer;
      for (bool is_at_end = false; !is_at_end;) {
        std::error_code error;
        const auto n = c.server.read_some(std::as_writable_bytes(std::span(buffer)), error);
        EXPECT_TRUE(!error || (error == std::errc::timed_out && n == 0)) << error;
        is_at_end = n == 0 && !error;
        std::lock_guard guard(lock);
        for (std::size_t i = 0; i < n; ++i) ++counts.at(static_cast<std::size_t>(buffer[i] - 'a'));
      }
    });
  }
  const changing_deadlines deadlines([&](auto when) { c.server.set_read_deadline(when); });
  writing.wait();
  c.client.shutdown_write();
  reading.wait();
  for (const std::size_t count : counts)
    EXPECT_EQ(count, std::size_t{block} * static_cast<std::size_t>(each));
}

// G3. A write_all keeps its turn until all is written, though it waits for room in the middle.
GO_TEST(tcp, whole_messages_of_many_writers_do_not_mix) {
  const tcp_pair c = connect_tcp();
  c.client.set_write_buffer(16 * 1024);
  constexpr std::size_t writers = 8, size = 64 * 1024;
  const std::size_t each = rounds(30);
  wait_group writing;
  for (std::size_t w = 0; w < writers; ++w) {
    writing.go([&, w] {
      const std::string message(size, static_cast<char>('a' + w));
      for (std::size_t i = 0; i < each; ++i) c.client.write_all(bytes_of(message));
    });
  }
  std::array<std::size_t, writers> counts{};
  for (std::size_t i = 0; i < writers * each; ++i) {
    const std::string message = read_exactly(c.server, size);
    EXPECT_EQ(message.find_first_not_of(message[0]), std::string::npos) << "message " << i;
    ++counts.at(static_cast<std::size_t>(message[0] - 'a'));
  }
  writing.wait();
  for (const std::size_t count : counts) EXPECT_EQ(count, each);
}

namespace {

using lengths = std::vector<std::size_t>;

// How long each run of equal letters is, by letter; small and capital ones are different.
std::vector<lengths> runs_in(const std::string& text, std::size_t letters) {
  std::vector<lengths> runs(letters);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(text[at], at), text.size());
    runs.at(static_cast<std::size_t>(text[at] | 0x20) - 'a').push_back(end - at);
    at = end;
  }
  return runs;
}

}  // namespace

// G3, G11. What a write_all has written when a deadline ends it stays together as well, and it says
// how much that is. A writer's calls have small and capital letters in turn: each is a run.
GO_TEST(tcp, writes_that_deadlines_cut_short_do_not_mix) {
  const tcp_pair c = connect_tcp();
  c.client.set_write_buffer(8 * 1024);
  constexpr std::size_t writers = 5, size = 20'000;
  std::vector<lengths> written(writers);
  wait_group writing;
  for (std::size_t w = 0; w < writers; ++w) {
    writing.go([&, w] {
      while (written[w].size() < static_cast<std::size_t>(rounds(100))) {
        const bool is_small = written[w].size() % 2 == 0;
        const std::string message(size, static_cast<char>((is_small ? 'a' : 'A') + w));
        std::error_code error;
        const std::size_t n = c.client.write_all(bytes_of(message), error);
        EXPECT_TRUE(error ? error == std::errc::timed_out && n < size : n == size) << error;
        if (n != 0) written[w].push_back(n);
        if (n == 0) sley::this_goroutine::yield();
      }
    });
  }
  std::string all;
  wait_group reading;
  reading.go([&] { all = read_to_end(c.server); });
  {
    const changing_deadlines deadlines([&](auto when) { c.client.set_write_deadline(when); });
    writing.wait();
  }
  c.client.shutdown_write();
  reading.wait();
  const auto read = runs_in(all, writers);
  for (std::size_t w = 0; w < writers; ++w) EXPECT_EQ(read[w], written[w]) << "writer " << w;
}

// ---- foreign threads ----

FOREIGN_TEST(tcp, threads_of_the_users_wait_as_threads) {
  const tcp_pair c = connect_tcp();
  std::thread other([&] {
    EXPECT_EQ(read_exactly(c.server, 5), "hello");
    c.server.write_all(bytes_of("world"));
  });
  std::this_thread::sleep_for(5ms);
  c.client.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(c.client, 5), "world");
  other.join();
  c.server.set_read_deadline(std::chrono::steady_clock::now() + 5ms);
  EXPECT_EQ(read_error(c.server), std::errc::timed_out);
}
