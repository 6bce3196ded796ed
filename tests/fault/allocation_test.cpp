// Memory that runs out at any place: each scenario is run again and again, and the k-th call of
// operator new in it fails, for k = 1, 2, ... until it comes to its end without a failure. Each
// time std::bad_alloc (or std::errc::not_enough_memory) reaches the caller, no allocated memory is
// lost, no goroutine stays behind, and the same scenario runs through right after it: so no lock
// was left held and nothing half done.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/memory.hpp"

#include <sley/context.hpp>
#include <sley/goroutine_local.hpp>
#include <sley/net.hpp>
#include <sley/object_pool.hpp>
#include <sley/os.hpp>
#include <sley/signal.hpp>
#include <sley/single_flight.hpp>
#include <sley/sync.hpp>
#include <sley/time.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

using sley::chan;
using sley::context;
using sley::wait_group;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::open_descriptors;
using namespace std::chrono_literals;

// --- an operator new that fails when it is told to -----------------------------------------------

namespace {

std::atomic<long> calls_left{0};  // the one that makes it 0 fails; below 0 none does
std::atomic<bool> counts_down{false};
std::atomic<long> alive{0};  // allocations by goroutines; threads come and go with their own

bool is_to_fail() noexcept { return counts_down && --calls_left == 0; }

// In front of what is allocated, and of its alignment's size.
struct header {
  void* start;
  bool is_counted;
};
constexpr std::size_t least_alignment = 16;
static_assert(sizeof(header) <= least_alignment);

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (is_to_fail()) return nullptr;
  const std::size_t front = alignment < least_alignment ? least_alignment : alignment;
  void* start = std::aligned_alloc(front, (front + bytes + front - 1) / front * front);
  if (start == nullptr) return nullptr;
  const bool is_counted = sley::this_goroutine::id() != 0;
  if (is_counted) ++alive;
  char* place = static_cast<char*>(start) + front;
  ::new (place - sizeof(header)) header{start, is_counted};
  return place;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* place = allocate(bytes == 0 ? 1 : bytes, alignment);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

void give_back(void* place) noexcept {
  if (place == nullptr) return;
  const header h = *reinterpret_cast<header*>(static_cast<char*>(place) - sizeof(header));
  if (h.is_counted) --alive;
  std::free(h.start);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 0); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 0);
}
void operator delete(void* place) noexcept { give_back(place); }
void operator delete[](void* place) noexcept { give_back(place); }
void operator delete(void* place, std::size_t) noexcept { give_back(place); }
void operator delete[](void* place, std::size_t) noexcept { give_back(place); }
void operator delete(void* place, std::align_val_t) noexcept { give_back(place); }
void operator delete[](void* place, std::align_val_t) noexcept { give_back(place); }
void operator delete(void* place, std::size_t, std::align_val_t) noexcept { give_back(place); }
void operator delete[](void* place, std::size_t, std::align_val_t) noexcept { give_back(place); }
void operator delete(void* place, const std::nothrow_t&) noexcept { give_back(place); }
void operator delete[](void* place, const std::nothrow_t&) noexcept { give_back(place); }

// --- the walk ------------------------------------------------------------------------------------

namespace {

// f, which may find that there is no memory; goroutines of scenarios do all they do in this.
template <class F>
bool has_memory_for(F&& f) {
  try {
    f();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::system_error& e) {
    counts_down = false;
    EXPECT_EQ(e.code(), std::errc::not_enough_memory) << e.what();
    return false;
  }
}

// Goroutines of a scenario; before it waits for them, `finish` is called, that they end.
template <class Finish>
class crew {
 public:
  explicit crew(Finish finish) : finish_(std::move(finish)) {}
  ~crew() {
    finish_();
    group_.wait();
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  template <class F>
  void go(F f) {
    group_.go([f] { has_memory_for(f); });
  }

 private:
  Finish finish_;
  wait_group group_;
};

struct possessions {
  long allocations = alive;
  std::size_t goroutines = sley::runtime::num_goroutines();
  bool operator==(const possessions&) const = default;
};

void expect_settles_at(const possessions& before, long k) {
  if (eventually([&] { return possessions() == before; })) return;
  const possessions now;
  ADD_FAILURE() << "after failure " << k << " there are " << now.allocations << " allocations and "
                << now.goroutines << " goroutines instead of " << before.allocations << " and "
                << before.goroutines;
}

// The scenario, with the k-th allocation failing. False: it has made fewer.
bool fail_at(long k, void (*scenario)()) {
  calls_left = k;
  counts_down = true;
  has_memory_for(scenario);
  counts_down = false;
  return calls_left <= 0;
}

void expect_survives_each_failure(void (*scenario)()) {
  const std::size_t goroutines = sley::runtime::num_goroutines();
  for (int i = 0; i < 3; ++i) scenario();  // what is made once, and caches
  EXPECT_TRUE(eventually([&] { return sley::runtime::num_goroutines() == goroutines; }));
  sley_test::let_others_run();
  const possessions before;
  const auto descriptors = open_descriptors();
  constexpr long far_too_many = 5000;
  long k = 1;
  for (; k < far_too_many && fail_at(k, scenario); ++k) {
    expect_settles_at(before, k);
    EXPECT_TRUE(has_memory_for(scenario)) << "after failure " << k;
    expect_settles_at(before, k);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(k, 1) << "it allocates nothing";
  EXPECT_LT(k, far_too_many);
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; }));
}

const std::string long_text(100, 'x');

}  // namespace

// --- scenarios -----------------------------------------------------------------------------------

GO_TEST(allocation_failures, of_channels_and_their_values) {
  expect_survives_each_failure([] {
    const chan<std::string> c(2);
    crew receivers([&c] { c.close(); });
    for (int i = 0; i < 2; ++i) {
      receivers.go([c] {
        for (const std::string& s : c) EXPECT_EQ(s, long_text);
      });
    }
    for (int i = 0; i < 4; ++i) c.send(long_text);
    (void)c.try_send_for(std::string(long_text), 1ns);
  });
}

GO_TEST(allocation_failures, of_selects) {
  expect_survives_each_failure([] {
    const chan<std::string> c(1);
    const chan<void> never;
    sley::select(sley::on_send(c, long_text), sley::on_receive(never));
    sley::select_set set;
    set.add_receive(c, [](std::optional<std::string> s) { EXPECT_EQ(s, long_text); });
    set.add_send(never);
    set.add_timeout(1h);
    EXPECT_EQ(set.wait(), 0u);
    EXPECT_EQ(set.try_wait(), std::nullopt);
    sley::select(sley::on_receive(never), sley::on_timeout(1us));
  });
}

GO_TEST(allocation_failures, of_goroutines_and_futures) {
  expect_survives_each_failure([] {
    crew all([] {});
    for (int i = 0; i < 3; ++i) all.go([text = long_text] { EXPECT_EQ(text, long_text); });
    auto result = sley::async([] { return std::string(long_text); });
    sley::promise<std::string> promise;
    auto promised = promise.get_future();
    sley::go({.name = "named", .stack_size = 64 << 10}, [] {});
    promise.set_value(long_text);
    EXPECT_EQ(promised.get(), long_text);
    EXPECT_EQ(result.get(), long_text);
  });
}

GO_TEST(allocation_failures, of_contexts) {
  expect_survives_each_failure([] {
    auto [above, cancel] = sley::with_cancel_cause(context::background());
    const crew nobody([end = cancel] { end(nullptr); });  // a registered function holds a context
    auto [below, stop] = sley::with_timeout(above, 1h);
    const context with = sley::with_value(below, "key", long_text);
    auto [late, end] = sley::with_timeout(with, 1us);
    const auto token = with.stop_token();
    const chan<void> called(1);
    const auto callback = sley::after_func(with, [called] { called.send(); });
    late.done().receive();
    cancel(nullptr);
    with.done().receive();
    EXPECT_TRUE(token.stop_requested());
    called.receive();
  });
}

GO_TEST(allocation_failures, of_timers) {
  expect_survives_each_failure([] {
    sley::timer timer(1h);
    timer.reset(1us);
    timer.channel().receive();
    sley::ticker ticker(50us);
    ticker.channel().receive();
    sley::after(1us).receive();
    const chan<void> called(1);
    const sley::timer function = sley::after_func(1us, [called] { called.send(); });
    called.receive();
    sley::this_goroutine::sleep_for(1us);
  });
}

GO_TEST(allocation_failures, of_memory_that_goroutines_share) {
  expect_survives_each_failure([] {
    sley::object_pool<std::string> pool([] { return std::make_unique<std::string>(long_text); });
    EXPECT_EQ(*pool.get(), long_text);
    sley::pool<std::string> bounded(
        {.make = [](const context&) { return std::string(long_text); }, .idle_time = 1h});
    EXPECT_EQ(*bounded.acquire(), long_text);
    EXPECT_EQ(*bounded.acquire(), long_text);
    EXPECT_EQ(bounded.in_use(), 0U);
    sley::single_flight<std::string, std::string> flights;
    EXPECT_EQ(flights.do_(long_text, [] { return std::string(long_text); }), long_text);
    sley::goroutine_local<std::string> local([] { return std::string(long_text); });
    EXPECT_EQ(local.get(), long_text);
    const auto once = sley::once_value([] { return std::string(long_text); });
    EXPECT_EQ(once(), long_text);
    sley::once_flag flag;
    sley::call_once(flag, [] { return std::string(long_text); });
  });
}

GO_TEST(allocation_failures, of_connections_by_number) {
  expect_survives_each_failure([] {
    const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    const auto client = sley::net::tcp_stream::connect(listener.local().to_string());
    const auto server = listener.accept();
    crew writers([] {});
    writers.go([&server] { server.write_all(bytes_of(long_text)); });
    server.set_deadline(sley::time_point::clock::now() + 1h);
    client.write_all(bytes_of("x"));
  });
}

GO_TEST(allocation_failures, of_connections_by_name) {
  expect_survives_each_failure([] {
    const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    const auto [ctx, cancel] = sley::with_timeout(context::background(), 1h);
    const std::string port = std::to_string(listener.local().port());
    sley::net::tcp_stream::connect("localhost:" + port, ctx);
  });
}

GO_TEST(allocation_failures, of_other_sockets) {
  expect_survives_each_failure([] {
    const auto name = "@sley-fault-" + std::to_string(::getpid());
    const auto listener = sley::net::unix_listener::listen(name);
    const auto client = sley::net::unix_stream::connect(name);
    const auto server = listener.accept();
    const auto receiver = sley::net::udp_socket::bind("127.0.0.1:0");
    const auto sender = sley::net::udp_socket::connect(receiver.local().to_string());
    sender.send(bytes_of(long_text));
    std::array<std::byte, 200> buffer;
    EXPECT_EQ(receiver.receive(buffer), long_text.size());
  });
}

GO_TEST(allocation_failures, of_files_and_pipes) {
  expect_survives_each_failure([] {
    const sley::os::pipe_ends ends = sley::os::pipe();
    const auto file = sley::os::file::open("/proc/self/../self/../self/comm", 0);
    EXPECT_GT(sley::net::copy(file, ends.writer, 1), 0u);
  });
}

namespace {

// The error of a context, or std::bad_alloc.
template <class Operation>
void expect_ended(const Operation& operation) {
  try {
    operation();
    ADD_FAILURE() << "nothing has come";
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::not_enough_memory) throw std::bad_alloc();
    EXPECT_EQ(e.code(), sley::context_errc::deadline_exceeded);
  }
}

}  // namespace

// Each wait is given up by its context, or because there is no memory for the context's hook; the
// descriptor is whole after that.
GO_TEST(allocation_failures, of_waits_that_contexts_end) {
  expect_survives_each_failure([] {
    const sley::os::pipe_ends ends = sley::os::pipe();
    const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    std::array<std::byte, 1> byte;
    const auto [ctx, cancel] = sley::with_timeout(context::background(), 100us);
    expect_ended([&, c = ctx] { ends.reader.read_some(byte, c); });
    const auto [later, end] = sley::with_timeout(context::background(), 100us);
    listener.set_context(later);
    expect_ended([&] { listener.accept(); });
    listener.set_context(context::background());
    EXPECT_EQ(sley::select(sley::os::on_ready(ends.writer, sley::os::poll_events::writable),
                           sley::os::on_ready(ends.reader, sley::os::poll_events::readable)),
              0U);
    ends.writer.write_all("x");
    EXPECT_EQ(ends.reader.read_some(byte, later.error() ? context::background() : later), 1U);
  });
}

// What is written to both outputs is kept in memory, by two goroutines.
GO_TEST(allocation_failures, of_processes) {
  expect_survives_each_failure([] {
    const auto result =
        sley::os::run({.program = "sh", .arguments = {"-c", "cat; echo " + long_text + " >&2"}},
                      {.input = long_text});
    EXPECT_EQ(result.output, long_text);
    EXPECT_EQ(result.errors, long_text + "\n");
  });
}

GO_TEST(allocation_failures, of_signals) {
  expect_survives_each_failure([] {
    const chan<int> came(1);
    struct stopper {
      const chan<int>& channel;
      ~stopper() { sley::os::stop_notify(channel); }
    } const guard{came};
    sley::os::notify(came, SIGUSR1);
    ::kill(::getpid(), SIGUSR1);
    EXPECT_EQ(came.receive(), SIGUSR1);
    const auto [ctx, cancel] = sley::os::notify_context(context::background(), SIGUSR2);
    const crew nobody([end = cancel] { end(); });
    ::kill(::getpid(), SIGUSR2);
    ctx.done().receive();
  });
}

// A signal keeps its meaning while the notification for it fails. Here the signal is ignored.
GO_TEST(allocation_failures, of_a_notification_change_nothing) {
  sley::os::ignore_signal(SIGUSR1);
  const chan<int> came(100);
  for (long k = 1;; ++k) {  // ends: there are as many allocations as there are
    calls_left = k;
    counts_down = true;
    const bool is_notified = has_memory_for([&] { sley::os::notify(came, SIGUSR1); });
    counts_down = false;
    if (is_notified) break;
    ::kill(::getpid(), SIGUSR1);
    sley_test::let_others_run();
    EXPECT_EQ(came.size(), 0u) << "after failure " << k;
  }
  ::kill(::getpid(), SIGUSR1);
  EXPECT_EQ(came.receive(), SIGUSR1);
  EXPECT_EQ(came.size(), 0u) << "it is there more than once";
  sley::os::stop_notify(came);
  sley::os::reset_signal(SIGUSR1);
}
