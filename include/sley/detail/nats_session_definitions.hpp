// The definitions of what <sley/detail/nats_session.hpp> declares.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/nats_session.hpp>
#include <sley/os.hpp>
#include <sley/poll_loop.hpp>
#include <sley/runtime.hpp>
#include <sley/time_span.hpp>
#include <sley/wait_group.hpp>

#include <dlfcn.h>
#include <nats/nats.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::nats::detail {

// What a goroutine waits for: that a message comes to a subject of its own, or that the server
// refuses it. [lock: loop_]
class session::awaited {
 public:
  explicit awaited(session& s) noexcept : session_(s) {}
  ~awaited() {
    session_.loop_.run([this] { finish({}); });
  }
  awaited(const awaited&) = delete;
  awaited& operator=(const awaited&) = delete;

  // Subscribes to the subject, which it returns. The refusal is that of the message that is
  // published next.
  natsStatus begin(natsConnection* c, std::string& reply_subject, std::string refusal_of_request) {
    reply_subject = session_.inbox_ + std::to_string(session_.next_++);
    refusals_[0] = refusal_of_subscription(reply_subject, {});
    refusals_[1] = std::move(refusal_of_request);
    session_.waiting_.insert(this);
    has_come.add(1);
    return subscribe_at(c, source_, reply_subject.c_str(), nullptr);
  }
  bool is_waited_for() const noexcept { return !has_come.is_done(); }
  void look() {
    if (pending(source_) == 0) return;
    natsMsg* m = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&m, source_.get(), 0);
    answer.reset(m);
    finish(status == NATS_OK ? outcome{} : failure(status));  // as NATS_NO_RESPONDERS
  }
  void refuse(std::string_view said) {
    const bool is_meant = std::ranges::any_of(
        refusals_, [&](const std::string& refusal) { return is_refusal(said, refusal); });
    if (is_meant) finish({NATS_NOT_PERMITTED, std::string(said)});
  }
  // The first end counts.
  void finish(outcome o) {
    if (!is_waited_for()) return;
    end = std::move(o);
    source_.reset();
    session_.waiting_.erase(this);
    has_come.done();
  }

  wait_group has_come;
  owned<natsMsg> answer;
  outcome end;

 private:
  session& session_;
  owned<natsSubscription> source_;
  std::array<std::string, 2> refusals_;
};

inline natsStatus session::attach_to(natsOptions* options) {
  target_->to = weak_from_this();
  natsStatus s = natsOptions_SetAllowReconnect(options, false);
  const auto set = [&](natsStatus next) { s = s == NATS_OK ? next : s; };
  set(natsOptions_SetRetryOnFailedConnect(options, false, nullptr, nullptr));
  set(natsOptions_SetSendAsap(options, true));  // else a thread sends
  set(natsOptions_SetPingInterval(options, 0));
  set(natsOptions_SetNoEcho(options, false));  // round_trip() hears itself
  set(natsOptions_SetErrorHandler(options, &on_error, target_.get()));
  set(natsOptions_SetClosedCB(options, &on_closed, target_.get()));
  set(natsOptions_SetEventLoop(options, this, &on_attach, &on_read, &on_write, &on_detach));
  return s;
}

inline void session::open(natsOptions* options) {
  natsConnection* made = nullptr;
  outcome o;
  blocking([&] {
    const natsStatus status = natsConnection_Connect(&made, options);
    if (status != NATS_OK) o = failure(status);
  });
  if (made != nullptr) target_.release();  // on_closed() has it
  loop_.run([&] {
    connection_ = made;
    if (o.is_good()) o = call([this](natsConnection*) { return begin(); });
    if (o.is_good()) return;
    if (made != nullptr) abort(o.said);
    end_ = std::move(o);
  });
  opening_.done();
}

inline natsStatus session::begin() {
  natsInbox* made = nullptr;
  natsStatus s = natsInbox_Create(&made);
  if (s != NATS_OK) return s;
  const owned<natsInbox> inbox(made);
  const std::string_view unique = inbox.get();
  inbox_ += std::string(unique.substr(unique.rfind('.'))) + '.';
  reads_ = true;
  loop_.set_timer(check_after_);
  return watch();
}

// libnats drops no message of it: take_messages() does.
inline natsStatus session::subscribe_at(natsConnection* c, owned<natsSubscription>& to,
                                        const char* subject, const char* queue) {
  natsSubscription* made = nullptr;
  const natsStatus s = queue == nullptr
                           ? natsConnection_SubscribeSync(&made, c, subject)
                           : natsConnection_QueueSubscribeSync(&made, c, subject, queue);
  to.reset(made);
  return s == NATS_OK ? natsSubscription_SetPendingLimits(made, -1, -1) : s;
}

inline outcome session::wait_until_open(const context& ctx) {
  outcome o;
  opening_.wait(ctx, o.of_context);
  return o.of_context ? o : call([](natsConnection*) { return NATS_OK; });
}

inline outcome session::await(awaited& a, const context& ctx, outcome of_sending) {
  if (!of_sending.is_good()) return of_sending;
  a.has_come.wait(ctx, of_sending.of_context);
  return loop_.run([&] { return a.is_waited_for() ? of_sending : a.end; });
}

// The message comes back; or the server says that one may not subscribe or publish to its subject,
// which is an answer as well.
inline outcome session::round_trip(const context& ctx) {
  awaited a(*this);
  outcome o =
      await(a, ctx, call([&](natsConnection* c) {
              std::string subject;
              const natsStatus s =
                  a.begin(c, subject, refusal_of_publish(inbox_ + std::to_string(next_)));
              return s == NATS_OK ? natsConnection_PublishString(c, subject.c_str(), "") : s;
            }));
  return o.status == NATS_NOT_PERMITTED ? outcome() : o;
}

inline outcome session::wait_for_room(const context& ctx) {
  int buffered = 0;
  const outcome o = call([&](natsConnection* c) {
    buffered = natsConnection_Buffered(c);
    return NATS_OK;
  });
  return o.is_good() && buffered > most_buffered ? round_trip(ctx) : o;
}

inline outcome session::request(const char* subject, std::string_view data, const context& ctx,
                                owned<natsMsg>& answer) {
  awaited a(*this);
  outcome o =
      await(a, ctx, call([&](natsConnection* c) {
              std::string reply_subject;
              const natsStatus s = a.begin(c, reply_subject, refusal_of_publish(subject));
              if (s != NATS_OK) return s;
              return natsConnection_PublishRequest(c, subject, reply_subject.c_str(), data.data(),
                                                   static_cast<int>(data.size()));
            }));
  if (o.is_good()) answer = std::move(a.answer);
  return o;
}

inline outcome session::subscribe(const std::shared_ptr<inflow>& to, const char* subject,
                                  const char* queue, const context& ctx) {
  outcome o = call([&](natsConnection* c) {
    inflows_.push_back(to);
    return subscribe_at(c, to->source, subject, queue);
  });
  if (o.is_good()) o = round_trip(ctx);
  if (o.is_good()) o = loop_.run([&] { return to->end.value_or(outcome()); });
  if (!o.is_good()) unsubscribe(to);
  return o;
}

inline void session::unsubscribe(const std::shared_ptr<inflow>& from) noexcept {
  loop_.run([&] {
    std::erase(inflows_, from);
    from->source.reset();
    from->queue.clear();
  });
}

inline void session::close() noexcept {
  loop_.run([this] {
    if (connection_ == nullptr || end_) return;
    if (natsConnection_Buffered(connection_) > 0) natsConnection_ProcessWriteEvent(connection_);
    take_what_came();  // a write that has failed has ended the connection, and closed its socket
    if (!end_) abort("closed");
  });
  loop_.stop();
}

// What follows runs in the loop's callbacks and in loop_.run().

inline void session::go_on(os::poll_events found) {
  using enum os::poll_events;
  if ((found & (readable | hang_up | failure)) != none) {
    has_heard_ = true;
    natsConnection_ProcessReadEvent(connection_);
  }
  if ((found & writable) != none) natsConnection_ProcessWriteEvent(connection_);
  take_what_came();
}

inline void session::take_what_came() {
  if (end_) return;
  for (const auto& flow : inflows_) take_messages(*flow);
  for (auto i = waiting_.begin(); i != waiting_.end();) (*i++)->look();  // which may take it away
  const char* said = nullptr;
  const natsStatus status = natsConnection_GetLastError(connection_, &said);
  if (status == NATS_NOT_PERMITTED && said != last_refusal_) {
    last_refusal_ = said;
    seen_.push_back(last_refusal_);
    refuse(last_refusal_);
  }
  if (!natsConnection_IsClosed(connection_)) return;
  // For the others the words may be of an earlier error.
  const bool is_of_server = status == NATS_ERR || status == NATS_CONNECTION_AUTH_FAILED;
  end_all(is_of_server ? said : natsStatus_GetText(status));
}

inline int session::pending(const owned<natsSubscription>& s) noexcept {
  int count = 0;
  const bool is_known = s && natsSubscription_GetPending(s.get(), &count, nullptr) == NATS_OK;
  return is_known ? count : 0;
}

inline void session::take_messages(inflow& to) {
  while (pending(to.source) > 0) {  // ends: each round takes one
    natsMsg* m = nullptr;
    if (natsSubscription_NextMsg(&m, to.source.get(), 0) != NATS_OK) continue;
    owned<natsMsg> taken(m);
    if (to.queue.size() < to.limit) {
      to.queue.push_back(std::move(taken));
    } else {
      ++to.dropped;
    }
  }
  if (!to.queue.empty()) to.wake();
}

inline void session::refuse(std::string_view said) {
  for (auto i = waiting_.begin(); i != waiting_.end();) (*i++)->refuse(said);
  for (const auto& flow : std::vector(inflows_)) {
    if (is_refusal(said, flow->refusal)) end_flow(flow, {NATS_NOT_PERMITTED, std::string(said)});
  }
}

// Twice without a word: the connection is lost. What waits in the socket counts, because a process
// that stood still has its timer first.
inline void session::check() {
  if (end_) return;
  char byte = 0;
  has_heard_ |= ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
  if (has_asked_ && !has_heard_) return abort(natsStatus_GetText(NATS_STALE_CONNECTION));
  has_asked_ = !has_heard_;
  has_heard_ = false;
  if (has_asked_) ask();
  loop_.set_timer(check_after_);
}

// As round_trip(), without waiting: whatever the server says is a sign of life.
inline void session::ask() {
  const std::string subject = inbox_ + std::to_string(next_++);
  owned<natsSubscription> s;
  if (subscribe_at(connection_, s, subject.c_str(), nullptr) != NATS_OK) return;
  natsConnection_PublishString(connection_, subject.c_str(), "");
}

// Without waiting for anything. natsConnection_Close() would wait for what is buffered to be sent;
// a write that fails has ended the connection before.
inline void session::abort(std::string_view why) {
  ::shutdown(socket_, SHUT_RDWR);
  if (natsConnection_Buffered(connection_) > 0) natsConnection_ProcessWriteEvent(connection_);
  natsConnection_Close(connection_);
  end_all(why);
}

inline void session::end_all(std::string_view why) {
  end_ = outcome{NATS_CONNECTION_CLOSED, std::string(why)};
  while (!waiting_.empty()) (*waiting_.begin())->finish(*end_);
  while (!inflows_.empty()) end_flow(inflows_.back(), *end_);
  // From libnats 3.10 on the socket is the loop's to close. Earlier ones have closed it.
  using close_function = void (*)(natsSock*);
  static const auto close_socket =
      reinterpret_cast<close_function>(::dlsym(RTLD_DEFAULT, "natsConnection_ProcessCloseEvent"));
  if (close_socket != nullptr) close_socket(&socket_);
}

inline void session::end_flow(std::shared_ptr<inflow> flow, outcome why) {
  std::erase(inflows_, flow);
  if (flow->end) return;
  flow->end = std::move(why);
  flow->source.reset();
  flow->wake();
}

// libnats' callbacks.

inline natsStatus session::on_attach(void** user, void* self, natsConnection*,
                                     natsSock socket) noexcept {
  static_cast<session*>(self)->socket_ = socket;  // begin() watches it
  *user = self;
  return NATS_OK;
}

inline natsStatus session::on_read(void* self, bool is_wanted) noexcept {
  static_cast<session*>(self)->reads_ = is_wanted;
  return static_cast<session*>(self)->watch();
}
inline natsStatus session::on_write(void* self, bool is_wanted) noexcept {
  static_cast<session*>(self)->writes_ = is_wanted;
  return static_cast<session*>(self)->watch();
}

inline natsStatus session::watch() noexcept {
  using enum os::poll_events;
  std::error_code error;
  if (reads_ || writes_) {
    loop_.watch(socket_, (reads_ ? readable : none) | (writes_ ? writable : none), error);
  } else {
    loop_.forget(socket_);
  }
  return error ? NATS_SYS_ERROR : NATS_OK;
}

// On libnats' thread for such calls. take_what_came() sees the last refusal of each read, unless it
// is in the words of the one before, and earlier than this; here come all of them, in order. So the
// first one of `seen_` is told here before the next one, and is old then: what waits now may have
// asked for the same since, and its own refusal is still to come.
inline void session::on_error(natsConnection*, natsSubscription*, natsStatus status,
                              void* to) noexcept {
  if (status != NATS_NOT_PERMITTED) return;
  const std::shared_ptr<session> s = static_cast<target*>(to)->to.lock();
  if (!s) return;
  s->loop_.run([&] {
    const std::string said = failure(status).said;
    if (!s->seen_.empty() && is_refusal(said, s->seen_.front())) {
      s->seen_.pop_front();
    } else {
      s->refuse(said);
    }
  });
}

}  // namespace sley::nats::detail
