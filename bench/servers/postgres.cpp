// PostgreSQL: statements that wait, over a pool, and selects of one row as pgbench -S has them.
#include "ways.hpp"

#include <sley/postgres.hpp>

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

namespace postgres = sley::postgres;

// Three of four statements are the first one.
constexpr const char* sleep_statement = "select pg_sleep(0.01)";
constexpr const char* insert_statement = "insert into waits values ($1::int)";
constexpr const char* table = "create unlogged table if not exists waits (n int); truncate waits";

sley::pool_options<postgres::connection> pool_of(const char* server, int connections) {
  return postgres::pooled({.conninfo = server},
                          {.max = static_cast<std::size_t>(connections), .idle_time = {}});
}

struct finish {
  void operator()(PGconn* c) const noexcept { PQfinish(c); }
  void operator()(PGresult* r) const noexcept { PQclear(r); }
};
using blocking_connection = std::unique_ptr<PGconn, finish>;

void execute(const blocking_connection& c, const char* sql, const char* parameter = nullptr) {
  const int count = parameter == nullptr ? 0 : 1;
  const std::unique_ptr<PGresult, finish> r(
      PQexecParams(c.get(), sql, count, nullptr, &parameter, nullptr, nullptr, 0));
  check(PQresultStatus(r.get()) == PGRES_TUPLES_OK || PQresultStatus(r.get()) == PGRES_COMMAND_OK,
        "a statement");
}

// pgbench's accounts, at scale 1.
constexpr int accounts = 100'000;

// Each connection has a goroutine, which asks again and again. f(connection, number) is the row.
template <class F>
outcome select_rows(const char* server, const load& what, F f) {
  std::vector<postgres::connection> connections;
  for (int i = 0; i < what.tasks; ++i) {
    connections.push_back(postgres::connection::connect({.conninfo = server}));
  }
  return timed(what.total(), [&] {
    sley::wait_group all;
    for (postgres::connection& c : connections) {
      all.go([&] {
        std::minstd_rand random(static_cast<unsigned>(&c - connections.data()) + 1);
        std::uniform_int_distribution<int> any(1, accounts);
        for (int i = 0; i < what.rounds; ++i) {
          check(postgres::rows(*f(c, std::to_string(any(random)))) == 1, "one row");
        }
      });
    }
    all.wait();
  });
}

}  // namespace

outcome postgres_waits_in_goroutines(const char* server, const load& what) {
  sley::pool<postgres::connection> pool(pool_of(server, what.connections));
  fill(pool, what.connections);
  pool.acquire()->execute_script(table);
  return timed(what.total(), [&] {
    in_goroutines(what.tasks, [&] {
      for (int i = 0; i < what.rounds; ++i) {
        i % 4 == 3 ? pool.acquire()->execute(insert_statement, {std::to_string(i)})
                   : pool.acquire()->execute(sleep_statement);
      }
    });
  });
}

outcome postgres_waits_in_threads(const char* server, const load& what) {
  std::vector<blocking_connection> connections;
  for (int i = 0; i < what.connections; ++i) {
    connections.emplace_back(PQconnectdb(server));
    check(PQstatus(connections.back().get()) == CONNECTION_OK, "connecting");
  }
  PQclear(PQexec(connections.front().get(), table));
  thread_pool<blocking_connection> pool(std::move(connections));
  return timed(what.total(), [&] {
    in_threads(what.tasks, [&] {
      for (int i = 0; i < what.rounds; ++i) {
        const std::string number = std::to_string(i);
        pool.with([&](const blocking_connection& c) {
          i % 4 == 3 ? execute(c, insert_statement, number.c_str()) : execute(c, sleep_statement);
        });
      }
    });
  });
}

// As pgbench -S.
outcome postgres_selects(const char* server, const load& what) {
  return select_rows(server, what, [](postgres::connection& c, const std::string& number) {
    return std::move(
        c.execute_script("select abalance from pgbench_accounts where aid = " + number).front());
  });
}

// As pgbench -S -M extended.
outcome postgres_parameters(const char* server, const load& what) {
  return select_rows(server, what, [](postgres::connection& c, const std::string& number) {
    return c.execute("select abalance from pgbench_accounts where aid = $1", {number});
  });
}

}  // namespace bench
