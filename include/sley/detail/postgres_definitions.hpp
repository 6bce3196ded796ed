// The definitions of what <sley/postgres.hpp> declares.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/feed.hpp>
#include <sley/detail/postgres_session.hpp>
#include <sley/mutex.hpp>
#include <sley/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::postgres {

inline std::optional<std::string_view> text(const PGresult& r, int row, int column) {
  if (row < 0 || row >= PQntuples(&r) || column < 0 || column >= PQnfields(&r)) {
    throw std::out_of_range("sley: postgres: a result has no such row or column");
  }
  if (PQgetisnull(&r, row, column) == 1) return std::nullopt;
  return std::string_view(PQgetvalue(&r, row, column),
                          static_cast<std::size_t>(PQgetlength(&r, row, column)));
}

namespace detail {

// What a statement begins with, three words at most: up to a literal, a parameter, a number or a
// comment, which may be secrets.
inline std::string_view first_words(std::string_view sql) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  std::size_t end = 0;
  for (int words = 0; words < 3; ++words) {
    const std::size_t word = sql.find_first_not_of(blanks, end);
    const std::size_t behind = std::min(sql.find_first_not_of(letters, word), sql.size());
    if (word == sql.npos || behind == word) break;
    end = behind;
  }
  return sql.substr(0, end);
}

inline std::string_view field(const PGresult& r, int code) noexcept {
  const char* const found = PQresultErrorField(&r, code);
  return found == nullptr ? std::string_view() : std::string_view(found);
}

inline void throw_if_refused(std::string_view statement, const PGresult& r) {
  if (PQresultStatus(&r) != PGRES_FATAL_ERROR) return;
  throw server_error(statement, field(r, PG_DIAG_SEVERITY_NONLOCALIZED), field(r, PG_DIAG_SQLSTATE),
                     field(r, PG_DIAG_MESSAGE_PRIMARY));
}

}  // namespace detail

inline server_error::server_error(std::string_view statement, std::string_view severity,
                                  std::string_view sqlstate, std::string_view message)
    : runtime_error("sley: postgres: " + sley::detail::quoted(detail::first_words(statement)) +
                    ": " + sley::detail::quoted(message) + " (" + sley::detail::quoted(sqlstate) +
                    ")"),
      severity_(severity),
      sqlstate_(sqlstate),
      message_(message) {}

inline pipeline& pipeline::add(std::string_view sql, parameters values) {
  statements_.emplace_back(sql, values.get());
  return *this;
}

inline connection connection::connect(const connect_options& options, const context& ctx) {
  connection c;
  c.session_ = std::make_unique<detail::session>(
      detail::connect(detail::c_text(options.conninfo), ctx), options.cancel_limit);
  return c;
}

inline std::unique_lock<mutex> connection::begin(const context& ctx, std::error_code& error) {
  error = ctx.error();
  if (!session_) error = make_error_code(std::errc::not_connected);
  if (error) return {};
  std::unique_lock lock(session_->in_use, std::try_to_lock);
  if (!lock) throw std::logic_error("sley: postgres: two goroutines use one connection");
  if (session_->is_in_step()) {
    session_->drop_notifications();
  } else {
    error = make_error_code(std::errc::not_connected);
  }
  return lock;
}

inline std::system_error connection::failure(const std::error_code& error,
                                             std::string_view statement) const {
  std::string what = "sley: postgres: " + sley::detail::quoted(detail::first_words(statement));
  if (error == std::errc::connection_aborted) what += ": " + session_->last_words();
  return {error, what};
}

inline result connection::execute(std::string_view sql, parameters values, const context& ctx,
                                  std::error_code& error) {
  const detail::statement s(sql, values.get());
  const std::unique_lock use = begin(ctx, error);
  if (error) return {};
  auto results = session_->exchange(1, [&](PGconn* to) { return s.send(to); }, ctx, error);
  return error ? result() : std::move(results[0]);
}

inline result connection::execute(std::string_view sql, parameters values, const context& ctx) {
  std::error_code error;
  result r = execute(sql, values, ctx, error);
  if (error) throw failure(error, sql);
  detail::throw_if_refused(sql, *r);
  return r;
}

inline std::vector<result> connection::execute_script(std::string_view sql, const context& ctx,
                                                      std::error_code& error) {
  const std::string script = detail::c_text(sql);
  const std::unique_lock use = begin(ctx, error);
  if (error) return {};
  return session_->exchange(
      1, [&](PGconn* to) { return PQsendQuery(to, script.c_str()) == 1; }, ctx, error);
}

inline std::vector<result> connection::execute_script(std::string_view sql, const context& ctx) {
  std::error_code error;
  std::vector<result> results = execute_script(sql, ctx, error);
  if (error) throw failure(error, sql);
  detail::throw_if_refused(sql, *results.back());
  return results;
}

inline std::vector<result> connection::run(const pipeline& statements, const context& ctx,
                                           std::error_code& error) {
  const std::unique_lock use = begin(ctx, error);
  if (error) return {};
  const auto send = [&](PGconn* to) {
    bool is_sent = PQenterPipelineMode(to) == 1;
    for (const detail::statement& s : statements.statements_) is_sent = is_sent && s.send(to);
    return is_sent && PQpipelineSync(to) == 1;
  };
  return session_->exchange(statements.size(), send, ctx, error);
}

inline std::vector<result> connection::run(const pipeline& statements, const context& ctx) {
  std::error_code error;
  std::vector<result> results = run(statements, ctx, error);
  if (error) throw failure(error, "pipeline");
  return results;
}

inline bool connection::is_open() const noexcept { return session_ && session_->is_in_step(); }

inline PGconn* connection::native_handle() const noexcept {
  return is_open() ? session_->get() : nullptr;
}

inline bool connection::is_healthy(const connect_options& options) {
  if (!is_open() || session_->is_in_transaction()) return false;
  if (std::chrono::steady_clock::now() - session_->last_use() < options.check_after) return true;
  const context limit = with_timeout(context::background(), options.check_limit).first;
  std::error_code error;
  const result r = execute("", {}, limit, error);
  return r && PQresultStatus(r.get()) == PGRES_EMPTY_QUERY;
}

inline pool_options<connection> pooled(connect_options server, pool_options<connection> others) {
  others.check = [server](connection& c) { return c.is_healthy(server); };
  others.make = [server = std::move(server)](const context& ctx) {
    return connection::connect(server, ctx);
  };
  return others;
}

inline transaction::transaction(connection& c, const context& ctx) : connection_(c) {
  if (c.is_open() && c.session_->is_in_transaction()) {
    throw std::logic_error("sley: postgres: a transaction in the middle of another one");
  }
  try {
    c.execute("begin", {}, ctx);
  } catch (...) {
    roll_back();  // a context that has ended does not say whether the server has begun
    throw;
  }
}

inline transaction::~transaction() {
  if (is_under_way_) roll_back();
}

inline void transaction::roll_back() noexcept {
  if (!connection_.is_open() || !connection_.session_->is_in_transaction()) return;
  try {
    detail::session& s = *connection_.session_;
    const context limit = with_timeout(context::background(), s.cancel_limit()).first;
    std::error_code error;
    connection_.execute("rollback", {}, limit, error);
    if (error) s.close();
  } catch (const std::exception&) {
    // No memory, or another goroutine uses the connection. It stays in the transaction, so no pool
    // hands it out again.
  }
}

inline void transaction::commit(const context& ctx) {
  if (!is_under_way_) throw std::logic_error("sley: postgres: commit of a committed transaction");
  if (PQtransactionStatus(connection_.native_handle()) == PQTRANS_INERROR) {
    throw server_error("commit", "ERROR", "25P02", "a statement of the transaction has failed");
  }
  connection_.execute("commit", {}, ctx);
  is_under_way_ = false;
}

namespace detail {

// The listener's goroutine, and what it shares with its owner.
struct feed : sley::detail::feed_of<notification> {
  explicit feed(std::unique_ptr<session> from, std::size_t capacity)
      : feed_of(capacity), source(std::move(from)) {
    start([this](std::error_code& why) { pass_on(why); }, [this] { source->close(); });
  }
  ~feed() { close(); }

  void pass_on(std::error_code& why) {
    while (!why) {
      const owned<PGnotify> n = source->next_notification(life(), why);
      if (n) send({n->relname, n->extra, n->be_pid}, why);
    }
  }

  const std::unique_ptr<session> source;
};

// LISTEN to all of them.
inline std::string listen_to(PGconn* c, const std::vector<std::string>& channels) {
  std::string script;
  for (const std::string& channel : channels) {
    const owned<char> name(PQescapeIdentifier(c, c_text(channel).c_str(), channel.size()));
    if (!name) throw std::invalid_argument("sley: postgres: no name of a channel");
    script.append("listen ").append(name.get()).append(";");
  }
  return script;
}

}  // namespace detail

inline listener::listener(connection source, const listen_options& what, const context& ctx) {
  if (what.channels.empty()) throw std::invalid_argument("sley: postgres: nothing to listen to");
  if (!source.is_open()) throw source.failure(make_error_code(std::errc::not_connected), "listen");
  source.execute_script(detail::listen_to(source.native_handle(), what.channels), ctx);
  feed_ = std::make_unique<detail::feed>(std::move(source.session_), what.capacity);
}

inline listener::listener(listener&&) noexcept = default;
inline listener& listener::operator=(listener&&) noexcept = default;
inline listener::~listener() = default;

inline recv_chan<notification> listener::notifications() const noexcept {
  return feed_ ? recv_chan<notification>(feed_->messages()) : recv_chan<notification>();
}

inline std::error_code listener::error() const {
  return feed_ ? feed_->error() : std::error_code();
}

inline void listener::close() noexcept {
  if (feed_) feed_->close();
}

}  // namespace sley::postgres
