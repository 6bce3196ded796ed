// Connecting: to one address, and to the first of several that answers.
#include <sley/chan.hpp>
#include <sley/detail/context_end.hpp>
#include <sley/go.hpp>
#include <sley/net.hpp>
#include <sley/runtime.hpp>
#include <sley/select.hpp>
#include <sley/sync.hpp>

#include "io/connect.hpp"
#include "io/perform.hpp"
#include "io/resolve.hpp"
#include "io/socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace sley::io {

using detail::descriptor;
using detail::io_kind;
using net::endpoint;

namespace {

constexpr auto fallback_delay = std::chrono::milliseconds(300);  // as Go

// As connect(2), again and again: EAGAIN until it is done. One that a signal interrupts goes on.
long connect_again(int fd, const endpoint& to) noexcept {
  if (::connect(fd, to.data(), to.size()) == 0) return 0;
  const int error = platform::last_errno();
  if (error == EISCONN) return 0;
  if (error == EALREADY || error == EINPROGRESS || error == EINTR) platform::set_errno(EAGAIN);
  return -1;
}

// Attempts that race for one connection: the first to succeed ends the others.
class race {
 public:
  // False: it is over. While it is not, `d` may be closed by the winner.
  bool enter(descriptor* d) {
    std::lock_guard guard(lock_);
    if (is_over_) return false;
    running_.push_back(d);
    return true;
  }
  void leave(descriptor* d) {
    std::lock_guard guard(lock_);
    std::erase(running_, d);
  }
  void end() {
    std::lock_guard guard(lock_);
    is_over_ = true;
    std::error_code ignored;
    for (descriptor* d : running_) d->close(ignored);
  }

 private:
  mutex lock_;
  bool is_over_ = false;
  std::vector<descriptor*> running_;
};

// A Unix listener whose queue is full says EAGAIN, and no event tells when there is room.
long connect_patiently(int fd, const endpoint& to) noexcept {
  const auto set_blocking = [fd](bool on) {
    const int flags = ::fcntl(fd, F_GETFL);
    return ::fcntl(fd, F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
  };
  set_blocking(true);
  const long result =
      attempt_uninterrupted([&to](int f) { return ::connect(f, to.data(), to.size()); }, fd);
  set_blocking(false);
  return result;
}

descriptor connect_one(const endpoint& to, race& contest, std::error_code& error) {
  const int fd = open_socket(to.family(), SOCK_STREAM, error);
  if (fd < 0) return {};
  // Before it is watched: a socket that is not even connecting counts as hung up.
  long begun = attempt([&to](int f) { return connect_again(f, to); }, fd);
  if (begun == -EAGAIN && to.family() == AF_UNIX) begun = connect_patiently(fd, to);
  const bool is_tcp = to.family() != AF_UNIX;
  descriptor d(fd, is_tcp ? io_kind::tcp_socket : io_kind::stream_socket, error);
  if (error) return {};
  if (begun == 0) return d;
  if (begun != -EAGAIN && !is_success(begun, error)) return {};
  if (!contest.enter(&d)) {
    error = std::make_error_code(std::errc::operation_canceled);
    return {};
  }
  perform(
      d.get(), direction::write, [&to](int f) { return connect_again(f, to); },
      [](long) { return false; }, error);
  contest.leave(&d);
  return error ? descriptor() : std::move(d);
}

// One after the other, until one succeeds. The first error counts.
descriptor connect_in_turn(const std::vector<endpoint>& endpoints, race& contest,
                           std::error_code& error) {
  std::error_code first;
  for (const endpoint& to : endpoints) {
    std::error_code this_one;
    descriptor d = connect_one(to, contest, this_one);
    if (!this_one) return d;
    if (!first) first = this_one;
    if (this_one == std::errc::operation_canceled) break;
  }
  error = first ? first : std::make_error_code(std::errc::address_not_available);
  return {};
}

struct outcome {
  descriptor connection;
  std::error_code error;
};

// The preferred family begins, the other follows when that fails or takes long.
descriptor connect_racing(std::vector<endpoint> preferred, std::vector<endpoint> others,
                          const std::shared_ptr<race>& contest, std::error_code& error) {
  const chan<std::shared_ptr<outcome>> outcomes(2);
  struct ending {
    race& contest;
    ~ending() { contest.end(); }
  } const guard{*contest};  // whatever comes: nobody goes on alone
  const auto start = [&](std::vector<endpoint> endpoints) {
    go([contest, outcomes, o = std::make_shared<outcome>(), endpoints = std::move(endpoints)] {
      try {
        o->connection = connect_in_turn(endpoints, *contest, o->error);
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
    std::shared_ptr<outcome> o;
    if (is_second_started) {
      o = *outcomes.receive();
    } else {
      select(on_receive(outcomes, [&o](std::optional<std::shared_ptr<outcome>> got) { o = *got; }),
             on_timeout(fallback_delay));
    }
    if (o != nullptr) {
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
  std::vector<endpoint> preferred, others;
  for (const endpoint& e : endpoints) {
    (e.family() == endpoints.front().family() ? preferred : others).push_back(e);
  }
  const auto contest = std::make_shared<race>();
  const detail::on_context_end hook(ctx, [&contest] { contest->end(); });
  descriptor d = others.empty()
                     ? connect_in_turn(preferred, *contest, error)
                     : connect_racing(std::move(preferred), std::move(others), contest, error);
  if (const std::error_code ended = ctx.error(); ended && error) error = ended;
  return d;
}

}  // namespace sley::io
