// Transactions, pools and listeners of <sley/postgres.hpp>, and the end of the server, which is a
// real one.
#include "support/harness.hpp"
#include "support/memory.hpp"
#include "support/short_context.hpp"

#include "adapters/postgres_server.hpp"

#include <sley/postgres.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace postgres = sley::postgres;
using postgres::text;
using sley::context;
using sley::context_errc;
using sley_test::connect_to_postgres;
using sley_test::go_until_parked;
using sley_test::one_value;
using sley_test::postgres_options;
using sley_test::the_postgres_server;
using namespace std::chrono_literals;

namespace {

// From another session.
void end_session(const std::string& pid) {
  connect_to_postgres().execute("select pg_terminate_backend($1::int)", {pid});
}

}  // namespace

GO_TEST(postgres, a_transaction_is_committed_or_rolled_back) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  c.execute("create temp table t (n int)");
  {
    postgres::transaction t(c);
    c.execute("insert into t values (1)");
    EXPECT_THROW(postgres::transaction inner(c), std::logic_error);
    t.commit();
    EXPECT_THROW(t.commit(), std::logic_error);
    c.execute("insert into t values (2)");
  }
  EXPECT_EQ(one_value(c, "select sum(n) from t"), "3");
  {
    const postgres::transaction t(c);
    c.execute("set transaction isolation level serializable");
    c.execute("delete from t");
  }
  EXPECT_EQ(one_value(c, "select sum(n) from t"), "3");
}

GO_TEST(postgres, a_transaction_with_a_failed_statement_has_nothing_to_commit) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  c.execute("create temp table t (n int unique deferrable initially deferred)");
  for (const char* statement : {"select 1 / 0", "insert into t values (1)"}) {
    try {
      postgres::transaction t(c);
      c.execute("insert into t values (1)");
      std::error_code error;
      c.execute(statement, {}, {}, error);
      t.commit();
      ADD_FAILURE() << "committed after " << statement;
    } catch (const postgres::server_error& e) {
      EXPECT_TRUE(e.sqlstate() == "25P02" || e.sqlstate() == "23505") << e.what();
    }
    EXPECT_EQ(PQtransactionStatus(c.native_handle()), PQTRANS_IDLE);
  }
  EXPECT_EQ(one_value(c, "select count(*) from t"), "0");
}

GO_TEST(postgres, a_context_that_ends_at_any_moment_leaves_no_transaction_behind) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  sley_test::random_source random;
  for (int i = 0; i < sley_test::rounds(100); ++i) {
    const sley_test::short_context soon(random);
    try {
      postgres::transaction t(c, soon.get());
      t.commit(soon.get());
    } catch (const std::system_error& e) {
      ASSERT_EQ(e.code(), soon.get().error());
    }
    ASSERT_TRUE(c.is_open());
    ASSERT_EQ(PQtransactionStatus(c.native_handle()), PQTRANS_IDLE);
  }
}

GO_TEST(postgres, a_transaction_that_cannot_be_rolled_back_breaks_its_connection) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connect_options options = postgres_options();
  options.cancel_limit = 0s;
  postgres::connection c = postgres::connection::connect(options);
  {
    const postgres::transaction t(c);
  }
  EXPECT_FALSE(c.is_open());

  c = connect_to_postgres();
  {
    const postgres::transaction t(c);
    end_session(one_value(c, "select pg_backend_pid()"));
  }
  EXPECT_FALSE(c.is_open());
}

GO_TEST(postgres, a_pool_hands_out_no_connection_that_is_broken_or_in_a_transaction) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connect_options options = postgres_options();
  options.check_after = 0s;
  sley::pool<postgres::connection> pool(postgres::pooled(options, {.max = 2}));
  const auto session = [&] { return one_value(*pool.acquire(), "select pg_backend_pid()"); };
  const std::string first = session();
  EXPECT_EQ(session(), first);
  end_session(first);
  const std::string second = session();
  EXPECT_NE(second, first);
  pool.acquire()->execute("begin");
  EXPECT_NE(session(), second);
}

GO_TEST(postgres, a_pool_serves_many_goroutines) {
  SKIP_WITHOUT_POSTGRES();
  sley::pool<postgres::connection> pool(postgres::pooled(postgres_options(), {.max = 4}));
  pool.acquire()->execute_script("drop table if exists t; create table t as select 0 as n");
  sley::wait_group all;
  for (int i = 0; i < 16; ++i) {
    all.go([&] {
      for (int j = 0; j < 10; ++j) pool.acquire()->execute("update t set n = n + 1");
    });
  }
  all.wait();
  EXPECT_EQ(one_value(*pool.acquire(), "select n from t"), "160");
}

GO_TEST(postgres, a_listener_is_a_channel_of_notifications) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  const std::string odd = "Odd\"; name";
  postgres::listener l(connect_to_postgres(), {.channels = {"jobs", odd}});
  c.execute("notify jobs, 'one'");
  c.execute("select pg_notify($1, $2)", {odd, ""});
  const auto first = l.notifications().receive();
  EXPECT_EQ(first->channel + " " + first->payload, "jobs one");
  EXPECT_EQ(std::to_string(first->sender), one_value(c, "select pg_backend_pid()"));
  EXPECT_EQ(l.notifications().receive()->channel, odd);
  l.close();
  EXPECT_FALSE(l.notifications().receive());
  EXPECT_FALSE(l.error());

  EXPECT_THROW(postgres::listener(connect_to_postgres(), {}), std::invalid_argument);
  EXPECT_THROW(postgres::listener(connect_to_postgres(), {.channels = {""}}),
               postgres::server_error);
  EXPECT_THROW(postgres::listener({}, {.channels = {"jobs"}}), std::system_error);
}

GO_TEST(postgres, a_listener_waits_while_its_channel_is_full_and_loses_nothing) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection c = connect_to_postgres();
  postgres::listener l(connect_to_postgres(), {.channels = {"jobs"}, .capacity = 0});
  const auto send = [&] {
    c.execute("select pg_notify('jobs', n::text) from generate_series(0, 999) n");
  };
  send();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(l.notifications().receive()->payload, std::to_string(i));
  send();  // these are dropped with the listener, which waits to send one
}

GO_TEST(postgres, a_listener_ends_with_its_session_and_says_why) {
  SKIP_WITHOUT_POSTGRES();
  postgres::connection source = connect_to_postgres();
  const std::string session = one_value(source, "select pg_backend_pid()");
  postgres::listener l(std::move(source), {.channels = {"jobs"}});
  postgres::listener& same = l;
  l = std::move(same);
  postgres::notification none;
  EXPECT_EQ(l.notifications().try_receive(none), sley::chan_status::would_block);  // it goes on
  end_session(session);
  EXPECT_FALSE(l.notifications().receive());
  EXPECT_EQ(l.error(), std::errc::connection_aborted);
  const postgres::listener moved = std::move(l);
  EXPECT_TRUE(moved.error());
  EXPECT_FALSE(l.error());
}

// Half of the goroutines wait for the server, the others for a connection.
GO_TEST(postgres, the_end_of_the_server_ends_every_wait_and_a_pool_recovers) {
  SKIP_WITHOUT_POSTGRES();
  constexpr int connections = 50;
  connect_to_postgres();  // what libpq opens once is open now
  const int descriptors = sley_test::open_descriptors();
  {
    postgres::connect_options options = postgres_options();
    options.check_after = 100s;
    sley::pool<postgres::connection> pool(postgres::pooled(options, {.max = connections}));
    {
      std::vector<sley::pool<postgres::connection>::handle> all;
      for (int i = 0; i < connections; ++i) all.push_back(pool.acquire());
    }
    std::atomic<int> lost = 0, refused = 0;
    sley::wait_group waiting;
    for (int i = 0; i < 2 * connections; ++i) {
      waiting.add(1);
      go_until_parked([&] {
        try {
          pool.acquire()->execute("select pg_sleep(3600)");
        } catch (const std::system_error& e) {
          if (e.code() == std::errc::connection_aborted) ++lost;
          if (e.code() == std::errc::connection_refused) ++refused;
        }
        waiting.done();
      });
    }
    the_postgres_server.stop();
    waiting.wait();
    EXPECT_GE(lost, connections);  // more, if a session lives on a moment longer
    EXPECT_EQ(lost + refused, 2 * connections);
    EXPECT_EQ(pool.in_use(), 0u);
    the_postgres_server.start();
    EXPECT_EQ(one_value(*pool.acquire(), "select 1"), "1");
  }
  EXPECT_TRUE(sley_test::eventually([&] { return sley_test::open_descriptors() <= descriptors; }))
      << sley_test::open_descriptors() << " instead of " << descriptors;
}
