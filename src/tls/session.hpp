// A TLS connection: OpenSSL's side of it, the network's, and what goes on between the two.
//
// OpenSSL never sees the network: its calls read and write memory (tls/wire.hpp) under a lock that
// no goroutine holds while it waits for the network. A call that needs more is made again after
// feed(). One goroutine at a time reads from the network, and the others that need input wait for
// that read to end. They do not wait for a turn to read, because their input may have come by then,
// and nothing more will. There are these locks, taken in this order, all but `state_` held while
// waiting:
//   writing_   by a goroutine with a turn to write, until all its bytes are sent
//   sending_   by a goroutine that writes to the network, so that bytes go in order
//   state_     OpenSSL's object and the wire; between taking and giving it no goroutine parks,
//              because OpenSSL's errors are the thread's
// A reader never waits for a writer: it leaves its output (answers of the protocol) to the
// goroutine that is sending at that moment.
//
// A context ends each of these waits. A goroutine that gives up sending leaves the rest of the
// records to the next that sends, so the stream stays whole; only a handshake is over with that.
#pragma once

#include <sley/net.hpp>
#include <sley/sync.hpp>
#include <sley/tls.hpp>

#include "tls/configuration.hpp"
#include "tls/pieces.hpp"
#include "tls/wire.hpp"

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sley::tls {

struct free_ssl {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
};

class session {
 public:
  // Throws std::logic_error, std::system_error.
  session(net::stream transport, std::shared_ptr<configuration> settings, std::string_view host);
  // Closes.
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  void handshake(const context& ctx, std::error_code& error) noexcept;
  std::size_t read(std::span<const iovec> buffers, const context& ctx,
                   std::error_code& error) noexcept;
  // Until all is sent, or until something is.
  std::size_t write(std::span<const iovec> buffers, bool all, const context& ctx,
                    std::error_code& error) noexcept;
  void shutdown_write(std::error_code& error) noexcept;
  void close(std::error_code& error) noexcept;
  void abort() noexcept { transport_.abort(); }

  // What f(ssl) returns, while no other call uses OpenSSL's object.
  template <class F>
  auto look(F f) const {
    std::lock_guard guard(state_);
    return f(static_cast<const SSL*>(ssl_.get()));
  }
  const net::stream& transport() const noexcept { return transport_; }
  const std::string& host() const noexcept { return host_; }
  SSL* native() const noexcept { return ssl_.get(); }

  // OpenSSL's callback for new sessions of clients.
  static int keep_for_resumption(SSL* ssl, SSL_SESSION* session) noexcept;

 private:
  enum class outcome { done, wants_input, ended, failed };
  enum class patience { waits, leaves_it };  // while another goroutine sends

  struct feed_waiter {
    wait_group woken;
    feed_waiter* next = nullptr;
  };

  void set_host();
  void set_session();

  // Of OpenSSL's last call. [lock: state_]
  outcome judge(int result) noexcept;
  template <class Call>
  outcome attempt(const Call& call, std::error_code& error) noexcept;
  template <class Call>
  outcome drive(patience p, const Call& call, const context& ctx, std::error_code& error) noexcept;
  bool feed(std::uint64_t seen, const context& ctx, std::error_code& error) noexcept;
  bool wait_for_feed(feed_waiter& self, const context& ctx, std::error_code& error) noexcept;
  bool leave_feed(feed_waiter& self) noexcept;
  std::size_t read_from_network(const context& ctx, std::error_code& error) noexcept;
  bool has_output() const noexcept { return wire_.has_output() || has_rest_; }  // [lock: state_]
  std::error_code send(patience p, const context& ctx) noexcept;
  std::error_code send_output(const context& ctx) noexcept;
  bool take_output() noexcept;
  bool keep_or_fail(const std::error_code& error) noexcept;

  outcome read_records(std::span<const iovec> buffers, std::size_t& done) noexcept;
  outcome write_records(pieces& rest, std::size_t& done) noexcept;
  std::error_code what_stops_the_handshake() const noexcept;
  std::error_code what_stops_writing() const noexcept;
  void say_goodbye() noexcept;

  net::stream transport_;
  const std::shared_ptr<configuration> settings_;
  const std::string host_;  // without zone and final dot

  mutex writing_;
  mutex sending_;
  std::vector<std::byte> to_send_;  // [lock: sending_]
  std::size_t sent_ = 0;            // [lock: sending_] of these

  mutable mutex state_;
  wire wire_;                            // [lock: state_]
  std::unique_ptr<SSL, free_ssl> ssl_;   // [lock: state_]
  bool has_rest_ = false;                // [lock: state_] there is something in to_send_
  std::uint64_t fed_ = 0;                // [lock: state_] how often something has come
  bool is_feeding_ = false;              // [lock: state_] a goroutine is reading from the network
  feed_waiter* feed_waiters_ = nullptr;  // [lock: state_] until that has ended
  std::error_code failure_;              // [lock: state_] of OpenSSL: nothing goes on
  std::error_code write_failure_;        // [lock: state_] of the network: nothing more is sent
};

}  // namespace sley::tls
