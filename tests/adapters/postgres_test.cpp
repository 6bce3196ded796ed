// <sley/postgres.hpp> with a real server.
#include "support/harness.hpp"
#include "support/short_context.hpp"

#include "adapters/postgres_server.hpp"

#include <sley/postgres.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace postgres = sley::postgres;
using postgres::rows;
using postgres::text;
using sley::context;
using sley::context_errc;
using sley_test::connect_to_postgres;
using sley_test::go_until_parked;
using sley_test::one_value;
using sley_test::postgres_options;
using sley_test::the_postgres_server;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

std::string sqlstate_of(postgres::connection& c, std::string_view sql) {
  try {
    c.execute(sql);
  } catch (const postgres::server_error& e) {
    return e.sqlstate();
  }
  return "none";
}

// What f() fails with.
template <class F>
std::error_code error_of(F f) {
  try {
    f();
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}

// Runs f(ctx), and ends ctx once f waits. What f() fails with.
template <class F>
std::error_code error_of_canceled(F f) {
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  std::error_code error;
  sley::wait_group waiting;
  waiting.add(1);
  go_until_parked([&] {
    error = error_of([&] { f(ctx); });
    waiting.done();
  });
  cancel();
  waiting.wait();
  return error;
}

}  // namespace

GO_TEST(postgres, a_result_has_texts_and_nulls) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  const postgres::result r =
      c.execute("select n, nullif(n * 10, 20) as tens from generate_series(1, 3) n");
  EXPECT_EQ(PQresultStatus(r.get()), PGRES_TUPLES_OK);
  ASSERT_EQ(rows(*r), 3);
  EXPECT_EQ(text(*r, 2, 0), "3");
  EXPECT_EQ(text(*r, 2, PQfnumber(r.get(), "tens")), "30");
  EXPECT_EQ(text(*r, 1, 1), std::nullopt);
  EXPECT_THROW(text(*r, 3, 0), std::out_of_range);
  EXPECT_THROW(text(*r, 0, PQfnumber(r.get(), "none")), std::out_of_range);
  EXPECT_EQ(rows(*c.execute("")), 0);
}

GO_TEST(postgres, a_result_outlives_its_connection) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  const postgres::result r = c.execute("select 'value'");
  c = {};
  EXPECT_EQ(text(*r, 0, 0), "value");
}

GO_TEST(postgres, parameters_are_texts_of_any_length_and_null) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  for (const std::string& value :
       {std::string(), std::string("'; drop table a; -- \r\n\\ ü"), std::string(3'000'000, 'x')}) {
    EXPECT_TRUE(one_value(c, "select $1::text", {value}) == value) << value.size() << " bytes";
  }
  EXPECT_EQ(one_value(c, "select $1::text", {std::nullopt}), "NULL");
  EXPECT_EQ(one_value(c, "select $1::int + $2::int", {"40", "2"}), "42");
  const std::string middle = "a-b-c";
  EXPECT_EQ(one_value(c, "select $1::text", {std::string_view(middle).substr(2, 1)}), "b");
  EXPECT_THROW(c.execute("select $1", {"a\0b"sv}), std::invalid_argument);
  EXPECT_THROW(c.execute("select 1\0"sv), std::invalid_argument);
  const std::vector<std::optional<std::string_view>> many(70'000);
  EXPECT_THROW(c.execute("select 1", postgres::parameters(many)), std::invalid_argument);
  EXPECT_EQ(one_value(c, "select 1"), "1");
}

GO_TEST(postgres, a_server_error_says_what_the_server_said_and_the_connection_goes_on) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  try {
    c.execute("select $1::text from no_such where name = 'literal'", {"secret"});
    ADD_FAILURE() << "there is no such table";
  } catch (const postgres::server_error& e) {
    EXPECT_EQ(e.severity() + " " + e.sqlstate(), "ERROR 42P01");
    EXPECT_EQ(e.message(), "relation \"no_such\" does not exist");
    EXPECT_EQ(std::string_view(e.what()),
              R"(sley: postgres: "select": "relation "no_such" does not exist" ("42P01"))");
  }
  std::error_code error;
  const postgres::result r = c.execute("selekt", {}, {}, error);
  EXPECT_FALSE(error);
  EXPECT_EQ(PQresultStatus(r.get()), PGRES_FATAL_ERROR);
  EXPECT_EQ(sqlstate_of(c, "select 1; select 2"), "42601");  // execute() takes one statement
  EXPECT_EQ(one_value(c, "select 1"), "1");
}

GO_TEST(postgres, a_script_has_a_result_for_each_statement_and_ends_with_the_first_that_fails) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  auto results = c.execute_script("create temp table t (n int); insert into t values (7); table t");
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(text(*results[2], 0, 0), "7");
  EXPECT_THROW(c.execute_script("insert into t values (8); select 1 / 0; table t"),
               postgres::server_error);
  EXPECT_EQ(one_value(c, "select count(*) from t"), "1");
  std::error_code error;
  results = c.execute_script("table t; select 1 / 0; table t", {}, error);
  EXPECT_FALSE(error);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(PQresultStatus(results[1].get()), PGRES_FATAL_ERROR);
}

GO_TEST(postgres, a_pipeline_brings_all_results_in_order_and_an_error_aborts_the_rest) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  c.execute("create temp table t (n int)");
  postgres::pipeline p;
  p.add("insert into t values ($1) returning n", {"1"}).add("select 1 / 0").add("table t");
  EXPECT_THROW(p.add("a\0b"sv), std::invalid_argument);
  ASSERT_EQ(p.size(), 3u);
  for (int i = 0; i < 2; ++i) {  // it can be run again
    const auto results = c.run(p);
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(text(*results[0], 0, 0), "1");
    EXPECT_EQ(PQresultStatus(results[1].get()), PGRES_FATAL_ERROR);
    EXPECT_EQ(PQresultStatus(results[2].get()), PGRES_PIPELINE_ABORTED);
  }
  EXPECT_EQ(one_value(c, "select count(*) from t"), "0");  // they are one transaction
  p.clear();
  EXPECT_TRUE(c.run(p).empty());
  EXPECT_TRUE(c.is_open());
}

GO_TEST(postgres, a_pipeline_of_any_size_is_written_while_its_results_are_read) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  const std::string padding(10'000, 'p');
  postgres::pipeline p;
  for (int i = 0; i < 1000; ++i) p.add("select $1", {std::to_string(i) + padding});
  const auto results = c.run(p);
  ASSERT_EQ(results.size(), 1000u);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(text(*results[i], 0, 0) == std::to_string(i) + padding) << i;
  }
}

GO_TEST(postgres, a_context_cancels_the_statement_at_the_server_and_the_connection_goes_on) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  const std::string session = one_value(c, "select pg_backend_pid()");
  const auto sleep = [&](const context& ctx) { c.execute("select pg_sleep(3600)", {}, ctx); };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(error_of_canceled(sleep), context_errc::canceled);
  postgres::connection other = connect_to_postgres();
  EXPECT_EQ(one_value(other, "select state from pg_stat_activity where pid = $1", {session}),
            "idle");
  EXPECT_EQ(one_value(c, "select pg_backend_pid()"), session);
}

GO_TEST(postgres, a_context_cancels_a_pipeline_and_a_script) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  c.execute("create temp table t (n int)");
  postgres::pipeline p;
  p.add("insert into t values (1)").add("select pg_sleep(3600)").add("insert into t values (2)");
  EXPECT_EQ(error_of_canceled([&](const context& ctx) { c.run(p, ctx); }), context_errc::canceled);
  const auto script = [&](const context& ctx) {
    c.execute_script("insert into t values (3); select pg_sleep(3600)", ctx);
  };
  EXPECT_EQ(error_of_canceled(script), context_errc::canceled);
  EXPECT_EQ(one_value(c, "select count(*) from t"), "0");
}

GO_TEST(postgres, a_context_that_ends_at_any_moment_leaves_the_connection_in_step) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  sley_test::random_source random;
  for (int i = 0; i < sley_test::rounds(200); ++i) {
    const std::string value = std::to_string(i);
    const sley_test::short_context soon(random);
    std::error_code error;
    std::vector<postgres::result> results;
    if (random.one_in(2)) {
      results.push_back(c.execute("select $1", {value}, soon.get(), error));
    } else {
      results =
          c.run(postgres::pipeline().add("select 0").add("select $1", {value}), soon.get(), error);
    }
    if (!error) {
      ASSERT_EQ(text(*results.back(), 0, 0), value);
    }
    ASSERT_TRUE(!error || error == soon.get().error()) << error.message();
    ASSERT_TRUE(c.is_open());
  }
}

GO_TEST(postgres, a_context_that_has_ended_sends_nothing) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  c.execute("create temp table t (n int)");
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  cancel();
  std::error_code error;
  c.execute("insert into t values (1)", {}, ctx, error);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(one_value(c, "select count(*) from t"), "0");
  EXPECT_EQ(error_of([&] { postgres::connection::connect(postgres_options(), ctx); }),
            context_errc::canceled);
}

GO_TEST(postgres, a_connection_breaks_if_the_server_does_not_cancel_within_the_limit) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connect_options options = postgres_options();
  options.cancel_limit = 0s;
  postgres::connection c = postgres::connection::connect(options);
  const auto sleep = [&](const context& ctx) { c.execute("select pg_sleep(3600)", {}, ctx); };
  EXPECT_EQ(error_of_canceled(sleep), context_errc::canceled);
  EXPECT_FALSE(c.is_open());
  EXPECT_EQ(c.native_handle(), nullptr);
  EXPECT_EQ(error_of([&] { c.execute("select 1"); }), std::errc::not_connected);
  EXPECT_EQ(error_of([] { postgres::connection().execute("select 1"); }), std::errc::not_connected);
}

GO_TEST(postgres, two_goroutines_at_the_same_time_are_found) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  sley::wait_group waiting;
  waiting.add(1);
  go_until_parked([&] {
    std::error_code error;
    c.execute("select pg_sleep(3600)", {}, ctx, error);
    EXPECT_EQ(error, context_errc::canceled);
    waiting.done();
  });
  EXPECT_THROW(c.execute("select 1"), std::logic_error);
  cancel();
  waiting.wait();
  EXPECT_EQ(one_value(c, "select 1"), "1");
}

GO_TEST(postgres, a_copy_is_refused_and_breaks_the_connection) {
  SKIP_WITHOUT_POSTGRES();
  for (const char* copy : {"copy (select 1) to stdout", "copy pg_temp.t from stdin"}) {
    postgres::connection c = connect_to_postgres();
    c.execute("create temp table t (n int)");
    EXPECT_EQ(error_of([&] { c.execute(copy); }), std::errc::operation_not_supported);
    EXPECT_FALSE(c.is_open());
  }
}

GO_TEST(postgres, connecting_goes_on_to_the_next_host_and_says_why_it_has_failed) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connect_options options = postgres_options();
  options.conninfo +=
      " host=/no/such/folder,127.0.0.1," + the_postgres_server.folder() + " port=5432,1,5432";
  postgres::connection c = postgres::connection::connect(options);
  EXPECT_EQ(one_value(c, "select 1"), "1");

  options.conninfo = the_postgres_server.conninfo() + " dbname=none";
  try {
    postgres::connection::connect(options);
    ADD_FAILURE() << "there is no such database";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::connection_refused);
    EXPECT_NE(std::string_view(e.what()).find("database"), std::string_view::npos) << e.what();
  }
  options.conninfo = "password=a secret";
  try {
    postgres::connection::connect(options);
    ADD_FAILURE() << "that is no connection string";
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(std::string_view(e.what()).find("secret"), std::string_view::npos) << e.what();
  }
}
