// Hostile arguments of <sley/postgres.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"

#include "adapters/postgres_peer.hpp"

#include <sley/postgres.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#define SLEY_HOSTILE_HEADER hostile_postgres

namespace postgres = sley::postgres;
using sley_hostile::arguments;
using sley_hostile::use;

namespace {

// A server that has done whatever comes.
struct parrot : sley_test::postgres_peer {
  parrot() : postgres_peer(sley_test::say_done) {}
};

postgres::connection connect_to(const parrot& server) {
  return postgres::connection::connect({.conninfo = server.conninfo()});
}

std::vector<std::optional<std::string_view>> extreme_values(arguments& x) {
  std::vector<std::optional<std::string_view>> values = {x.text("value"), std::nullopt};
  values.resize(x.pick<std::size_t>({2, 0, 1, 3, 70'000}), values[0]);
  return values;
}

postgres::connect_options extreme_options(arguments& x, const std::string& conninfo) {
  postgres::connect_options o{.conninfo = conninfo};
  const int which = x.pick<int>({0, 1, 2, 3});
  if (which == 1) o.cancel_limit = x.duration();
  if (which == 2) o.check_after = x.duration();
  if (which == 3) {
    o.check_after = std::chrono::seconds(0);
    o.check_limit = x.duration();
  }
  return o;
}

}  // namespace

CALLS(server_error,
      "postgres::server_error::server_error(string_view statement, string_view severity, "
      "string_view sqlstate, string_view message)") {
  throw postgres::server_error(x.text("select 1"), x.text("ERROR"), x.text("42P01"), x.text("no"));
}
CALLS(execute, "postgres::parameters::parameters(initializer_list<optional<string_view>> list)",
      "postgres::parameters::parameters(span<optional<string_view>> list)",
      "postgres::connection::execute(string_view sql, parameters values, context ctx)") {
  const parrot server;
  postgres::connection c = connect_to(server);
  if (x.pick<bool>({false, true})) {
    c.execute(x.text("select $1"), {x.text("value"), std::nullopt});
  } else {
    c.execute(x.text("select $1"), postgres::parameters(extreme_values(x)));
  }
}
CALLS(execute_error,
      "postgres::connection::execute(string_view sql, parameters values, context ctx, "
      "error_code error)",
      "postgres::connection::execute_script(string_view sql, context ctx, error_code error)") {
  const parrot server;
  postgres::connection c = connect_to(server);
  const auto values = extreme_values(x);
  c.execute(x.text("select $1"), postgres::parameters(values), {}, x.error());
  c.execute_script(x.text("select 1"), {}, x.error());
}
CALLS(execute_script, "postgres::connection::execute_script(string_view sql, context ctx)") {
  const parrot server;
  connect_to(server).execute_script(x.text("select 1"));
}
CALLS(text, "postgres::text(PGresult r, int row, int column)") {
  const parrot server;
  const postgres::result r = connect_to(server).execute("select 1");
  use(postgres::text(*r, x.number(0), x.number(0)));
}
CALLS(pipeline, "postgres::pipeline::add(string_view sql, parameters values)") {
  postgres::pipeline p;
  const auto values = extreme_values(x);
  p.add(x.text("select $1"), postgres::parameters(values));
  const parrot server;
  use(connect_to(server).run(p));
}
CALLS(connect, "postgres::connection::connect(connect_options options, context ctx)") {
  const parrot server;
  use(postgres::connection::connect(extreme_options(x, server.conninfo())));
}
// No server is at any of these.
CALLS(connect_to_nothing, "postgres::connection::connect(connect_options options, context ctx)") {
  use(postgres::connection::connect({.conninfo = "host=/no-such-folder " + x.string("user=a")}));
}
CALLS(pooled, "postgres::pooled(connect_options server, pool_options<connection> others)") {
  const parrot server;
  sley::pool<postgres::connection> pool(postgres::pooled(extreme_options(x, server.conninfo())));
  use(pool.acquire()->execute("select 1"));
  use(pool.acquire()->execute("select 1"));
}
CALLS(listener,
      "postgres::listener::listener(connection source, listen_options what, context ctx)") {
  const parrot server;
  postgres::listen_options what{.capacity = x.capacity(64)};
  if (x.pick<bool>({true, false})) what.channels.push_back(x.string("jobs"));
  use(postgres::listener(connect_to(server), what));
}
