// PostgreSQL for goroutines, by libpq: its protocol, its connection strings and its results, with
// waits of sley's, which park. Header-only; needs libpq 14 or later, with its library linked
// (-lpq; its headers are where `pkg-config --cflags libpq` says). The library does not need it.
//
//   auto c = sley::postgres::connection::connect({.conninfo = "host=/run/postgresql"}, ctx);
//   const sley::postgres::result r = c.execute("select name from users where id = $1", {id}, ctx);
//   for (int i = 0; i < sley::postgres::rows(*r); ++i) use(sley::postgres::text(*r, i, 0));
//
// A connection is for one goroutine at a time; a pool of them is for many. Any thread may use it.
//
// Errors. What the server refuses is a server_error, and the connection goes on. What breaks the
// connection is a std::system_error:
//   std::errc::connection_refused       connecting has failed; what() says why
//   std::errc::connection_aborted       it was lost in the middle; what() says what libpq knows
//   std::errc::protocol_error           the server has ended a statement without a result
//   std::errc::operation_not_supported  the statement has begun a COPY
//   std::errc::not_connected            it was never connected, or has failed before
// A context that ends in the middle is a std::system_error with its context_errc, too. The
// statement is cancelled at the server then, and the connection goes on; it breaks if the server
// does not confirm that within connect_options::cancel_limit. Whether the statement was carried out
// is not known: it may have ended by itself. A context that has ended before sends nothing.
//
// A cancel request is libpq's PQcancel(), a connection of its own that keeps a thread until the
// server has closed it. At most eight threads of the process do that; a server that does not answer
// keeps them until the system gives up.
//
// Notices of the server are dropped. Results are in memory as a whole. A connection has two
// descriptors: libpq's, and another one of the same socket, which sley waits for.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/postgres_session.hpp>
#include <sley/mutex.hpp>
#include <sley/pool.hpp>
#include <sley/time_span.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::postgres {

namespace detail {
struct feed;
}

// What a statement has brought, as libpq has it, for its functions: PQfnumber(r.get(), "name"). It
// may outlive its connection.
using result = detail::owned<PGresult>;

// The number of rows.
inline int rows(const PGresult& r) noexcept { return PQntuples(&r); }

// The text of a value, as long as the result lives; none for NULL. Throws std::out_of_range.
std::optional<std::string_view> text(const PGresult& r, int row, int column);

// The server has refused a statement. what() has the first words of the statement, without its
// literals and parameters, and what the server said; the server may name values there.
class server_error : public std::runtime_error {
 public:
  // Of a statement and what the server said of it.
  server_error(std::string_view statement, std::string_view severity, std::string_view sqlstate,
               std::string_view message);

  // What the server said: "ERROR", "23505", "duplicate key value violates unique constraint ...".
  const std::string& severity() const noexcept { return severity_; }
  const std::string& sqlstate() const noexcept { return sqlstate_; }
  const std::string& message() const noexcept { return message_; }

 private:
  std::string severity_;
  std::string sqlstate_;
  std::string message_;
};

// The values of $1, $2 and so on, as texts: {"42", name, std::nullopt}; std::nullopt is NULL. A
// view, for a parameter.
class parameters {
 public:
  parameters() noexcept = default;  // none
  // Views of all values; the first is $1.
  parameters(std::initializer_list<std::optional<std::string_view>> list) noexcept
      : parameters(std::span(list.begin(), list.size())) {}
  parameters(std::span<const std::optional<std::string_view>> list) noexcept : list_(list) {}

  // All of them.
  std::span<const std::optional<std::string_view>> get() const noexcept { return list_; }

 private:
  std::span<const std::optional<std::string_view>> list_;
};

// Statements that are sent together. A value; it can be run again.
class pipeline {
 public:
  // Throws std::invalid_argument as connection::execute() does; nothing is added then.
  pipeline& add(std::string_view sql, parameters values = {});

  // The number of statements.
  std::size_t size() const noexcept { return statements_.size(); }
  // Takes all away.
  void clear() noexcept { statements_.clear(); }

 private:
  friend class connection;

  std::vector<detail::statement> statements_;
};

// Which server, and how long it is waited for where no context says so.
struct connect_options {
  // As libpq takes it: "host=db user=app dbname=shop" or "postgresql://app@db/shop". What it does
  // not say, libpq takes from the environment (PGHOST, PGPASSWORD) and its files. Its
  // connect_timeout has no effect: the context has.
  std::string conninfo = {};
  // How long a call whose context has ended waits for the server to cancel its statement, and how
  // long a transaction that is not committed waits for its end. Not positive: the connection is
  // closed at once, and the server is not asked.
  time_span cancel_limit = std::chrono::seconds(1);
  // A pool sends an empty statement on a connection that nothing has used for this long, before it
  // hands it out. It makes another one if there is no answer within the second time.
  time_span check_after = std::chrono::seconds(1);
  time_span check_limit = std::chrono::seconds(1);
};

// A connection to a server. Use by two goroutines at the same time is found: std::logic_error for
// the second. Moving and destroying are for its only user. Destroying never waits.
class connection {
 public:
  connection() noexcept = default;  // to nothing

  // Connects to one host and address of the string after the other, until one accepts. Parks.
  // libpq looks names up itself: that keeps a thread, and no context ends it. Addresses of Unix
  // sockets, hosts that are numbers, and `hostaddr` need no look-up. Throws std::system_error, and
  // std::invalid_argument for what is no connection string.
  static connection connect(const connect_options& options,
                            const context& ctx = context::background());

  // Sends one statement with its parameters, and parks until its result has come. The first form
  // throws, also a server_error. The second returns that as a result of status PGRES_FATAL_ERROR,
  // and a null result with an error. Both throw std::invalid_argument for a zero byte, which C
  // would take for the end, and for more than 65,535 parameters.
  result execute(std::string_view sql, parameters values = {},
                 const context& ctx = context::background());
  result execute(std::string_view sql, parameters values, const context& ctx,
                 std::error_code& error);

  // Sends several statements without parameters, as "create table a (); create table b ()". They
  // are one transaction unless they say otherwise, and the first that fails is the last. The
  // results of all, in order; the rest is as for execute().
  std::vector<result> execute_script(std::string_view sql,
                                     const context& ctx = context::background());
  std::vector<result> execute_script(std::string_view sql, const context& ctx,
                                     std::error_code& error);

  // Sends all statements, and parks until all results have come, in order and of the same number.
  // They are one transaction unless one is under way. A statement that the server refuses has a
  // result of status PGRES_FATAL_ERROR, and those behind it PGRES_PIPELINE_ABORTED: they were not
  // carried out. A pipeline of any size is written and its results are read at the same time. On an
  // error the first form throws it, and the second returns the results that came before.
  std::vector<result> run(const pipeline& statements, const context& ctx = context::background());
  std::vector<result> run(const pipeline& statements, const context& ctx, std::error_code& error);

  // False if it was never connected, and once it has failed.
  bool is_open() const noexcept;
  // For libpq's functions that do not wait, as PQescapeIdentifier(); null if it is not open.
  PGconn* native_handle() const noexcept;

 private:
  friend class listener;
  friend class transaction;
  friend pool_options<connection> pooled(connect_options, pool_options<connection>);

  // Locked unless there is an error.
  std::unique_lock<mutex> begin(const context& ctx, std::error_code& error);
  std::system_error failure(const std::error_code& error, std::string_view statement) const;
  bool is_healthy(const connect_options& options);

  std::unique_ptr<detail::session> session_;
};

// From BEGIN to COMMIT. The statements between are the connection's own; one of them may be
// "set transaction isolation level serializable". Not to be moved, and neither is the connection
// meanwhile.
class transaction {
 public:
  // Sends BEGIN, and parks. Throws as execute(), and std::logic_error if a transaction is under
  // way.
  explicit transaction(connection& c, const context& ctx = context::background());
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  // Rolls back unless it was committed. Parks for twice the connection's cancel_limit at most. If
  // that fails, the connection is broken.
  ~transaction();

  // Sends COMMIT, and parks. Throws as execute(): after a statement that has failed the server has
  // nothing to commit, which is a server_error with 25P02. With an error of the connection or the
  // context it is not known whether it was committed. Throws std::logic_error if it was before.
  void commit(const context& ctx = context::background());

 private:
  void roll_back() noexcept;

  connection& connection_;
  bool is_under_way_ = true;
};

// The options of a pool of connections: `make` and `check` are set, all else is as in `others`.
//
//   sley::pool<sley::postgres::connection> connections(sley::postgres::pooled({}, {.max = 8}));
//   connections.acquire(ctx)->execute("update visits set n = n + 1", {}, ctx);
//
// A connection that has failed, or is in the middle of a transaction, is not handed out again, so
// there is nothing to discard. What a statement has changed of the session (SET, LISTEN, temporary
// tables) stays changed for the next user.
pool_options<connection> pooled(connect_options server, pool_options<connection> others = {});

// What NOTIFY has sent.
struct notification {
  std::string channel;  // its name
  std::string payload;  // what was sent; may be empty
  int sender = 0;       // the process of the sender's session: pg_backend_pid()
};

// What to listen to.
struct listen_options {
  std::vector<std::string> channels = {};  // their names, as they are: "jobs", not "\"jobs\""
  std::size_t capacity = 64;               // of the channel that the notifications come from
};

// A connection that receives notifications: LISTEN as a channel. A goroutine reads for it. While
// the channel is full that goroutine waits, and the server keeps what is sent. For one goroutine at
// a time; the channel is for any.
class listener {
 public:
  // Takes the connection over. Parks until the server listens to everything. Throws as execute(),
  // and std::invalid_argument if there is nothing to listen to.
  listener(connection source, const listen_options& what,
           const context& ctx = context::background());
  listener(listener&&) noexcept;
  listener& operator=(listener&& other) noexcept;
  ~listener();  // as close()

  // Is closed when the listener ends: by close(), or because the connection has failed.
  recv_chan<notification> notifications() const noexcept;
  // Why notifications() was closed. None while it is open, and if close() has ended it.
  std::error_code error() const;
  // Ends it, and the connection. Notifications that wait in the channel can still be received.
  void close() noexcept;

 private:
  std::unique_ptr<detail::feed> feed_;
};

}  // namespace sley::postgres

#include <sley/detail/postgres_definitions.hpp>
