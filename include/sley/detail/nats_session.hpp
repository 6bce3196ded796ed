// A connection of libnats on an event loop. For <sley/nats.hpp>, which is for users.
//
// All calls of libnats are made in the loop's callbacks or in loop_.run(): libnats' own callbacks
// come inside of them, and no goroutine waits for a lock of libnats'. Exceptions: connecting, which
// blocks a thread, and the thread of libnats' that reports refusals and the end.
//
// libnats' pings are off, because its timer would close the socket under the loop; so is its
// reconnecting, a thread of its own. Subscriptions are its synchronous ones: it makes a thread for
// each of the others. What they have received is taken after each read.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/os.hpp>
#include <sley/poll_loop.hpp>
#include <sley/time_span.hpp>
#include <sley/wait_group.hpp>

#include <nats/nats.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::nats::detail {

struct free_by_libnats {
  void operator()(natsMsg* m) const noexcept { natsMsg_Destroy(m); }
  void operator()(natsOptions* o) const noexcept { natsOptions_Destroy(o); }
  void operator()(natsSubscription* s) const noexcept { natsSubscription_Destroy(s); }
  void operator()(natsInbox* i) const noexcept { natsInbox_Destroy(i); }
};
template <class T>
using owned = std::unique_ptr<T, free_by_libnats>;

// How a call has ended: by libnats or the server, with their words, or by the context.
struct outcome {
  natsStatus status = NATS_OK;
  std::string said = {};
  std::error_code of_context = {};

  bool is_good() const noexcept { return status == NATS_OK && !of_context; }
};

// What a call of this thread has left. libnats writes "(conn.c:1905): " before its words.
inline outcome failure(natsStatus status) {
  natsStatus of_words = NATS_OK;
  const char* const found = nats_GetLastError(&of_words);
  std::string_view words = found == nullptr ? std::string_view() : std::string_view(found);
  if (const std::size_t end = words.find("): "); words.starts_with('(') && end != words.npos) {
    words.remove_prefix(end + 3);
  }
  if (words.empty() || of_words != status) words = natsStatus_GetText(status);
  return {status, std::string(words)};
}

// As the server says it, and libnats keeps it: the first 255 bytes.
inline std::string refusal_of_publish(std::string_view subject) {
  return "Permissions Violation for Publish to \"" + std::string(subject) + '"';
}
inline std::string refusal_of_subscription(std::string_view subject, std::string_view queue) {
  std::string text = "Permissions Violation for Subscription to \"" + std::string(subject) + '"';
  if (!queue.empty()) text += " using queue \"" + std::string(queue) + '"';
  return text;
}
inline bool is_refusal(std::string_view said, std::string_view refusal) noexcept {
  constexpr std::size_t kept = 240;  // what is certain to be there, whatever libnats trims
  return said.substr(0, kept) == refusal.substr(0, kept);
}

// A subscription's messages between the loop and the goroutine that passes them on. [lock: loop_]
struct inflow {
  owned<natsSubscription> source;
  std::string refusal;
  std::size_t limit = 0;
  std::deque<owned<natsMsg>> queue;
  std::uint64_t dropped = 0;
  std::optional<outcome> end;
  const chan<void> has_changed{1};  // queue or end, since it was received from

  // The goroutine looks at everything after it has received: so one token is enough.
  void wake() const { has_changed.try_send(); }
};

class session : public std::enable_shared_from_this<session> {
 public:
  session(std::string inbox_prefix, time_span check_after)
      : loop_([this](int, os::poll_events found) { go_on(found); }, [this] { check(); }),
        inbox_(std::move(inbox_prefix)),
        check_after_(check_after > time_span() ? check_after : time_span(time_span::max())) {
    opening_.add(1);
  }
  ~session() {
    close();
    natsConnection_Destroy(connection_);
  }

  // Connects, and blocks its thread meanwhile. Once.
  void open(natsOptions* options);
  // Parks until open() has ended.
  outcome wait_until_open(const context& ctx);

  // For the options, which it changes so that this session can serve the connection.
  natsStatus attach_to(natsOptions* options);

  // f(connection), which returns libnats' status. Nothing else of libnats runs meanwhile.
  template <class F>
  outcome call(F f) {
    return loop_.run([&]() -> outcome {
      if (end_ || connection_ == nullptr) return end_.value_or(outcome{NATS_CONNECTION_CLOSED});
      const natsStatus status = f(connection_);
      return status == NATS_OK ? outcome{} : failure(status);
    });
  }
  // Parks while too much waits to be sent.
  outcome wait_for_room(const context& ctx);
  // Parks until the server has handled all that was sent before.
  outcome round_trip(const context& ctx);
  outcome request(const char* subject, std::string_view data, const context& ctx,
                  owned<natsMsg>& answer);

  // Parks until the server has handled it.
  outcome subscribe(const std::shared_ptr<inflow>& to, const char* subject, const char* queue,
                    const context& ctx);
  void unsubscribe(const std::shared_ptr<inflow>& from) noexcept;
  void close() noexcept;

  bool is_open() {
    return loop_.run([&] { return connection_ != nullptr && !end_; });
  }
  std::string last_refusal() {
    return loop_.run([&] { return last_refusal_; });
  }
  // What f returns, while no message comes in.
  template <class F>
  decltype(auto) locked(F f) {
    return loop_.run(f);
  }

 private:
  static constexpr int most_buffered = 1 << 20;  // bytes

  class awaited;
  struct target {
    std::weak_ptr<session> to;
  };

  outcome await(awaited& a, const context& ctx, outcome of_sending);
  natsStatus begin();
  static natsStatus subscribe_at(natsConnection* c, owned<natsSubscription>& to,
                                 const char* subject, const char* queue);
  void go_on(os::poll_events found);
  void check();
  void ask();
  void take_what_came();
  static int pending(const owned<natsSubscription>& s) noexcept;
  static void take_messages(inflow& to);
  void refuse(std::string_view said);
  void abort(std::string_view why);
  void end_all(std::string_view why);
  void end_flow(std::shared_ptr<inflow> flow, outcome why);
  natsStatus watch() noexcept;

  static natsStatus on_attach(void** user, void* self, natsConnection*, natsSock socket) noexcept;
  static natsStatus on_read(void* self, bool is_wanted) noexcept;
  static natsStatus on_write(void* self, bool is_wanted) noexcept;
  static natsStatus on_detach(void*) noexcept { return NATS_OK; }
  static void on_error(natsConnection*, natsSubscription*, natsStatus status, void* to) noexcept;
  static void on_closed(natsConnection*, void* to) noexcept {
    delete static_cast<target*>(to);  // libnats calls this last of all
  }

  // What has no other rule is [lock: loop_], once it is open.
  poll_loop loop_;
  std::string inbox_;  // what the reply subjects begin with; a number follows
  const time_span check_after_;
  wait_group opening_;
  // Where on_error() finds the session: libnats' once the connection is made.
  std::unique_ptr<target> target_ = std::make_unique<target>();
  natsConnection* connection_ = nullptr;
  natsSock socket_ = -1;
  bool reads_ = false;   // the socket is watched for this
  bool writes_ = false;  // likewise
  std::optional<outcome> end_;
  std::set<awaited*> waiting_;
  std::uint64_t next_ = 0;  // the number of the next reply subject
  std::vector<std::shared_ptr<inflow>> inflows_;
  std::string last_refusal_;
  std::deque<std::string> seen_;  // refusals that on_error() has not told yet
  bool has_heard_ = false;        // from the server, since the last check()
  bool has_asked_ = false;        // in the last check()
};

}  // namespace sley::nats::detail

#include <sley/detail/nats_session_definitions.hpp>
