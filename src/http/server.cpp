#include <sley/http/server.hpp>

#include "http/error_line.hpp"
#include "http/finally.hpp"
#include "http/server_state.hpp"

#include <sley/go.hpp>

#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace sley::http {

namespace detail {

server_state::server_state(handler h, server_options options)
    : handler_(std::move(h)),
      options_(std::move(options)),
      places_(sley::detail::make_places(options_.connections)) {
  std::tie(stopping_, stop_) = with_cancel(context::background());
  if (!handler_) throw std::invalid_argument("sley: the handler of a server is empty");
}

// ---- taking connections ----

template <class Listener>
void server_state::serve(Listener& listener) {
  check_connector(listener);
  if (!add(listener)) {
    listener.close();
    return;
  }
  const finally forget([&] { remove(listener); });
  const std::error_code error = sley::detail::accept_each(
      listener, stopping_, places_, [this](auto stream, sley::detail::place taken) {
        this->start(std::move(stream), std::move(taken));
      });
  if (error != std::errc::operation_canceled) throw std::system_error(error, "sley: accept");
}
template void server_state::serve(net::tcp_listener&);
template void server_state::serve(net::unix_listener&);

// Else a server that is meant to speak TLS would speak without it.
void server_state::check_connector(const net::unix_listener&) const {
  if (options_.connect && !options_.connect_unix) {
    throw std::logic_error(
        "sley: a server whose server_options::connect is set has no connect_unix for a Unix "
        "listener");
  }
}

// Without memory for a goroutine the connection is closed; later there may be memory again.
template <class Stream>
void server_state::start(Stream stream, sley::detail::place taken) {
  begin();
  try {
    go(go_options{.name = "http connection"},
       [self = shared_from_this(), s = std::move(stream), p = std::move(taken)]() mutable {
         const sley::detail::place held = std::move(p);
         const finally counted([&] { self->end(); });
         self->serve_stream(std::move(s));
       });
  } catch (const std::bad_alloc&) {
    end();
  }
}

template <class Stream>
void server_state::serve_stream(Stream stream) {
  try {
    const connection_ptr c = connect(std::move(stream));
    if (c) run_session(*c);
  } catch (...) {
    const std::exception_ptr e = std::current_exception();
    if (!e) throw;  // no exception, but this_goroutine::exit() unwinding the stack
    report(e);
  }
}

// Null: there is none, or the server ends. A handshake that is under way then ends with errors.
template <class Stream>
connection_ptr server_state::connect(Stream stream) {
  const auto& connector = connector_of(stream);
  if (!connector) return make_connection(std::move(stream));
  const sley::detail::interrupter handshake(stream);
  {
    const std::lock_guard guard(lock_);
    if (is_stopping_) return nullptr;
    connecting_.insert(&handshake);
  }
  const finally forget([&] {
    const std::lock_guard guard(lock_);
    connecting_.erase(&handshake);
  });
  return connector(std::move(stream));
}

void server_state::serve(connection_ptr c) {
  begin();
  const finally counted([this] { end(); });
  run_session(*c);
}

void server_state::report(std::exception_ptr e) {
  if (options_.on_error) return options_.on_error(nullptr, e);
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& known) {
    print_error(std::string("a connection was given up: ") + known.what());
  } catch (...) {
    print_error("a connection was given up");
  }
}

void server_state::run_session(connection& c) {
  session s(c, handler_, options_);
  {
    const std::lock_guard guard(lock_);
    if (is_closed_) return;
    sessions_.insert(&s);
    if (is_stopping_) s.finish_soon();
  }
  const finally forget([&] {
    const std::lock_guard guard(lock_);
    sessions_.erase(&s);
  });
  s.run();
}

// ---- stopping ----

bool server_state::add(net::listener& listener) {
  const std::lock_guard guard(lock_);
  if (!is_stopping_) listeners_.insert(&listener);
  return !is_stopping_;
}

void server_state::remove(net::listener& listener) {
  const std::lock_guard guard(lock_);
  listeners_.erase(&listener);
}

void server_state::begin() {
  const std::lock_guard guard(lock_);
  ++connections_;
}

void server_state::end() noexcept {
  const std::lock_guard guard(lock_);
  if (--connections_ > 0) return;
  for (const chan<void>& waiting : waiting_for_end_) waiting.close();
  waiting_for_end_.clear();
}

chan<void> server_state::when_empty() {
  const std::lock_guard guard(lock_);
  chan<void> empty;
  if (connections_ == 0) {
    empty.close();
  } else {
    waiting_for_end_.push_back(empty);
  }
  return empty;
}

// Sessions are told before listeners are closed, which serve() does too when stopping_ has ended: a
// client that is refused knows that each answer from then on is the last of its connection.
void server_state::stop(void (session::*how)()) {
  {
    const std::lock_guard guard(lock_);
    is_stopping_ = true;
    for (session* s : sessions_) (s->*how)();
    for (net::listener* listener : listeners_) {
      std::error_code ignored;
      listener->close(ignored);
    }
    for (const sley::detail::interrupter* handshake : connecting_) handshake->interrupt();
  }
  stop_();
}

void server_state::begin_shutdown() { stop(&session::finish_soon); }

void server_state::close() {
  {
    const std::lock_guard guard(lock_);
    is_closed_ = true;
  }
  stop(&session::cut);
}

std::size_t server_state::connections() const {
  const std::lock_guard guard(lock_);
  return connections_;
}

}  // namespace detail

server::server(handler h, server_options options)
    : state_(std::make_shared<detail::server_state>(std::move(h), std::move(options))) {}

server::~server() {
  state_->close();
  state_->when_empty().receive();
}

void server::serve(net::tcp_listener&& listener) {
  net::tcp_listener own = std::move(listener);
  serve(own);
}
void server::serve(net::unix_listener&& listener) {
  net::unix_listener own = std::move(listener);
  serve(own);
}
// The server may be destroyed while they return: they keep what they work on.
void server::serve(net::tcp_listener& listener) { std::shared_ptr(state_)->serve(listener); }
void server::serve(net::unix_listener& listener) { std::shared_ptr(state_)->serve(listener); }
void server::serve(connection_ptr one) { std::shared_ptr(state_)->serve(std::move(one)); }
bool server::shutdown(instant deadline) {
  state_->begin_shutdown();
  const chan<void> empty = state_->when_empty();
  return empty.try_receive_for(sley::detail::time_until(deadline)) != chan_status::timeout;
}
bool server::shutdown(const context& ctx) {
  state_->begin_shutdown();
  const chan<void> empty = state_->when_empty();
  std::error_code error;
  empty.receive(ctx, error);
  return !error;
}
void server::close() { state_->close(); }
std::size_t server::open_connections() const { return state_->connections(); }

}  // namespace sley::http
