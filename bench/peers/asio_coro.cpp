// Asio without Boost: C++20 coroutines without stacks on an io_context that the threads share. Its
// channels come from asio::experimental.
#include "peer.hpp"

#define ASIO_STANDALONE
#include <asio.hpp>
#include <asio/experimental/concurrent_channel.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace bench {

namespace {

using asio::awaitable;
using asio::use_awaitable;
using tcp = asio::ip::tcp;
using int_chan = asio::experimental::concurrent_channel<void(asio::error_code, std::int64_t)>;

int thread_count = 1;

void run(asio::io_context& context) {
  std::vector<std::thread> others;
  for (int i = 1; i < thread_count; ++i) others.emplace_back([&] { context.run(); });
  context.run();
  for (std::thread& t : others) t.join();
  context.restart();
}

void start(asio::io_context& context, awaitable<void> body) {
  asio::co_spawn(context, std::move(body), [](const std::exception_ptr& e) {
    check(e == nullptr, "a coroutine ended by an exception");
  });
}

awaitable<void> send(int_chan& c, std::int64_t v) {
  co_await c.async_send(asio::error_code(), v, use_awaitable);
}

awaitable<void> nothing() { co_return; }

outcome spawn_join_batch(int n) {
  constexpr int batch = 1000;
  const int rounds = std::max(1, n / batch);
  asio::io_context context(thread_count);
  return timed(std::int64_t{rounds} * batch, [&] {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < batch; ++i) start(context, nothing());
      run(context);
    }
  });
}

awaitable<void> yield_often(int times) {
  const auto executor = co_await asio::this_coro::executor;
  for (int i = 0; i < times; ++i) co_await asio::post(executor, use_awaitable);
}

outcome yield1000(int n) {
  constexpr int count = 1000;
  const int each = std::max(1, n / count);
  asio::io_context context(thread_count);
  return timed(std::int64_t{count} * each, [&] {
    for (int i = 0; i < count; ++i) start(context, yield_often(each));
    run(context);
  });
}

awaitable<void> ask(int_chan& a, int_chan& b, int n) {
  std::int64_t v = 0;
  for (int i = 0; i < n; ++i) {
    co_await a.async_send(asio::error_code(), v, use_awaitable);
    v = co_await b.async_receive(use_awaitable);
  }
  check(v == n, "pingpong count");
}

awaitable<void> answer(int_chan& a, int_chan& b, int n) {
  for (int i = 0; i < n; ++i) {
    const std::int64_t v = co_await a.async_receive(use_awaitable);
    co_await b.async_send(asio::error_code(), v + 1, use_awaitable);
  }
}

outcome pingpong_unbuf(int n) {
  asio::io_context context(thread_count);
  int_chan a(context), b(context);
  return timed(n, [&] {
    start(context, answer(a, b, n));
    start(context, ask(a, b, n));
    run(context);
  });
}

awaitable<void> produce(int_chan& c, int n) {
  for (std::int64_t i = 0; i < n; ++i) co_await c.async_send(asio::error_code(), i, use_awaitable);
}

awaitable<void> consume(int_chan& c, int n) {
  std::int64_t sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await c.async_receive(use_awaitable);
  check(sum == sum_below(n), "sum");
}

outcome chan_prodcons_buf128(int n) {
  asio::io_context context(thread_count);
  int_chan c(context, 128);
  return timed(n, [&] {
    start(context, produce(c, n));
    start(context, consume(c, n));
    run(context);
  });
}

awaitable<void> forward(asio::io_context& context, int_chan& in, int_chan& out, bool& is_last) {
  for (;;) {
    const std::int64_t token = co_await in.async_receive(use_awaitable);
    if (token == 0) {
      is_last = true;
      context.stop();  // the others wait for ever
      co_return;
    }
    co_await out.async_send(asio::error_code(), token - 1, use_awaitable);
  }
}

outcome threadring503(int n) {
  constexpr std::size_t size = 503;
  asio::io_context context(thread_count);
  std::vector<std::unique_ptr<int_chan>> ring;
  for (std::size_t i = 0; i < size; ++i) ring.push_back(std::make_unique<int_chan>(context));
  std::array<bool, size> is_last{};
  for (std::size_t i = 0; i < size; ++i) {
    start(context, forward(context, *ring[i], *ring[(i + 1) % size], is_last[i]));
  }
  return timed(n, [&] {
    start(context, send(*ring[0], n));
    run(context);
    check(is_last[static_cast<std::size_t>(n) % size], "ring position");
  });
}

using message = std::array<std::uint8_t, 64>;

awaitable<void> echo(tcp::socket s) {
  message m;
  asio::error_code error;
  for (;;) {
    co_await asio::async_read(s, asio::buffer(m), asio::redirect_error(use_awaitable, error));
    if (error) co_return;
    co_await asio::async_write(s, asio::buffer(m), asio::redirect_error(use_awaitable, error));
    if (error) co_return;
  }
}

awaitable<void> ask_peer(tcp::socket s, std::uint8_t who, int times) {
  message out{}, in;
  for (int i = 0; i < times; ++i) {
    out.front() = static_cast<std::uint8_t>(i);
    out.back() = who;
    co_await asio::async_write(s, asio::buffer(out), use_awaitable);
    co_await asio::async_read(s, asio::buffer(in), use_awaitable);
    check(in.front() == out.front() && in.back() == out.back(), "echo");
  }
}

outcome tcp_echo(int n) {
  constexpr int connections = 64;
  const int each = std::max(1, n / connections);
  asio::io_context context(thread_count);
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  for (int i = 0; i < connections; ++i) {
    tcp::socket client(context);
    client.connect(acceptor.local_endpoint());
    tcp::socket server = acceptor.accept();
    client.set_option(tcp::no_delay(true));
    server.set_option(tcp::no_delay(true));
    start(context, echo(std::move(server)));
    start(context, ask_peer(std::move(client), static_cast<std::uint8_t>(i), each));
  }
  return timed(std::int64_t{each} * connections, [&] { run(context); });
}

constexpr workload rows[] = {
    {"spawn_join_batch", 500'000, 50'000, spawn_join_batch},
    {"yield1000", 5'000'000, 100'000, yield1000},
    {"pingpong_unbuf", 500'000, 50'000, pingpong_unbuf},
    {"chan_prodcons_buf128", 2'000'000, 200'000, chan_prodcons_buf128},
    {"threadring503", 1'000'000, 100'000, threadring503},
    {"tcp_echo", 400'000, 20'000, tcp_echo},
};

}  // namespace

std::span<const workload> peer_rows() { return rows; }

void run_on_peer(int threads, const std::function<void()>& body) {
  thread_count = threads;
  body();
}

}  // namespace bench
