// The definitions of what <sley/nats.hpp> declares.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/feed.hpp>
#include <sley/detail/nats_session.hpp>
#include <sley/go.hpp>
#include <sley/nats.hpp>
#include <sley/time_span.hpp>

#include <nats/nats.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::nats {

namespace detail {

class libnats_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "nats"; }
  // libnats looks its texts up in a table and does not check the number.
  std::string message(int status) const override {
    const bool is_known = status >= NATS_OK && status <= NATS_MISSED_HEARTBEAT;
    if (!is_known) return "status " + std::to_string(status);
    return natsStatus_GetText(static_cast<natsStatus>(status));
  }
};

inline std::error_code code_of(const outcome& o) noexcept {
  return o.of_context ? o.of_context : make_error_code(o.status);
}

inline void throw_if_bad(const outcome& o, const char* operation, std::string_view subject = {}) {
  if (o.of_context) throw std::system_error(o.of_context, named(operation, subject));
  if (!o.is_good()) throw error(make_error_code(o.status), operation, subject, o.said);
}

// libnats writes such a text into the protocol as it is, where a blank ends it.
inline std::string checked(std::string_view text) {
  const auto is_refused = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (text.empty() || std::ranges::any_of(text, is_refused)) {
    throw std::invalid_argument("sley: nats: no subject or queue: " + sley::detail::quoted(text));
  }
  return std::string(text);
}

inline const char* address_of(const std::string& server) {
  std::error_code error;
  if (sley::detail::has_zero_byte(server, error)) {
    throw std::invalid_argument("sley: nats: a server's address with a zero byte in it");
  }
  return server.c_str();
}

inline std::int64_t milliseconds(time_span d) noexcept {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(d)).count();
  return std::clamp<std::int64_t>(ms, 1, std::numeric_limits<int>::max());
}

inline owned<natsOptions> options_for(session& s, const connect_options& from) {
  if (from.servers.empty()) throw std::invalid_argument("sley: nats: no server to connect to");
  std::vector<const char*> servers;
  for (const std::string& server : from.servers) servers.push_back(address_of(server));
  natsOptions* made = nullptr;
  natsStatus status = natsOptions_Create(&made);
  owned<natsOptions> options(made);
  if (status == NATS_OK) {
    status = natsOptions_SetServers(made, servers.data(), static_cast<int>(servers.size()));
  }
  if (status == NATS_OK) status = natsOptions_SetTimeout(made, milliseconds(from.connect_limit));
  if (status == NATS_OK && from.adjust) from.adjust(*made);
  if (status == NATS_OK) status = s.attach_to(made);
  throw_if_bad(status == NATS_OK ? outcome() : failure(status), "connect");
  return options;
}

// A context that has ended sends nothing.
inline outcome ready(const std::shared_ptr<session>& s, const context& ctx) {
  if (!s) return {NATS_CONNECTION_CLOSED, natsStatus_GetText(NATS_CONNECTION_CLOSED)};
  return {.of_context = ctx.error()};
}
inline outcome ready_to_publish(const std::shared_ptr<session>& s, std::size_t size,
                                const context& ctx) {
  outcome o = ready(s, ctx);
  if (o.is_good() && size > std::numeric_limits<int>::max()) {
    return {NATS_MAX_PAYLOAD, natsStatus_GetText(NATS_MAX_PAYLOAD)};
  }
  return o.is_good() ? s->wait_for_room(ctx) : o;
}

inline outcome publish(const std::shared_ptr<session>& s, const std::string& subject,
                       std::string_view data, const context& ctx) {
  outcome o = ready_to_publish(s, data.size(), ctx);
  if (!o.is_good()) return o;
  return s->call([&](natsConnection* c) {
    return natsConnection_Publish(c, subject.c_str(), data.data(), static_cast<int>(data.size()));
  });
}
inline outcome publish(const std::shared_ptr<session>& s, const message& m, const context& ctx) {
  if (!m) throw std::invalid_argument("sley: nats: no message");
  checked(subject(*m));
  if (!reply_subject(*m).empty()) checked(reply_subject(*m));
  outcome o = ready_to_publish(s, 0, ctx);
  if (!o.is_good()) return o;
  return s->call([&](natsConnection* c) { return natsConnection_PublishMsg(c, m.get()); });
}

inline outcome request(const std::shared_ptr<session>& s, const std::string& subject,
                       std::string_view data, const context& ctx, message& answer) {
  const outcome o = ready_to_publish(s, data.size(), ctx);
  return o.is_good() ? s->request(subject.c_str(), data, ctx, answer) : o;
}

inline outcome flush(const std::shared_ptr<session>& s, const context& ctx) {
  const outcome o = ready(s, ctx);
  return o.is_good() ? s->round_trip(ctx) : o;
}

// The subscription's goroutine, and what it shares with its owner.
struct feed : sley::detail::feed_of<message> {
  feed(std::shared_ptr<session> from, const subscribe_options& what)
      : feed_of(what.capacity), source(std::move(from)), flow(std::make_shared<inflow>()) {
    flow->refusal = refusal_of_subscription(what.subject, what.queue);
    flow->limit = std::max<std::size_t>(what.pending, 1);
  }
  ~feed() { close(); }

  void begin() {
    start([this](std::error_code& why) { pass_on(why); }, [this] { source->unsubscribe(flow); });
  }
  void pass_on(std::error_code& why) {
    std::optional<outcome> end;
    while (!why && !end) {
      flow->has_changed.receive(life(), why);
      while (!why) {
        owned<natsMsg> m = next(end);
        if (!m) break;
        send(std::move(m), why);
      }
    }
    if (!why && end) why = make_error_code(end->status);
  }
  // Null if none waits, and then `end` is the subscription's, if it has ended.
  owned<natsMsg> next(std::optional<outcome>& end) {
    return source->locked([&] {
      owned<natsMsg> m;
      if (flow->queue.empty()) {
        end = flow->end;
      } else {
        m = std::move(flow->queue.front());
        flow->queue.pop_front();
      }
      return m;
    });
  }

  const std::shared_ptr<session> source;
  const std::shared_ptr<inflow> flow;
};

}  // namespace detail

inline const std::error_category& category() noexcept {
  static const detail::libnats_category one;
  return one;
}

inline connection connection::connect(const connect_options& options, const context& ctx) {
  if (const std::error_code ended = ctx.error()) {
    detail::throw_if_bad({.of_context = ended}, "connect");
  }
  const auto s =
      std::make_shared<detail::session>(detail::checked(options.inbox_prefix), options.check_after);
  const std::shared_ptr<natsOptions> of_libnats = detail::options_for(*s, options);
  go([s, of_libnats] { s->open(of_libnats.get()); });
  detail::outcome o = s->wait_until_open(ctx);
  if (o.is_good()) o = s->round_trip(ctx);
  detail::throw_if_bad(o, "connect");
  return connection(s);
}

inline connection& connection::operator=(connection&& other) noexcept {
  if (this == &other) return *this;
  close();
  session_ = std::move(other.session_);
  return *this;
}

inline void connection::publish(std::string_view subject, std::string_view data,
                                const context& ctx) {
  detail::throw_if_bad(detail::publish(session_, detail::checked(subject), data, ctx), "publish",
                       subject);
}
inline void connection::publish(std::string_view subject, std::string_view data, const context& ctx,
                                std::error_code& error) {
  error = detail::code_of(detail::publish(session_, detail::checked(subject), data, ctx));
}
inline void connection::publish(const message& m, const context& ctx) {
  const detail::outcome o = detail::publish(session_, m, ctx);
  detail::throw_if_bad(o, "publish", subject(*m));
}
inline void connection::publish(const message& m, const context& ctx, std::error_code& error) {
  error = detail::code_of(detail::publish(session_, m, ctx));
}

inline message connection::request(std::string_view subject, std::string_view data,
                                   const context& ctx) {
  message answer;
  detail::throw_if_bad(detail::request(session_, detail::checked(subject), data, ctx, answer),
                       "request", subject);
  return answer;
}
inline message connection::request(std::string_view subject, std::string_view data,
                                   const context& ctx, std::error_code& error) {
  message answer;
  error = detail::code_of(detail::request(session_, detail::checked(subject), data, ctx, answer));
  return answer;
}

inline void connection::flush(const context& ctx) {
  detail::throw_if_bad(detail::flush(session_, ctx), "flush");
}
inline void connection::flush(const context& ctx, std::error_code& error) {
  error = detail::code_of(detail::flush(session_, ctx));
}

inline void connection::close() noexcept {
  if (session_) session_->close();
}

inline bool connection::is_open() const noexcept { return session_ && session_->is_open(); }

inline std::string connection::last_refusal() const {
  return session_ ? session_->last_refusal() : std::string();
}

inline subscription::subscription(connection& source, const subscribe_options& what,
                                  const context& ctx) {
  const std::string subject = detail::checked(what.subject);
  const std::string queue = what.queue.empty() ? std::string() : detail::checked(what.queue);
  detail::outcome o = detail::ready(source.session_, ctx);
  if (o.is_good()) {
    feed_ = std::make_unique<detail::feed>(source.session_, what);
    o = source.session_->subscribe(feed_->flow, subject.c_str(),
                                   queue.empty() ? nullptr : queue.c_str(), ctx);
  }
  detail::throw_if_bad(o, "subscribe", what.subject);
  feed_->begin();
}

inline subscription::subscription(subscription&&) noexcept = default;
inline subscription& subscription::operator=(subscription&&) noexcept = default;
inline subscription::~subscription() = default;

inline recv_chan<message> subscription::messages() const noexcept {
  return feed_ ? recv_chan<message>(feed_->messages()) : recv_chan<message>();
}

inline std::error_code subscription::error() const {
  return feed_ ? feed_->error() : std::error_code();
}

inline std::uint64_t subscription::dropped() const {
  return feed_ ? feed_->source->locked([&] { return feed_->flow->dropped; }) : 0;
}

inline void subscription::close() noexcept {
  if (feed_) feed_->close();
}

}  // namespace sley::nats
