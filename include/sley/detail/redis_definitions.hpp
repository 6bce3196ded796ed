// The definitions of what <sley/redis.hpp> declares.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/feed.hpp>
#include <sley/detail/redis_session.hpp>
#include <sley/mutex.hpp>
#include <sley/net.hpp>
#include <sley/redis.hpp>

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::redis {

inline pipeline& pipeline::add(words command) {
  detail::refuse_unanswered(command.get());
  detail::append(bytes_, command.get());
  ++size_;
  return *this;
}

inline connection connection::connect(const connect_options& options, const context& ctx) {
  const std::string& address = options.address;
  const bool is_path = !address.empty() && std::string_view("/.@").find(address[0]) != address.npos;
  connection c = is_path ? connection(net::unix_stream::connect(address, ctx))
                         : connection(net::tcp_stream::connect(address, ctx));
  if (!options.password.empty() && options.user.empty()) {
    c.command({"AUTH", options.password}, ctx);
  } else if (!options.password.empty()) {
    c.command({"AUTH", options.user, options.password}, ctx);
  }
  if (options.database != 0) c.command({"SELECT", std::to_string(options.database)}, ctx);
  return c;
}

inline std::unique_lock<mutex> connection::begin(const context& ctx, std::error_code& error) {
  error = ctx.error();
  if (!session_) error = make_error_code(std::errc::not_connected);
  if (error) return {};
  std::unique_lock lock(session_->in_use, std::try_to_lock);
  if (!lock) throw std::logic_error("sley: redis: two goroutines use one connection");
  if (!session_->is_in_step()) error = make_error_code(std::errc::not_connected);
  return lock;
}

inline reply connection::command(words command, const context& ctx, std::error_code& error) {
  detail::refuse_unanswered(command.get());
  std::string bytes;
  detail::append(bytes, command.get());
  const std::unique_lock use = begin(ctx, error);
  if (error) return {};
  session_->expect(1);
  session_->write(bytes, ctx, error);
  return error ? reply() : session_->take(ctx, error);
}

inline reply connection::command(words command, const context& ctx) {
  std::error_code error;
  reply r = this->command(command, ctx, error);
  if (error) throw sley::detail::failed(error, "sley: redis:", command.get()[0]);
  if (r->type == REDIS_REPLY_ERROR) throw error_reply(command.get()[0], text(*r));
  return r;
}

inline std::vector<reply> connection::run(const pipeline& commands, const context& ctx,
                                          std::error_code& error) {
  std::vector<reply> replies;
  replies.reserve(commands.size());
  const std::unique_lock use = begin(ctx, error);
  if (error) return replies;
  session_->expect(commands.size());
  if (commands.bytes_.size() <= detail::session::at_once) {
    session_->write(commands.bytes_, ctx, error);
    session_->take_all(replies, ctx, error);
  } else {
    session_->write_and_take_all(commands.bytes_, replies, ctx, error);
  }
  return replies;
}

inline std::vector<reply> connection::run(const pipeline& commands, const context& ctx) {
  std::error_code error;
  std::vector<reply> replies = run(commands, ctx, error);
  if (error) throw std::system_error(error, "sley: redis: pipeline");
  return replies;
}

inline bool connection::is_open() const noexcept { return session_ && session_->is_in_step(); }

inline bool connection::is_healthy(const connect_options& options) {
  if (!is_open()) return false;
  if (std::chrono::steady_clock::now() - session_->last_use() < options.ping_after) return true;
  const auto [ctx, cancel] = with_timeout(context::background(), options.ping_limit);
  std::error_code error;
  const reply r = command({"PING"}, ctx, error);
  cancel();
  return r && text(*r) == "PONG";
}

inline pool_options<connection> pooled(connect_options server, pool_options<connection> others) {
  others.check = [server](connection& c) { return c.is_healthy(server); };
  others.make = [server = std::move(server)](const context& ctx) {
    return connection::connect(server, ctx);
  };
  return others;
}

namespace detail {

// The subscription's goroutine, and what it shares with its owner.
struct feed : sley::detail::feed_of<message> {
  explicit feed(std::unique_ptr<session> from, std::size_t capacity)
      : feed_of(capacity), source(std::move(from)) {}
  ~feed() { close(); }

  // Until all is confirmed. Messages may come in between.
  void confirm(std::size_t subscriptions, const context& ctx) {
    while (subscriptions > 0) {  // ends: each round takes what the server sends, or throws
      std::error_code why;
      const reply r = source->read(ctx, why);
      if (why) throw std::system_error(why, "sley: redis: SUBSCRIBE");
      if (r->type == REDIS_REPLY_ERROR) throw error_reply("SUBSCRIBE", text(*r));
      if (std::optional<message> m = message_of(*r)) {
        early.push_back(std::move(*m));
      } else {
        --subscriptions;
      }
    }
  }

  void begin() {
    start([this](std::error_code& why) { pass_on(why); }, [this] { source->abort(); });
  }
  void pass_on(std::error_code& why) {
    for (message& m : early) {
      if (!why) send(std::move(m), why);
    }
    while (!why) {
      const reply r = source->read(life(), why);
      std::optional<message> m = r ? message_of(*r) : std::nullopt;
      if (m && !why) send(std::move(*m), why);
    }
  }

  // None for what is no message, as a confirmation.
  static std::optional<message> message_of(const redisReply& r) {
    const auto part = [&](std::size_t i) { return std::string(text(*r.element[i])); };
    if (r.type != REDIS_REPLY_ARRAY || r.elements < 3) return {};
    const std::string_view kind = text(*r.element[0]);
    if (kind == "message") return message{part(1), part(2), {}};
    if (kind == "pmessage" && r.elements > 3) return message{part(2), part(3), part(1)};
    return {};
  }

  const std::unique_ptr<session> source;
  std::vector<message> early;  // [owner] of the constructor, then of the goroutine
};

// Appends the command with these arguments, and returns their number; nothing if there are none.
inline std::size_t append_list(std::string& to, std::string_view command,
                               const std::vector<std::string>& arguments) {
  if (arguments.empty()) return 0;
  std::vector<std::string_view> all{command};
  all.insert(all.end(), arguments.begin(), arguments.end());
  append(to, all);
  return arguments.size();
}

}  // namespace detail

inline subscription::subscription(connection source, const subscribe_options& what,
                                  const context& ctx) {
  std::string bytes;
  const std::size_t subscriptions = detail::append_list(bytes, "SUBSCRIBE", what.channels) +
                                    detail::append_list(bytes, "PSUBSCRIBE", what.patterns);
  if (subscriptions == 0) throw std::invalid_argument("sley: redis: a subscription to nothing");
  std::error_code error;
  source.begin(ctx, error);
  if (!error) source.session_->write(bytes, ctx, error);
  if (error) throw std::system_error(error, "sley: redis: SUBSCRIBE");
  feed_ = std::make_unique<detail::feed>(std::move(source.session_), what.capacity);
  feed_->confirm(subscriptions, ctx);
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

inline void subscription::close() noexcept {
  if (feed_) feed_->close();
}

}  // namespace sley::redis
