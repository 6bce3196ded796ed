// How a request goes out, and when its connection is let go.
#include "http/client_exchange.hpp"

#include "http/pieces.hpp"
#include "http/text.hpp"

#include <sley/go.hpp>
#include <sley/select.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

#include <sys/uio.h>

namespace sley::http::detail {

namespace {

// So much is taken by the kernel's buffers, whether the server reads or not.
constexpr std::size_t most_sent_at_once = 16 << 10;
constexpr std::size_t source_bytes = 16 << 10;
// For the rest of a request whose answer is complete; then a new connection is cheaper. Go's.
constexpr std::chrono::milliseconds patience(50);

}  // namespace

exchange::exchange(client_pool::lease l, const client_options& options, const hop& h)
    : options_(options),
      hop_(h),
      lease_(std::move(l)),
      expects_continue_(client_access::length_of(h.body) != 0 &&
                        h.headers.has_token("Expect", "100-continue")),
      is_reused_(lease_->is_reused) {}

void exchange::run(std::error_code& error) {
  if (hop_.ctx != context::background()) {
    on_end_ = after_func(hop_.ctx, [w = lease_.shared()] { w->transport->close(); });
  }
  send();
  read_head(error);
  // TLS may still read while it takes leave.
  if (!error) error = hop_.ctx.error();
  if (error) return fail(error);
  begin_body();
}

void exchange::send() {
  const std::string head = make_request_head(hop_, options_);
  const bool is_source = client_access::is_source(hop_.body);
  const std::string_view text = is_source ? "" : client_access::text_of(hop_.body);
  if (!is_source && !expects_continue_ && text.size() <= most_sent_at_once) {
    write({head, text});
    is_sent_ = !write_error_;
    return arm_for_head();
  }
  const chan<void> ended;
  go(go_options{.name = "http send"}, [this, head, ended] {
    send_aside(head);
    ended.close();
  });
  sending_ = ended;
}

void exchange::send_aside(std::string_view head) {
  try {
    send_parts(head);
  } catch (...) {
    source_failure_ = std::current_exception();
    if (!source_failure_) throw;  // no exception, but this_goroutine::exit() unwinding the stack
    return cut();
  }
  arm_for_head();
}

void exchange::send_parts(std::string_view head) {
  const bool is_source = client_access::is_source(hop_.body);
  if (expects_continue_) {
    write({head});
    if (!write_error_ && !may_send_body()) return;
    head = {};
  }
  if (is_source) {
    if (!head.empty()) write({head});
    if (!write_error_) send_source();
  } else {
    write({head, client_access::text_of(hop_.body)});
  }
  is_sent_ = !write_error_;
}

// Parks until the server has asked for it, refused it, or said nothing for a while.
bool exchange::may_send_body() {
  bool is_wanted = true;
  const auto take = [&](std::optional<bool> answer) { is_wanted = answer.value_or(false); };
  if (options_.expect_timeout == options_.expect_timeout.zero()) {
    take(may_go_on_.receive());
  } else {
    select(on_receive(may_go_on_, take), on_timeout(options_.expect_timeout, [] {}));
  }
  return is_wanted;
}

void exchange::send_source() {
  const std::optional<std::uint64_t> length = client_access::length_of(hop_.body);
  const request_body::source& from = client_access::source_of(hop_.body);
  std::vector<std::byte> buffer(source_bytes);
  std::uint64_t sent = 0;
  while (const std::size_t n = from(buffer)) {  // ends with the source, or the connection
    sent += n;
    if (n > buffer.size() || sent > length.value_or(UINT64_MAX)) break;
    const std::string_view data(reinterpret_cast<const char*>(buffer.data()), n);
    if (length) {
      write({data});
    } else {
      send_chunk(data);
    }
    if (write_error_) return;
  }
  if (length && sent != *length) {
    throw std::logic_error("sley: the body of a request has " + std::to_string(sent) +
                           " bytes or more, its length was said to be " + std::to_string(*length));
  }
  if (!length) write({"0\r\n\r\n"});
}

void exchange::send_chunk(std::string_view data) {
  std::string size;
  append_hex(size, data.size());
  size += "\r\n";
  write({size, data, "\r\n"});
}

// A server that has closed may have answered before: that is for the reader to find out. One that
// takes nothing will not answer.
void exchange::write(std::initializer_list<std::string_view> pieces) {
  std::array<iovec, 3> buffers;
  std::size_t n = 0;
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) buffers[n++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  if (n == 0) return;
  write_in_time(*lease_->transport, lease_->write_deadline, options_.write_timeout,
                std::span(buffers).first(n), write_error_);
  if (write_error_ == std::errc::timed_out) cut();
}

// The time for the answer begins when the request is sent.
void exchange::arm_for_head() {
  const std::lock_guard guard(lock_);
  if (!has_head_ && lease_->read_deadline.move(options_.header_timeout)) {
    lease_->transport->set_read_deadline(lease_->read_deadline.when());
  }
}

// ---- the end ----

bool exchange::is_all_sent() {
  if (sending_) {
    bool has_ended = false;
    select(on_receive(*sending_, [&](bool) { has_ended = true; }), on_timeout(patience, [] {}));
    if (!has_ended) return false;
  }
  return is_sent_;
}

void exchange::cut() noexcept { lease_->transport->close(); }

// The sender has ended when this returns.
void exchange::let_go(bool is_clean) noexcept {
  if (!lease_) return;
  may_go_on_.try_send(false);
  is_clean = is_clean && head_.body.keeps_alive && lease_->input.empty() &&
             !hop_.headers.has_token("Connection", "close") && is_all_sent();
  if (!is_clean) cut();
  if (sending_) sending_->receive();
  const bool is_watched = hop_.ctx != context::background();
  if (is_watched && !on_end_.stop()) is_clean = false;
  try {
    if (is_clean) lease_.give_back();
  } catch (const std::bad_alloc&) {  // then it is not kept
  }
  lease_.drop();
}

// Without waiting for more: the bytes that have come may be all.
exchange::~exchange() {
  is_dropped_ = true;
  std::array<std::byte, 4096> rest;
  std::error_code error;
  try {
    while (read_body(rest, error) > 0) {
    }
  } catch (const std::bad_alloc&) {  // then it is closed
  }
  let_go(false);
}

bool exchange::may_repeat(const std::error_code& error) const noexcept {
  static constexpr std::string_view harmless[] = {"GET", "HEAD", "OPTIONS", "TRACE"};
  if (!is_reused_ || has_bytes_ || client_access::is_source(hop_.body)) return false;
  if (error == std::errc::timed_out || hop_.ctx.error()) return false;
  return std::ranges::find(harmless, hop_.method) != std::end(harmless) ||
         hop_.headers.contains("Idempotency-Key") || hop_.headers.contains("X-Idempotency-Key");
}

}  // namespace sley::http::detail
