// Aim: wherever a context ends a wait for a descriptor, no byte and no datagram is lost or doubled,
// and every kind of wait, of goroutines for each other as well, ends within 50 ms of its context.
// Method: contexts end at random points while numbered bytes and datagrams go over; and waits for
// what never comes, whose lateness is compared with how long the threads had no CPU.
#include "support/harness.hpp"
#include "support/io_waits.hpp"
#include "support/short_context.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using sley::context;
using sley_test::io_wait;
using sley_test::io_world;
using sley_test::random_source;
using sley_test::rounds;
using sley_test::short_context;
using namespace std::chrono_literals;

namespace {

std::byte numbered(std::size_t i) { return static_cast<std::byte>(i % 251); }

// Reads or writes, with the context as an argument or bound to the stream for the call.
template <class Stream, class Operation>
std::size_t with_context(const Stream& s, bool is_bound, const context& ctx,
                         const Operation& operation) {
  std::error_code error;
  if (!is_bound) return operation(ctx, error);
  s.set_context(ctx);
  const std::size_t n = operation(error);
  s.set_context({});
  return n;
}

// One goroutine for each side of each stream, because bytes are in order.
template <class Stream>
void expect_all_bytes_come(const Stream& writer, const Stream& reader, std::uint64_t seed) {
  const auto total = static_cast<std::size_t>(rounds(200'000));
  sley::wait_group group;
  group.go([&] {
    random_source random(seed);
    std::vector<std::byte> bytes(9000);
    for (std::size_t sent = 0; sent < total;) {
      const short_context ctx(random);
      const std::size_t size = std::min(total - sent, 1 + random.below(bytes.size()));
      for (std::size_t i = 0; i < size; ++i) bytes[i] = numbered(sent + i);
      sent += with_context(writer, random.one_in(2), ctx.get(), [&](auto&... with) {
        return writer.write_all(std::span<const std::byte>(bytes).first(size), with...);
      });
    }
  });
  group.go([&] {
    random_source random(seed + 1);
    std::vector<std::byte> bytes(9000);
    for (std::size_t got = 0; got < total;) {
      const short_context ctx(random);
      const auto room = std::span(bytes).first(1 + random.below(bytes.size()));
      const std::size_t n = with_context(reader, random.one_in(2), ctx.get(), [&](auto&... with) {
        return reader.read_some(room, with...);
      });
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(bytes[i], numbered(got + i)) << got + i;
      got += n;
    }
  });
  group.wait();
}

}  // namespace

GO_TEST(io_context_storm, no_byte_is_lost_or_doubled) {
  const sley_test::tcp_pair tcp = sley_test::connect_tcp();
  const auto local = sley::net::unix_stream::pair();
  const sley::os::pipe_ends pipe = sley::os::pipe();
  sley::wait_group group;
  group.go([&] { expect_all_bytes_come(tcp.client, tcp.server, 1); });
  group.go([&] { expect_all_bytes_come(tcp.server, tcp.client, 3); });
  group.go([&] { expect_all_bytes_come(local.first, local.second, 5); });
  group.go([&] { expect_all_bytes_come(pipe.writer, pipe.reader, 7); });
  group.wait();
}

// Several readers and writers of one socket, most of which wait in line.
GO_TEST(io_context_storm, no_datagram_is_lost_or_doubled) {
  constexpr int peers = 4;
  const int count = rounds(2000);
  const auto ends = sley::net::unix_datagram::pair();
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(peers * count));
  std::atomic<int> left = peers * count;
  sley::wait_group group;
  for (int p = 0; p < peers; ++p) {
    group.go([&, p] {
      random_source random(static_cast<std::uint64_t>(p));
      for (int i = 0; i < count;) {
        const short_context ctx(random);
        const int value = p * count + i;
        std::error_code error;
        ends.first.send(std::as_bytes(std::span(&value, 1)), ctx.get(), error);
        if (!error) ++i;
      }
    });
    group.go([&, p] {
      random_source random(static_cast<std::uint64_t>(100 + p));
      while (left > 0) {
        const auto [ctx, cancel] =
            sley::with_timeout({}, std::chrono::microseconds(random.below(500)));
        int value = -1;
        std::error_code error;
        ends.second.receive(std::as_writable_bytes(std::span(&value, 1)), ctx, error);
        if (error) continue;
        ++seen[static_cast<std::size_t>(value)];
        --left;
      }
    });
  }
  group.wait();
  for (const std::atomic<int>& times : seen) ASSERT_EQ(times, 1);
}

// Binding, ending, closing and waiting at once: every wait ends, and with a reason.
GO_TEST(io_context_storm, binding_closing_and_waiting_at_once) {
  random_source random;
  for (int i = 0; i < rounds(400); ++i) {
    auto ends = sley::net::unix_stream::pair();
    sley::wait_group group;
    for (std::uint64_t g = 0; g < 3; ++g) {
      group.go([&, seed = random()] {
        random_source own(seed);
        for (int n = 0; n < 5; ++n) {
          const short_context ctx(own);
          ends.first.set_context(ctx.get());
          if (own.one_in(2)) sley::this_goroutine::yield();
        }
      });
      group.go([&] {
        std::byte b{};
        std::error_code error;
        while (ends.first.is_open()) {
          EXPECT_EQ(ends.first.read_some({&b, 1}, error), 0U);
          EXPECT_TRUE(error == std::errc::operation_canceled || error == std::errc::timed_out);
          sley::this_goroutine::yield();
        }
      });
    }
    group.go([&, yields = random.below(60)] {
      for (std::uint64_t n = 0; n < yields; ++n) sley::this_goroutine::yield();
      ends.first.close();
    });
    group.wait();
  }
}

// ---- how late ----

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// How long the threads of this process were ready to run and had no CPU, all together. Zero if the
// kernel does not tell.
nanoseconds waited_for_cpus() {
  std::int64_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream figures(task.path() / "schedstat");  // one that has ended meanwhile is not there
    std::int64_t ran = 0, waited = 0;
    if (figures >> ran >> waited) sum += waited;
  }
  return nanoseconds(sum);
}

// Waits of goroutines for each other, none of which ends by itself.
class sync_world {
 public:
  sync_world() {
    full_.send(1);
    lock_.lock();
    shared_.lock_shared();
    read_.lock();
    group_.add(1);
  }
  ~sync_world() {
    lock_.unlock();
    shared_.unlock_shared();
    read_.unlock();
    group_.done();
  }
  sync_world(const sync_world&) = delete;
  sync_world& operator=(const sync_world&) = delete;

  std::vector<io_wait> waits() {
    using errors = std::error_code;
    return {
        wait("sleep",
             [](const context& c, errors& e) { sley::this_goroutine::sleep_for(1h, c, e); }),
        wait("receive", [this](const context& c, errors& e) { empty_.receive(c, e); }),
        wait("send", [this](const context& c, errors& e) { full_.send(2, c, e); }),
        wait("lock", [this](const context& c, errors& e) { lock_.lock(c, e); }),
        wait("exclusive lock", [this](const context& c, errors& e) { shared_.lock(c, e); }),
        wait("shared lock", [this](const context& c, errors& e) { read_.lock_shared(c, e); }),
        wait("semaphore", [this](const context& c, errors& e) { units_.acquire(c, e); }),
        wait("group", [this](const context& c, errors& e) { group_.wait(c, e); }),
        wait("latch", [this](const context& c, errors& e) { latch_.wait(c, e); }),
        wait("future", [this](const context& c, errors& e) { future_.wait(c, e); }),
        wait("condition",
             [this](const context& c, errors& e) {
               std::unique_lock held(guard_);
               changed_.wait(held, c, e);
             }),
    };
  }

 private:
  static io_wait wait(const char* name,
                      std::function<void(const context&, std::error_code&)> begin) {
    io_wait one;
    one.name = name;
    one.begin_with = std::move(begin);
    return one;
  }

  sley::chan<int> empty_, full_ = sley::chan<int>(1);
  sley::mutex lock_, guard_;
  sley::shared_mutex shared_, read_;
  sley::counting_semaphore<> units_{0};
  sley::wait_group group_;
  sley::latch latch_{1};
  sley::promise<int> promise_;
  sley::future<int> future_ = promise_.get_future();
  sley::condition_variable changed_;
};

// Waits once, with a context that ends within 2 ms. Returns how late after that.
nanoseconds wait_once(const io_wait& one, random_source& random) {
  const bool by_deadline = random.one_in(2);
  const auto after = std::chrono::microseconds(random.below(2000));
  const auto when = clock_type::now() + after;
  const auto [ctx, cancel] =
      by_deadline ? sley::with_deadline({}, when) : sley::with_cancel(context());
  std::atomic<clock_type::rep> ended_at = when.time_since_epoch().count();
  sley::wait_group ending;
  if (!by_deadline) {
    ending.go([&, end = cancel] {
      sley::this_goroutine::sleep_until(when);
      ended_at = clock_type::now().time_since_epoch().count();
      end();
    });
  }
  std::error_code error;
  const bool is_bound = one.bind != nullptr && random.one_in(2);
  if (is_bound) {
    one.bind(ctx);
    one.begin(error);
  } else {
    one.begin_with(ctx, error);
  }
  const auto returned = clock_type::now().time_since_epoch();
  EXPECT_EQ(error, ctx.error()) << one.name;
  EXPECT_TRUE(error) << one.name;
  ending.wait();
  if (is_bound) one.bind({});
  return returned - nanoseconds(ended_at);
}

}  // namespace

GO_TEST(io_context_storm, every_wait_ends_within_50_ms_of_its_context) {
  io_world descriptors;
  sync_world objects;
  std::vector<io_wait> waits = descriptors.waits();
  for (io_wait& one : objects.waits()) waits.push_back(std::move(one));
  std::vector<nanoseconds> latest(waits.size());
  const nanoseconds before = waited_for_cpus();
  sley::wait_group group;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    group.go([&, i] {
      random_source random(i);
      for (int n = 0; n < rounds(100); ++n) {
        latest[i] = std::max(latest[i], wait_once(waits[i], random));
      }
    });
  }
  group.wait();
  const nanoseconds without_cpu = waited_for_cpus() - before;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    EXPECT_LT(latest[i], 50ms + without_cpu)
        << waits[i].name << ", while threads had no CPU for " << without_cpu.count() << " ns";
  }
}
