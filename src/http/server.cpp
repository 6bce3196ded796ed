#include <sley/http/server.hpp>

#include "http/error_line.hpp"
#include "http/server_state.hpp"
#include "http/slots.hpp"

#include <sley/go.hpp>
#include <sley/select.hpp>

#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace sley::http {

namespace detail {

namespace {

// Calls f when it goes out of scope, also when exit() unwinds the stack.
template <class F>
class finally {
 public:
  explicit finally(F f) : f_(std::move(f)) {}
  ~finally() { f_(); }
  finally(const finally&) = delete;
  finally& operator=(const finally&) = delete;

 private:
  F f_;
};

}  // namespace

server_state::server_state(handler h, server_options options)
    : handler_(std::move(h)),
      options_(std::move(options)),
      slots_(make_slots(options_.connections)) {
  if (!handler_) throw std::invalid_argument("sley: the handler of a server is empty");
}

// ---- taking connections ----

void server_state::serve(net::tcp_listener& listener) {
  if (!add(listener)) {
    listener.close();
    return;
  }
  const finally forget([&] { remove(listener); });
  while (accept_and_start(listener)) {
  }
}

bool server_state::accept_and_start(net::tcp_listener& listener) {
  if (!take_slot()) return false;
  bool is_started = false;
  const finally give_back([&] {
    if (!is_started) slots_.receive();
  });
  std::error_code error;
  net::tcp_stream stream = listener.accept(error);
  if (error == std::errc::operation_canceled) return false;
  if (error) throw std::system_error(error, "sley: accept");
  begin();
  try {
    go(go_options{.name = "http connection"},
       [self = shared_from_this(), s = std::move(stream)]() mutable {
         const finally end([&] {
           self->slots_.receive();
           self->end();
         });
         self->serve_stream(std::move(s));
       });
    is_started = true;
  } catch (const std::bad_alloc&) {
    end();  // this one is closed; later there may be memory again
  }
  return true;
}

// Parks while there are as many connections as there may be.
bool server_state::take_slot() {
  if (slots_.try_send() == chan_status::ok) return true;
  bool is_taken = false;
  select(on_send(slots_, [&] { is_taken = true; }), on_receive(stopped_, [](bool) {}));
  return is_taken;
}

void server_state::serve_stream(net::tcp_stream stream) {
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
connection_ptr server_state::connect(net::tcp_stream stream) {
  if (!options_.connect) return make_connection(std::move(stream));
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
  return options_.connect(std::move(stream));
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

bool server_state::add(net::tcp_listener& listener) {
  const std::lock_guard guard(lock_);
  if (!is_stopping_) listeners_.insert(&listener);
  return !is_stopping_;
}

void server_state::remove(net::tcp_listener& listener) {
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

void server_state::stop_listening() {
  const std::lock_guard guard(lock_);
  if (!is_stopping_) stopped_.close();
  is_stopping_ = true;
  for (net::tcp_listener* listener : listeners_) {
    std::error_code ignored;
    listener->close(ignored);
  }
  for (const sley::detail::interrupter* handshake : connecting_) handshake->interrupt();
}

bool server_state::shutdown(instant deadline) {
  stop_listening();
  {
    const std::lock_guard guard(lock_);
    for (session* s : sessions_) s->finish_soon();
  }
  const chan<void> empty = when_empty();
  return empty.try_receive_for(sley::detail::time_until(deadline)) != chan_status::timeout;
}

void server_state::close() {
  stop_listening();
  const std::lock_guard guard(lock_);
  is_closed_ = true;
  for (session* s : sessions_) s->cut();
}

void server_state::wait_for_all() { when_empty().receive(); }

std::size_t server_state::connections() const {
  const std::lock_guard guard(lock_);
  return connections_;
}

}  // namespace detail

server::server(handler h, server_options options)
    : state_(std::make_shared<detail::server_state>(std::move(h), std::move(options))) {}

server::~server() {
  state_->close();
  state_->wait_for_all();
}

void server::serve(net::tcp_listener&& listener) {
  net::tcp_listener own = std::move(listener);
  serve(own);
}
// The server may be destroyed while they return: they keep what they work on.
void server::serve(net::tcp_listener& listener) { std::shared_ptr(state_)->serve(listener); }
void server::serve(connection_ptr one) { std::shared_ptr(state_)->serve(std::move(one)); }
bool server::shutdown(instant deadline) { return state_->shutdown(deadline); }
void server::close() { state_->close(); }
std::size_t server::open_connections() const { return state_->connections(); }

}  // namespace sley::http
