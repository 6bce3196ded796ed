// Redis: BLPOP over a pool, and pipelines as redis-benchmark -P 16 has them.
#include "ways.hpp"

#include <sley/redis.hpp>

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

namespace {

namespace redis = sley::redis;

constexpr int pipelined = 16;
constexpr std::chrono::milliseconds pause(20);

struct free_by_hiredis {
  void operator()(redisContext* c) const noexcept { redisFree(c); }
  void operator()(redisReply* r) const noexcept { freeReplyObject(r); }
};
using blocking_connection = std::unique_ptr<redisContext, free_by_hiredis>;
using blocking_reply = std::unique_ptr<redisReply, free_by_hiredis>;

// A command that pushes this many elements.
std::vector<std::string> push_of(int elements) {
  std::vector<std::string> words{"RPUSH", "waits"};
  words.resize(words.size() + static_cast<std::size_t>(elements), "element");
  return words;
}

// Pushes an element for each connection every `pause`, until there was one for each round of each
// task. So a connection waits for `pause` in each BLPOP.
template <class Sleep, class Push>
void push_all(const load& what, Sleep sleep_until, Push push) {
  clock::time_point next = clock::now();
  for (int left = what.total(); left > 0; left -= what.connections) {
    next += pause;
    sleep_until(next);
    push();
  }
}

// Each connection has a goroutine, which sends a pipeline of the same command again and again.
outcome run_pipelines(const char* server, const load& what, redis::words command) {
  std::vector<redis::connection> connections;
  for (int i = 0; i < what.tasks; ++i) {
    connections.push_back(redis::connection::connect({.address = server}));
  }
  redis::pipeline commands;
  for (int i = 0; i < pipelined; ++i) commands.add(command);
  return timed(std::int64_t{pipelined} * what.total(), [&] {
    sley::wait_group all;
    for (redis::connection& c : connections) {
      all.go([&] {
        for (int i = 0; i < what.rounds; ++i) {
          check(c.run(commands).back()->type != REDIS_REPLY_ERROR, "a command");
        }
      });
    }
    all.wait();
  });
}

}  // namespace

outcome redis_waits_in_goroutines(const char* server, const load& what) {
  sley::pool<redis::connection> pool(redis::pooled(
      {.address = server}, {.max = static_cast<std::size_t>(what.connections), .idle_time = {}}));
  fill(pool, what.connections);
  redis::connection pushing = redis::connection::connect({.address = server});
  const std::vector<std::string> texts = push_of(what.connections);
  const std::vector<std::string_view> push(texts.begin(), texts.end());
  return timed(what.total(), [&] {
    sley::wait_group pushes;
    pushes.go([&] {
      push_all(
          what, [](auto when) { sley::this_goroutine::sleep_until(when); },
          [&] { pushing.command(redis::words(push)); });
    });
    in_goroutines(what.tasks, [&] {
      for (int i = 0; i < what.rounds; ++i) {
        check(pool.acquire()->command({"BLPOP", "waits", "0"})->elements == 2, "an element");
      }
    });
    pushes.wait();
  });
}

outcome redis_waits_in_threads(const char* server, const load& what) {
  std::vector<blocking_connection> connections;
  for (int i = 0; i < what.connections + 1; ++i) {
    connections.emplace_back(redisConnectUnix(server));
    check(connections.back() && connections.back()->err == 0, "connecting");
  }
  const blocking_connection pushing = std::move(connections.back());
  connections.pop_back();
  thread_pool<blocking_connection> pool(std::move(connections));
  const std::vector<std::string> texts = push_of(what.connections);
  std::vector<const char*> push;
  for (const std::string& text : texts) push.push_back(text.c_str());
  return timed(what.total(), [&] {
    std::thread pushes([&] {
      push_all(
          what, [](auto when) { std::this_thread::sleep_until(when); },
          [&] {
            const blocking_reply r(static_cast<redisReply*>(redisCommandArgv(
                pushing.get(), static_cast<int>(push.size()), push.data(), nullptr)));
            check(r && r->type == REDIS_REPLY_INTEGER, "a push");
          });
    });
    in_threads(what.tasks, [&] {
      for (int i = 0; i < what.rounds; ++i) {
        pool.with([](const blocking_connection& c) {
          const blocking_reply r(static_cast<redisReply*>(redisCommand(c.get(), "BLPOP waits 0")));
          check(r && r->elements == 2, "an element");
        });
      }
    });
    pushes.join();
  });
}

outcome redis_sets(const char* server, const load& what) {
  return run_pipelines(server, what, {"SET", "key:__rand_int__", "xxx"});
}

outcome redis_gets(const char* server, const load& what) {
  return run_pipelines(server, what, {"GET", "key:__rand_int__"});
}

}  // namespace bench
