#include "http/client_pool.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/go.hpp>
#include <sley/select.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <mutex>
#include <utility>

namespace sley::http::detail {

// ---- taking ----

client_pool::lease client_pool::take(const context& ctx, const url& to, bool is_fresh,
                                     std::error_code& error) {
  error = ctx.error();
  if (error) return {};
  const std::shared_ptr<host> h = begin(to);
  sley::detail::place taken(h->places, ctx, error);
  if (error) {
    end(h);
    return {};
  }
  lease l(shared_from_this(), h, std::move(taken));
  if (!is_fresh) {
    l.wire_ = reuse(*h);
  } else if (const auto given_up = pop_idle(*h)) {
    stop_watching(*given_up);  // makes room for the new one
    given_up->what->transport->close();
  }
  if (l.wire_) return l;
  connection_ptr c = dial(ctx, to, error);
  if (!error) l.wire_ = std::make_shared<wire>(std::move(c));
  return error ? lease() : std::move(l);
}

std::shared_ptr<client_pool::host> client_pool::begin(const url& to) {
  std::string name = to.scheme + "://" + to.host_port();
  const std::lock_guard guard(lock_);
  const auto found = hosts_.find(name);
  if (found != hosts_.end()) {
    ++found->second->users;
    return found->second;
  }
  auto h = std::make_shared<host>(name, options_.connections_per_host);
  hosts_.emplace(std::move(name), h);
  ++h->users;
  return h;
}

void client_pool::end(const std::shared_ptr<host>& h) noexcept {
  const std::lock_guard guard(lock_);
  --h->users;
  forget_if_unused(*h);
}

// Under the lock.
void client_pool::forget_if_unused(const host& h) noexcept {
  if (h.users > 0 || !h.idle.empty()) return;
  const auto found = hosts_.find(h.name);
  if (found != hosts_.end() && found->second.get() == &h) hosts_.erase(found);
}

std::shared_ptr<wire> client_pool::reuse(host& h) {
  while (const auto i = pop_idle(h)) {  // ends: there are fewer
    stop_watching(*i);
    wire& w = *i->what;
    if (i->is_clean) {
      w.is_reused = true;
      w.read_deadline.set(time_point::max());
      w.transport->set_read_deadline(time_point::max());
      return i->what;
    }
    w.transport->close();
  }
  return nullptr;
}

std::shared_ptr<client_pool::idle_wire> client_pool::pop_idle(host& h) {
  const std::lock_guard guard(lock_);
  if (h.idle.empty()) return nullptr;
  auto i = std::move(h.idle.back());
  h.idle.pop_back();
  --idle_;
  return i;
}

// Of one that was taken out of the list before.
void client_pool::stop_watching(idle_wire& i) {
  i.what->transport->set_read_deadline(time_point());
  i.ended.receive();
}

// ---- making one ----

namespace {

connection_ptr connect_tcp(const context& ctx, const url& to) {
  std::error_code error;
  if (to.scheme != "http") error = std::make_error_code(std::errc::protocol_not_supported);
  net::tcp_stream stream;
  if (!error) stream = net::tcp_stream::connect(to.host_port(), ctx, error);
  if (error) throw sley::detail::failed(error, "sley: connect to", to.host_port());
  return make_connection(std::move(stream));
}

struct dialled {
  connection_ptr connection;
  std::exception_ptr failure;
};

dialled connect_by(const connector& connect, const context& ctx, const url& to) {
  try {
    dialled d{connect ? connect(ctx, to) : connect_tcp(ctx, to), nullptr};
    if (d.connection) return d;
    throw std::system_error(std::make_error_code(std::errc::not_connected), "sley: connect");
  } catch (...) {
    const std::exception_ptr e = std::current_exception();
    if (!e) throw;  // no exception, but this_goroutine::exit() unwinding the stack
    return {nullptr, e};
  }
}

}  // namespace

// A context that may end needs a second goroutine: not all that a connector does can be broken off.
// It may go on when it is not waited for any more; what it brings is closed then.
connection_ptr client_pool::dial(const context& ctx, const url& to, std::error_code& error) const {
  const time_span timeout = options_.connect_timeout;
  auto [timed, cancel] = timeout == timeout.zero() ? with_cancel(ctx) : with_timeout(ctx, timeout);
  std::shared_ptr<dialled> result;
  if (ctx == context::background()) {
    result = std::make_shared<dialled>(connect_by(options_.connect, timed, to));
  } else {
    const chan<std::shared_ptr<dialled>> results(1);
    go(go_options{.name = "http connect"}, [results, by = options_.connect, timed, to] {
      results.send(std::make_shared<dialled>(connect_by(by, timed, to)));
    });
    select(on_receive(results, [&](std::optional<std::shared_ptr<dialled>> r) { result = *r; }),
           on_receive(ctx.done(), [](bool) {}));
  }
  cancel();
  if (ctx.error()) error = ctx.error();
  if (!result || error) return nullptr;
  if (!result->failure) return std::move(result->connection);
  try {
    std::rethrow_exception(result->failure);
  } catch (const std::system_error& e) {
    error = e.code();
  }
  return nullptr;
}

// ---- giving back ----

client_pool::lease::~lease() { drop(); }

void client_pool::lease::drop() noexcept {
  if (!host_) return;
  if (wire_) wire_->transport->close();
  wire_.reset();
  place_.reset();
  pool_->end(host_);
  host_.reset();
}

void client_pool::lease::give_back() {
  wire_->input.release();
  pool_->keep(host_, std::move(wire_));
  wire_.reset();
  drop();
}

void client_pool::keep(const std::shared_ptr<host>& h, std::shared_ptr<wire> w) {
  const time_span timeout = options_.idle_timeout;
  // Before another request may take it and set it to the past.
  w->transport->set_read_deadline(timeout == timeout.zero() ? time_point::max()
                                                            : sley::detail::time_in(timeout));
  const auto i = std::make_shared<idle_wire>(idle_wire{.what = w});
  bool is_kept = false;
  {
    const std::lock_guard guard(lock_);
    is_kept = !is_closed_ && idle_ < options_.idle_connections;
    if (is_kept) {
      h->idle.push_back(i);
      ++idle_;
    }
  }
  if (!is_kept) return w->transport->close();
  try {
    go(go_options{.name = "http idle"}, [self = shared_from_this(), h, i] { self->watch(h, i); });
  } catch (const std::bad_alloc&) {
    end_watching(*h, i);
  }
}

void client_pool::watch(const std::shared_ptr<host>& h, const std::shared_ptr<idle_wire>& i) {
  std::array<std::byte, 1> byte;
  std::error_code error;
  const std::size_t n = i->what->transport->read_some(byte, error);
  i->is_clean = n == 0 && error == std::errc::timed_out;
  end_watching(*h, i);
}

void client_pool::end_watching(host& h, const std::shared_ptr<idle_wire>& i) {
  if (remove_idle(h, i)) i->what->transport->close();
  i->ended.close();
}

// False: a request or close_idle() has taken it.
bool client_pool::remove_idle(host& h, const std::shared_ptr<idle_wire>& i) {
  const std::lock_guard guard(lock_);
  const auto found = std::ranges::find(h.idle, i);
  if (found == h.idle.end()) return false;
  h.idle.erase(found);
  --idle_;
  forget_if_unused(h);
  return true;
}

// ---- the end ----

void client_pool::close_idle() {
  std::vector<std::shared_ptr<idle_wire>> all;
  {
    const std::lock_guard guard(lock_);
    for (auto& [name, h] : hosts_) {
      all.insert(all.end(), h->idle.begin(), h->idle.end());
      h->idle.clear();
    }
    idle_ = 0;
    std::erase_if(hosts_, [](const auto& named) { return named.second->users == 0; });
  }
  for (const auto& i : all) i->what->transport->close();
  for (const auto& i : all) i->ended.receive();
}

void client_pool::close() {
  {
    const std::lock_guard guard(lock_);
    is_closed_ = true;
  }
  close_idle();
}

std::size_t client_pool::idle_connections() const {
  const std::lock_guard guard(lock_);
  return idle_;
}

}  // namespace sley::http::detail
