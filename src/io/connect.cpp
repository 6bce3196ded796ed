// Connecting: to one address, and to the first of several that answers.
#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/go.hpp>
#include <sley/net.hpp>
#include <sley/runtime.hpp>
#include <sley/select.hpp>

#include "io/connect.hpp"
#include "io/perform.hpp"
#include "io/plain_fd.hpp"
#include "io/resolve.hpp"
#include "io/socket.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace sley::io {

using detail::descriptor;
using detail::io_kind;
using net::endpoint;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds fallback_delay(300);  // as Go
// A port that was free for a moment may not be, and a connection with itself is not what the caller
// wants: as often as Go.
constexpr int most_tries = 3;

// As connect(2), again and again: EAGAIN until it is done. One that a signal interrupts goes on.
long connect_again(int fd, const endpoint& to) noexcept {
  if (::connect(fd, to.data(), to.size()) == 0) return 0;
  const int error = platform::last_errno();
  if (error == EISCONN) return 0;
  if (error == EALREADY || error == EINPROGRESS || error == EINTR) platform::set_errno(EAGAIN);
  return -1;
}

// A Unix listener whose queue is full says EAGAIN at once, and no event tells when there is room:
// so the goroutine tries again after a pause that grows. A blocking connect would be told, but it
// would take a thread for as long as the listener does not accept.
long connect_patiently(int fd, const endpoint& to, const context& ctx, std::error_code& error) {
  constexpr milliseconds longest(20);
  long result = -EAGAIN;
  for (milliseconds time(1); result == -EAGAIN;
       time = std::min(2 * time, longest)) {  // ends by the call, or with the context
    this_goroutine::sleep_for(time, ctx, error);
    if (error) return result;
    result = attempt([&to](int f) { return connect_again(f, to); }, fd);
  }
  return result;
}

descriptor connect_once(const endpoint& to, const context& ctx, std::error_code& error) {
  plain_fd fd(open_socket(to.family(), SOCK_STREAM, error));
  if (fd.get() < 0) return {};
  // Before it is watched: a socket that is not even connecting counts as hung up.
  long begun = attempt([&to](int f) { return connect_again(f, to); }, fd.get());
  const bool is_tcp = to.family() != AF_UNIX;
  if (begun == -EAGAIN && !is_tcp) begun = connect_patiently(fd.get(), to, ctx, error);
  if (error) return {};
  descriptor d(fd.release(), is_tcp ? io_kind::tcp_socket : io_kind::stream_socket, error);
  if (error) return {};
  if (begun == 0) return d;
  if (begun != -EAGAIN && !is_success(begun, error)) return {};
  perform(
      d.get(), direction::write, [&to](int f) { return connect_again(f, to); },
      [](long) { return false; }, error, ctx);
  return error ? descriptor() : std::move(d);
}

// Is a TCP connection one with itself? Where no socket listens the kernel may choose the wanted
// port for this end, and then both ends are one (RFC 9293, 3.5: simultaneous open).
bool is_with_itself(int fd, const endpoint& to) noexcept {
  if (to.family() == AF_UNIX) return false;
  std::error_code error;
  const endpoint local = local_of(fd, error);
  return !error && local.port() == to.port() && local == remote_of(fd, error);
}

// Closing such a connection in order would keep the port for a minute; a reset gives it back.
void give_port_back(int fd) noexcept {
  std::error_code ignored;
  set_option(fd, SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0}, ignored);
}

// From Go's sysDialer.doDialTCP, which returns a connection with itself if the last try has made
// one.
descriptor connect_one(const endpoint& to, const context& ctx, std::error_code& error) {
  for (int tries = 1;; ++tries) {  // ends with a connection, an error that stays, or the last try
    error.clear();
    descriptor d = connect_once(to, ctx, error);
    const bool is_useless = !error && is_with_itself(d.native_handle(), to);
    if (is_useless) {
      give_port_back(d.native_handle());
      error = std::make_error_code(std::errc::connection_refused);
    }
    const bool may_try_again = is_useless || error == std::errc::address_not_available;
    if (!error) return d;
    if (!may_try_again || tries == most_tries) return {};
  }
}

// One after the other, until one succeeds or the context ends. The first error counts.
descriptor connect_in_turn(const std::vector<endpoint>& endpoints, const context& ctx,
                           std::error_code& error) {
  std::error_code first;
  for (const endpoint& to : endpoints) {
    std::error_code this_one;
    descriptor d = connect_one(to, ctx, this_one);
    if (!this_one) return d;
    if (!first) first = this_one;
    if (ctx.error()) break;
  }
  error = first ? first : std::make_error_code(std::errc::address_not_available);
  return {};
}

struct outcome {
  descriptor connection;
  std::error_code error;
};

using outcomes_chan = chan<std::shared_ptr<outcome>>;

// Null: there was none in the time that the first family has for itself.
std::shared_ptr<outcome> next_outcome(const outcomes_chan& outcomes, bool is_second_started) {
  if (is_second_started) return *outcomes.receive();
  std::shared_ptr<outcome> first;
  select(
      on_receive(outcomes, [&first](std::optional<std::shared_ptr<outcome>> got) { first = *got; }),
      on_timeout(fallback_delay));
  return first;
}

// The preferred family begins, the other follows when that fails or takes long. The first that
// succeeds ends the other.
descriptor connect_racing(std::vector<endpoint> preferred, std::vector<endpoint> others,
                          const context& ctx, std::error_code& error) {
  const outcomes_chan outcomes(2);
  const auto [until_one_wins, end_race] = with_cancel(ctx);
  struct ending {
    cancel_function end;
    ~ending() { end(); }
  } const guard{end_race};  // whatever comes: no attempt goes on alone
  const auto start = [&outcomes, &race = until_one_wins](std::vector<endpoint> endpoints) {
    go([race, outcomes, o = std::make_shared<outcome>(), endpoints = std::move(endpoints)] {
      try {
        o->connection = connect_in_turn(endpoints, race, o->error);
      } catch (const std::bad_alloc&) {
        o->error = std::make_error_code(std::errc::not_enough_memory);
      }
      outcomes.send(o);
    });
  };
  start(std::move(preferred));
  int running = 1;
  std::error_code first;
  bool is_second_started = false;
  for (;;) {  // ends: each round starts the second family or takes one outcome off
    if (const auto o = next_outcome(outcomes, is_second_started); o != nullptr) {
      --running;
      if (!o->error) return std::move(o->connection);
      if (!first) first = o->error;
    }
    if (!is_second_started) {
      start(std::move(others));
      is_second_started = true;
      ++running;
    } else if (running == 0) {
      error = first;
      return {};
    }
  }
}

}  // namespace

descriptor connect_to_any(const std::vector<endpoint>& endpoints, const context& ctx,
                          std::error_code& error) {
  error = ctx.error();
  if (error) return {};
  std::vector<endpoint> preferred, others;
  for (const endpoint& e : endpoints) {
    (e.family() == endpoints.front().family() ? preferred : others).push_back(e);
  }
  descriptor d = others.empty()
                     ? connect_in_turn(preferred, ctx, error)
                     : connect_racing(std::move(preferred), std::move(others), ctx, error);
  if (const std::error_code ended = ctx.error()) error = ended;
  return error ? descriptor() : std::move(d);
}

}  // namespace sley::io
