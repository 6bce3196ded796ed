#include "tls/session.hpp"

#include <sley/context.hpp>

#include "tls/errors.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <utility>

namespace sley::tls {

namespace {

// As much is encrypted before it is sent. More takes memory, less takes more system calls.
constexpr std::size_t output_bytes = 64 * 1024;
constexpr std::size_t kept_bytes = 4 * 1024;  // of memory, by a connection that does not send
constexpr auto goodbye_time = std::chrono::seconds(5);

bool is_connection_lost(const std::error_code& error) noexcept {
  return error == std::errc::broken_pipe || error == std::errc::connection_reset;
}

// wait(ctx, error) for a caller without exceptions.
template <class Wait>
void wait_unless_ended(const Wait& wait, const context& ctx, std::error_code& error) noexcept try {
  wait(ctx, error);
} catch (const std::bad_alloc&) {
  error = std::make_error_code(std::errc::not_enough_memory);
}

std::error_code lock_unless_ended(std::unique_lock<mutex>& turn, const context& ctx) noexcept {
  std::error_code error;
  wait_unless_ended([&turn](auto&... with) { turn.mutex()->lock(with...); }, ctx, error);
  if (!error) turn = std::unique_lock(*turn.mutex(), std::adopt_lock);
  return error;
}

}  // namespace

session::~session() {
  std::error_code ignored;
  close(ignored);
}

// ---- between OpenSSL and the network ----

session::outcome session::judge(int result) noexcept {
  if (result > 0) return outcome::done;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return outcome::wants_input;
    case SSL_ERROR_ZERO_RETURN: return outcome::ended;
    default: failure_ = take_error(ssl_.get()); return outcome::failed;
  }
}

// One try, with the lock held.
template <class Call>
session::outcome session::attempt(const Call& call, std::error_code& error) noexcept {
  outcome result = outcome::failed;
  if (!failure_) {
    forget_errors();
    result = call();
  }
  if (result == outcome::failed) error = failure_;
  return result;
}

// As many tries as it takes. The output of a try is on its way when this returns, or another
// goroutine sends it. A caller that leaves it does not ask how its sending has ended.
template <class Call>
session::outcome session::drive(patience p, const Call& call, const context& ctx,
                                std::error_code& error) noexcept {
  for (;;) {  // ends with the call; each round but the last reads from the network
    outcome result;
    std::uint64_t seen;
    bool has_some;
    {
      std::lock_guard guard(state_);
      result = attempt(call, error);
      seen = fed_;
      has_some = has_output();
    }
    const std::error_code ended = has_some ? send(p, ctx) : std::error_code();
    if (ended && !error && p == patience::waits) {
      error = ended;
      return outcome::failed;
    }
    if (result != outcome::wants_input) return result;
    error = what_stops_the_handshake();
    if (error || !feed(seen, ctx, error)) return outcome::failed;
  }
}

// Reads from the network, unless another goroutine has since `seen`. While another goroutine reads,
// waits for that. The end of the stream is no error here: OpenSSL knows whether it may come.
bool session::feed(std::uint64_t seen, const context& ctx, std::error_code& error) noexcept {
  feed_waiter self;
  {
    std::unique_lock guard(state_);
    if (fed_ != seen) return true;
    if (is_feeding_) {
      self.woken.add(1);
      self.next = std::exchange(feed_waiters_, &self);
      guard.unlock();
      return wait_for_feed(self, ctx, error);
    }
    is_feeding_ = true;
  }
  const std::size_t n = read_from_network(ctx, error);
  feed_waiter* waiters;
  {
    std::lock_guard guard(state_);
    is_feeding_ = false;
    if (!error) {
      if (n > 0) {
        wire_.received(n);
      } else {
        wire_.ended();
      }
      ++fed_;
    }
    waiters = std::exchange(feed_waiters_, nullptr);
  }
  while (waiters != nullptr) std::exchange(waiters, waiters->next)->woken.done();
  return !error;
}

// If that read failed, the caller finds out by a read of its own. False: the context has ended.
bool session::wait_for_feed(feed_waiter& self, const context& ctx,
                            std::error_code& error) noexcept {
  wait_unless_ended([&self](auto&... with) { self.woken.wait(with...); }, ctx, error);
  if (!error) return true;
  if (leave_feed(self)) return false;
  self.woken.wait();  // it is being woken
  error.clear();
  return true;
}

bool session::leave_feed(feed_waiter& self) noexcept {
  std::lock_guard guard(state_);
  feed_waiter** link = &feed_waiters_;
  while (*link != nullptr && *link != &self) link = &(*link)->next;
  if (*link == nullptr) return false;
  *link = self.next;
  return true;
}

// Called by the feeding goroutine, which owns the wire's room.
std::size_t session::read_from_network(const context& ctx, std::error_code& error) noexcept {
  const std::span<std::byte> room = wire_.room();
  if (room.empty()) {
    error = std::make_error_code(std::errc::not_enough_memory);
    return 0;
  }
  return transport_.read_some(room, ctx, error);
}

// Any error is that of a context, and something may be left.
std::error_code session::send(patience p, const context& ctx) noexcept {
  bool is_more_left = true;
  while (is_more_left) {
    {
      std::unique_lock turn(sending_, std::defer_lock);
      if (p == patience::leaves_it) {
        if (!turn.try_lock()) return {};
      } else if (const std::error_code ended = lock_unless_ended(turn, ctx); ended) {
        return ended;
      }
      if (const std::error_code ended = send_output(ctx); ended) return ended;
    }
    // A goroutine that found the turn taken after the last look inside has left output here.
    std::lock_guard guard(state_);
    is_more_left = has_output();
  }
  return {};
}

// In the turn to send.
std::error_code session::send_output(const context& ctx) noexcept {
  while (take_output()) {
    std::error_code error;
    sent_ += transport_.write_all(std::span(to_send_).subspan(sent_), ctx, error);
    if (keep_or_fail(error)) return error;
    sent_ = 0;
    to_send_.clear();
    if (to_send_.capacity() > kept_bytes) to_send_ = {};
  }
  return {};
}

// False: there is nothing to send.
bool session::take_output() noexcept {
  std::lock_guard guard(state_);
  if (write_failure_) wire_.drop_output();
  if (has_rest_) return true;
  if (!wire_.has_output()) return false;
  wire_.swap_output(to_send_);
  has_rest_ = true;
  return true;
}

// True: a context has ended the write, and the rest stays for the next that sends. After any other
// error, and in a handshake, nothing is sent any more.
bool session::keep_or_fail(const std::error_code& error) noexcept {
  std::lock_guard guard(state_);
  const bool is_kept =
      error.category() == context_category() && SSL_is_init_finished(ssl_.get()) != 0;
  if (is_kept) return true;
  has_rest_ = false;
  if (error) write_failure_ = error;
  return false;
}

// A peer that refuses us and closes may have said why: that can still be read.
std::error_code session::what_stops_the_handshake() const noexcept {
  std::lock_guard guard(state_);
  const bool is_done = SSL_is_init_finished(ssl_.get()) != 0;
  return is_done || is_connection_lost(write_failure_) ? std::error_code() : write_failure_;
}

// ---- the operations ----

void session::handshake(const context& ctx, std::error_code& error) noexcept {
  error = ctx.error();
  if (error) return;
  drive(patience::waits, [this] { return judge(SSL_do_handshake(ssl_.get())); }, ctx, error);
}

std::size_t session::read(std::span<const iovec> buffers, const context& ctx,
                          std::error_code& error) noexcept {
  error = ctx.error();
  if (error) return 0;
  if (std::ranges::all_of(buffers, [](const iovec& b) { return b.iov_len == 0; })) return 0;
  if (!transport_.is_open()) {
    error = std::make_error_code(std::errc::operation_canceled);
    return 0;
  }
  std::size_t done = 0;
  drive(patience::leaves_it, [&] { return read_records(buffers, done); }, ctx, error);
  return done;
}

// As many as have come, as far as there is room.
session::outcome session::read_records(std::span<const iovec> buffers, std::size_t& done) noexcept {
  for (const iovec& buffer : buffers) {
    std::size_t offset = 0;
    while (offset < buffer.iov_len) {
      std::size_t n = 0;
      const outcome result = judge(SSL_read_ex(
          ssl_.get(), static_cast<char*>(buffer.iov_base) + offset, buffer.iov_len - offset, &n));
      // The bytes that have come count; the end, or an error, comes again with the next read.
      if (result != outcome::done) return done > 0 ? outcome::done : result;
      offset += n;
      done += n;
    }
  }
  return outcome::done;
}

std::size_t session::write(std::span<const iovec> buffers, bool all, const context& ctx,
                           std::error_code& error) noexcept {
  std::unique_lock turn(writing_, std::defer_lock);
  error = lock_unless_ended(turn, ctx);
  if (error) return 0;
  pieces rest(buffers);
  std::size_t done = 0;
  do {
    error = what_stops_writing();
    if (error) break;
    drive(patience::waits, [&] { return write_records(rest, done); }, ctx, error);
    if (!error) error = what_stops_writing();
  } while (!error && (all || done == 0) && !rest.front().empty());
  return done;
}

session::outcome session::write_records(pieces& rest, std::size_t& done) noexcept {
  while (!rest.front().empty() && wire_.output_bytes() < output_bytes) {
    std::size_t n = 0;
    const outcome result =
        judge(SSL_write_ex(ssl_.get(), rest.front().data(), rest.front().size(), &n));
    if (result != outcome::done) return result;
    done += n;
    rest.pop();
  }
  return outcome::done;
}

std::error_code session::what_stops_writing() const noexcept {
  if (!transport_.is_open()) return std::make_error_code(std::errc::operation_canceled);
  std::lock_guard guard(state_);
  const bool is_shut = (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) != 0;
  if (is_shut && !write_failure_) return std::make_error_code(std::errc::broken_pipe);
  return write_failure_;
}

void session::shutdown_write(std::error_code& error) noexcept {
  const context& forever = context::background();
  handshake(forever, error);
  if (error) return;
  std::lock_guard turn(writing_);
  drive(
      patience::waits,
      [this] {
        // A second call of OpenSSL's would wait for the peer's end.
        if ((SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) != 0) return outcome::done;
        return SSL_shutdown(ssl_.get()) >= 0 ? outcome::done : judge(-1);
      },
      forever, error);
  std::lock_guard guard(state_);
  if (!error) error = write_failure_;
}

void session::close(std::error_code& error) noexcept {
  error.clear();
  if (transport_.is_open()) {
    std::unique_lock turn(writing_, std::try_to_lock);
    if (turn) say_goodbye();
  }
  transport_.close(error);
}

void session::say_goodbye() noexcept {
  {
    std::lock_guard guard(state_);
    if (failure_ || write_failure_ || SSL_is_init_finished(ssl_.get()) == 0) return;
    forget_errors();
    SSL_shutdown(ssl_.get());
    forget_errors();
  }
  try {
    transport_.set_context(context::background());  // whatever has ended: it takes no longer
    transport_.set_write_deadline(time_point::clock::now() + goodbye_time);
  } catch (const std::exception&) {
    return;  // without a limit it might take for ever
  }
  send(patience::leaves_it, context::background());
}

}  // namespace sley::tls
