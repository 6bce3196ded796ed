// A session with a PostgreSQL server: libpq speaks the protocol and owns the socket, sley waits for
// that. For <sley/postgres.hpp>, which is for users.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/go.hpp>
#include <sley/mutex.hpp>
#include <sley/os.hpp>
#include <sley/runtime.hpp>
#include <sley/semaphore.hpp>
#include <sley/time.hpp>
#include <sley/time_span.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::postgres::detail {

struct free_by_libpq {
  void operator()(PGconn* c) const noexcept { PQfinish(c); }
  void operator()(PGresult* r) const noexcept { PQclear(r); }
  void operator()(PGcancel* c) const noexcept { PQfreeCancel(c); }
  void operator()(PGnotify* n) const noexcept { PQfreemem(n); }
  void operator()(PQconninfoOption* o) const noexcept { PQconninfoFree(o); }
  void operator()(char* text) const noexcept { PQfreemem(text); }
};
template <class T>
using owned = std::unique_ptr<T, free_by_libpq>;

using value = std::optional<std::string_view>;

// A zero-terminated copy, for functions of C.
inline std::string c_text(std::string_view text) {
  std::error_code error;
  if (sley::detail::has_zero_byte(text, error)) {
    throw std::invalid_argument("sley: postgres: a text with a zero byte inside");
  }
  return std::string(text);
}

// A statement with its parameters, as libpq takes them.
class statement {
 public:
  statement(std::string_view sql, std::span<const value> values) : sql_(c_text(sql)) {
    if (values.size() > 65'535) {
      throw std::invalid_argument("sley: postgres: more than 65,535 parameters");
    }
    values_.reserve(values.size());
    for (const value& v : values) {
      values_.push_back(v ? std::optional(c_text(*v)) : std::nullopt);
    }
  }

  // Hands it to libpq, which keeps a copy of what it has not written yet.
  bool send(PGconn* to) const {
    std::vector<const char*> texts;
    texts.reserve(values_.size());
    for (const auto& v : values_) texts.push_back(v ? v->c_str() : nullptr);
    return PQsendQueryParams(to, sql_.c_str(), static_cast<int>(texts.size()), nullptr,
                             texts.data(), nullptr, nullptr, 0) == 1;
  }

 private:
  std::string sql_;
  std::vector<std::optional<std::string>> values_;  // no value: NULL
};

// PQcancel() keeps its thread until the server has answered, and nothing ends it. At most this
// many threads of the process are in it.
inline counting_semaphore<>& cancel_places() {
  static auto* const places = new counting_semaphore<>(8);  // outlives what is under way at exit
  return *places;
}

// Connects to one host and address of the string after the other. Each step is announced as
// blocking, because libpq looks names up, reads files and derives keys there.
inline owned<PGconn> connect(const std::string& conninfo, const context& ctx) {
  using enum os::poll_events;
  std::error_code error = ctx.error();
  if (error) throw std::system_error(error, "sley: postgres: connect");
  if (!owned<PQconninfoOption>(PQconninfoParse(conninfo.c_str(), nullptr))) {
    throw std::invalid_argument("sley: postgres: no connection string");  // may hold a password
  }
  owned<PGconn> c(sley::blocking([&] { return PQconnectStart(conninfo.c_str()); }));
  if (!c) throw std::bad_alloc();
  PQsetNoticeReceiver(c.get(), [](void*, const PGresult*) {}, nullptr);
  PostgresPollingStatusType wanted =
      PQstatus(c.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (wanted != PGRES_POLLING_OK) {  // ends: libpq has a number of addresses to try
    if (wanted == PGRES_POLLING_FAILED) {
      throw std::system_error(
          make_error_code(std::errc::connection_refused),
          "sley: postgres: connect: " + sley::detail::quoted(PQerrorMessage(c.get())));
    }
    // For one wait: the next step may close this socket, and open another one of the same number.
    os::poll_fd(PQsocket(c.get()))
        .wait(wanted == PGRES_POLLING_READING ? readable : writable, ctx, error);
    if (error) throw std::system_error(error, "sley: postgres: connect");
    wanted = sley::blocking([&] { return PQconnectPoll(c.get()); });
  }
  PQsetnonblocking(c.get(), 1);
  return c;
}

// Another descriptor of libpq's socket, to wait for. libpq closes its own one inside any call that
// finds the connection lost. From then on the next file may get that number, and the end of a watch
// would end that file's. This one is closed only after the watch has ended.
class second_descriptor {
 public:
  explicit second_descriptor(int of) : fd_(duplicate(of)) {}
  ~second_descriptor() { close(); }
  second_descriptor(const second_descriptor&) = delete;
  second_descriptor& operator=(const second_descriptor&) = delete;

  int get() const noexcept { return fd_; }
  void close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  static int duplicate(int of) {
    const int fd = ::fcntl(of, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
      throw std::system_error(errno, std::generic_category(), "sley: postgres: connect");
    }
    return fd;
  }

  int fd_;
};

// A session between two calls is in step: nothing is under way. An exception or an error leaves it
// otherwise, and then it is of no more use.
class session {
 public:
  session(owned<PGconn> c, time_span cancel_limit)
      : connection_(std::move(c)),
        descriptor_(PQsocket(connection_.get())),
        socket_(descriptor_.get()),
        limit_(cancel_limit) {}

  PGconn* get() const noexcept { return connection_.get(); }
  bool is_in_step() const noexcept { return is_in_step_; }
  bool is_in_transaction() const noexcept { return PQtransactionStatus(get()) != PQTRANS_IDLE; }
  // What libpq said when the connection broke.
  const std::string& last_words() const noexcept { return last_words_; }
  time_span cancel_limit() const noexcept { return limit_; }
  time_point last_use() const noexcept { return used_; }

  // `send` hands statements to libpq, and all their results are taken, at least that many. Parks.
  // If the context ends meanwhile, the server is asked to cancel the statement.
  template <class Send>
  std::vector<owned<PGresult>> exchange(std::size_t at_least, Send send, const context& ctx,
                                        std::error_code& error) {
    is_in_step_ = false;
    std::vector<owned<PGresult>> results;
    if (send(get())) {
      take_all(results, ctx, error);
    } else {
      error = make_error_code(std::errc::connection_aborted);
    }
    bool is_at_end = !error && results.size() >= at_least;
    if (error && error == ctx.error()) is_at_end = cancel();
    is_in_step_ = is_at_end && PQexitPipelineMode(get()) == 1;
    if (is_in_step_) {
      used_ = std::chrono::steady_clock::now();
    } else {
      if (!error) error = make_error_code(std::errc::protocol_error);
      last_words_ = sley::detail::quoted(PQerrorMessage(get()));
      close();
    }
    return results;
  }

  // Parks until the server has sent a notification.
  owned<PGnotify> next_notification(const context& ctx, std::error_code& error) {
    owned<PGnotify> n(PQnotifies(get()));
    while (!n && !error) {
      turn(ctx, error);
      n.reset(PQnotifies(get()));
    }
    return n;
  }
  // libpq keeps notifications until they are taken.
  void drop_notifications() noexcept {
    while (owned<PGnotify>(PQnotifies(get()))) {
    }
  }

  void close() noexcept {
    is_in_step_ = false;
    std::error_code ignored;
    socket_.close(ignored);
    descriptor_.close();
    connection_.reset();
  }

  mutex in_use;

 private:
  // Until nothing is under way: behind the end of a pipeline, or behind the last result.
  void take_all(std::vector<owned<PGresult>>& to, const context& ctx, std::error_code& error) {
    const bool is_pipeline = PQpipelineStatus(get()) != PQ_PIPELINE_OFF;
    while (!error) {  // ends: the server ends what it has begun
      owned<PGresult> r = next(ctx, error);
      const bool is_sync = r && PQresultStatus(r.get()) == PGRES_PIPELINE_SYNC;
      if (is_pipeline ? is_sync : !r) return;
      if (r) to.push_back(std::move(r));
    }
  }

  // Null behind the last result of a statement, and with an error.
  owned<PGresult> next(const context& ctx, std::error_code& error) {
    while (!error && PQisBusy(get()) == 1) turn(ctx, error);
    if (error) return {};
    owned<PGresult> r(PQgetResult(get()));
    const ExecStatusType status = PQresultStatus(r.get());
    if (PQstatus(get()) == CONNECTION_BAD) {
      error = make_error_code(std::errc::connection_aborted);
    } else if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
      error = make_error_code(std::errc::operation_not_supported);
    }
    return error ? nullptr : std::move(r);
  }

  // Parks until libpq has written or read something. Both directions are waited for while there is
  // something to write: a server that waits to be read from takes no more until then.
  void turn(const context& ctx, std::error_code& error) {
    using enum os::poll_events;
    const int unsent = PQflush(get());  // 1: more than the socket takes
    os::poll_events found = readable;
    if (unsent >= 0 && !has_decrypted()) {
      found = socket_.wait(unsent > 0 ? readable | writable : readable, ctx, error);
    }
    if (error || found == writable) return;
    if (unsent < 0 || PQconsumeInput(get()) == 0) {
      error = make_error_code(std::errc::connection_aborted);
    }
  }

  // Whether OpenSSL holds bytes that libpq has not read. No poll(2) sees them. That happens with
  // records of TLS over 8 KiB, which PostgreSQL 17 and proxies send; libpq's own waits look for
  // them, and its functions that do not wait leave it to the caller.
  bool has_decrypted() const noexcept {
    using function = int (*)(const void*);
    void* const tls = PQsslStruct(get(), "OpenSSL");
    if (tls == nullptr) return false;
    static const auto pending = reinterpret_cast<function>(::dlsym(RTLD_DEFAULT, "SSL_pending"));
    return pending != nullptr && pending(tls) > 0;
  }

  // The server is asked to cancel the statement, and its results are dropped. Whether all of that
  // was done within the limit. The request is made again and again, because it does nothing if it
  // overtakes the statement.
  bool cancel() {
    const context limit = with_timeout(context::background(), limit_).first;
    std::vector<owned<PGresult>> dropped;
    for (auto patience = std::chrono::milliseconds(10); request_cancel(limit); patience *= 2) {
      const context pause = with_timeout(limit, patience).first;
      std::error_code error;
      take_all(dropped, pause, error);
      if (!error || error != pause.error()) return !error;
    }
    return false;
  }

  // Parks until the server has handled one request: none is left that could hit the next statement.
  // False if that has taken too long; its goroutine goes on until the system gives PQcancel() up.
  bool request_cancel(const context& limit) {
    std::error_code late;
    cancel_places().acquire(limit, late);
    if (late) return false;
    const std::shared_ptr<void> place(nullptr, [](void*) { cancel_places().release(); });
    const std::shared_ptr<PGcancel> request = owned<PGcancel>(PQgetCancel(get()));
    const chan<void> handled;
    go([place, request, handled] {
      std::array<char, 256> reason;
      sley::blocking([&] { return PQcancel(request.get(), reason.data(), reason.size()); });
      handled.close();
    });
    handled.receive(limit, late);
    return !late;
  }

  owned<PGconn> connection_;
  second_descriptor descriptor_;  // of connection_
  os::poll_fd socket_;            // of descriptor_
  const time_span limit_;
  bool is_in_step_ = true;
  std::string last_words_;
  time_point used_ = std::chrono::steady_clock::now();
};

}  // namespace sley::postgres::detail
