// TLS for goroutines, on OpenSSL 3: every call parks the goroutine, never its thread. From Go's
// crypto/tls. Its library is one of its own, sley::tls (libsley-tls).
//
// Errors, threads and lifetimes are as in <sley/net.hpp>: one goroutine may read while another
// writes, and any thread or goroutine may close. What comes in addition:
//   tls_category()             what OpenSSL reports, and why a certificate is refused
//   tls_errc                   the kinds of these errors, to compare with
//   std::errc::broken_pipe     a write after shutdown_write()
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/parts.hpp>
#include <sley/net.hpp>
#include <sley/time.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#ifdef SLEY_WITHOUT_TLS
#error "sley: <sley/tls.hpp> is not there: this sley was built without it (SLEY_TLS=OFF)"
#endif

struct ssl_st;      // SSL of <openssl/ssl.h>
struct ssl_ctx_st;  // SSL_CTX

namespace sley::tls {
class configuration;
class session;
}  // namespace sley::tls

namespace sley::net {

// Values are X509_V_ERR_* where a certificate was refused, and OpenSSL's error codes otherwise: see
// X509_verify_cert_error_string(3) and ERR_reason_error_string(3).
SLEY_API const std::error_category& tls_category() noexcept;

// if (error == tls_errc::truncated) ...
enum class tls_errc {
  truncated = 1,        // the connection ended without the peer's word that it would (close_notify)
  certificate_refused,  // we refuse the peer's: of no trusted issuer, expired, of another host, ...
  refused_by_peer,      // the peer sent an alert: it refuses our certificate, the protocol, ...
  failed,               // anything else: not TLS, nothing in common, ...
};
// For comparing an error with a kind.
SLEY_API std::error_condition make_error_condition(tls_errc kind) noexcept;

// Versions of the protocol.
enum class tls_version { tls_1_2, tls_1_3 };

// Whether the peer must have a certificate, from an issuer we trust and, as a server, of its name.
enum class tls_verify {
  by_role,   // a client requires it of the server, a server does not ask
  never,     // every peer is let in: for tests
  if_given,  // a server asks, and refuses a bad one
  always,
};

// Both sides offer and take X25519, P-256 and P-384, with ML-KEM where OpenSSL has it (3.5), and of
// TLS 1.2 only ciphers with forward secrecy and authenticated encryption: ECDHE with AES-GCM or
// ChaCha20-Poly1305. From Go's defaults. docs/tls.md has all promises with their tests.
struct tls_options {
  // The own certificate, followed by those between it and the root, and its private key: PEM, in
  // files or in memory. A server needs them. Keys with a password are not read.
  std::string certificate_file = {};
  std::string certificate_pem = {};
  std::string key_file = {};
  std::string key_pem = {};
  // The issuers whose certificates are accepted: PEM. If neither is given, the issuers that the
  // system trusts (see SSL_CTX_set_default_verify_paths(3)).
  std::string trusted_file = {};
  std::string trusted_pem = {};
  tls_verify verify = tls_verify::by_role;
  // Protocols for the application in the order of preference: {"h2", "http/1.1"} (RFC 7301). If
  // both sides name some, and none is the same, there is no connection.
  std::vector<std::string> alpn = {};
  tls_version min_version = tls_version::tls_1_2;
  tls_version max_version = tls_version::tls_1_3;
  // Later connections to a host begin where an earlier one ended (RFC 8446, 2.2).
  bool resume = true;
};

// The settings of one side, checked and read once, for any number of connections at a time. A
// handle: copies name the same. Making one reads files: that blocks its thread at most, as an
// announced call. Throws std::system_error that names the file, also for a path or a protocol's
// name with a zero byte inside (invalid_argument); std::logic_error for a server that has no
// certificate.
class SLEY_API tls_context {
 public:
  // For one side. The forms without `error` throw.
  static tls_context client(const tls_options& options = {});
  static tls_context client(const tls_options& options, std::error_code& error);
  static tls_context server(const tls_options& options);
  static tls_context server(const tls_options& options, std::error_code& error);

  tls_context() noexcept = default;  // of nothing
  // False of nothing.
  explicit operator bool() const noexcept { return configuration_ != nullptr; }
  // For settings that are not here; before the first connection only. Null of nothing.
  ssl_ctx_st* native_handle() const noexcept;

 private:
  friend class tls_stream;
  explicit tls_context(std::shared_ptr<tls::configuration> c) noexcept;

  std::shared_ptr<tls::configuration> configuration_;
};

// A certificate in words.
struct tls_certificate {
  // "C = DE, O = Example, CN = example.org"
  std::string subject;
  std::string issuer;
  std::vector<std::string> names;  // host names and addresses that it is for
  // When it is valid.
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
  std::string sha256;  // of the whole certificate, 64 hexadecimal digits
};

// A TLS connection over a stream: TCP or Unix. Its operations are net::stream's.
//
// The handshake takes place in handshake(), or else in the first read or write; both deadlines
// count for it. What fails in TLS fails for ever, and so does writing once a write has failed, by a
// deadline too, as in Go: part of a record may be on its way. A read that timed out can be made
// again. So can reads and writes that a context has ended: what a write has taken by then is sent
// with the next, or by close(). A handshake whose sending a context has ended has failed.
class SLEY_API tls_stream {
 public:
  tls_stream() noexcept;
  // The context says which side this is. `host`, a name or an address, is the server that a client
  // wants: it is told to the server (SNI, RFC 6066) and looked for in the certificate (RFC 6125,
  // alternative names only). Does no I/O. Throws std::logic_error if the context is of nothing, or
  // the host is missing though certificates are verified; std::system_error.
  tls_stream(stream connection, const tls_context& context, std::string_view host = {});
  tls_stream(tls_stream&&) noexcept;
  tls_stream& operator=(tls_stream&&) noexcept;
  ~tls_stream();

  // As tcp_stream's, with the handshake. Without settings: the defaults of tls_options.
  static tls_stream connect(std::string_view host_port);
  static tls_stream connect(std::string_view host_port, const tls_context& settings,
                            const context& ctx = context::background());
  static tls_stream connect(std::string_view host_port, const tls_context& settings,
                            std::error_code& error);
  static tls_stream connect(std::string_view host_port, const tls_context& settings,
                            const context& ctx, std::error_code& error);

  // Once; then it does nothing. That of a client ends before the server has judged the client's
  // certificate (TLS 1.3): the first read tells.
  void handshake(const context& ctx = context::background()) const;
  void handshake(std::error_code& error) const noexcept;
  void handshake(const context& ctx, std::error_code& error) const noexcept;

  // 0: the end, as the peer has announced it; without that it is tls_errc::truncated. With a
  // context as byte_stream's.
  std::size_t read_some(std::span<std::byte> buffer,
                        const context& ctx = context::background()) const;
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) const noexcept;
  std::size_t read_some(std::span<std::byte> buffer, const context& ctx,
                        std::error_code& error) const noexcept;
  std::size_t read_some(std::span<const iovec> buffers, std::error_code& error) const noexcept;
  std::size_t read_some(std::span<const iovec> buffers, const context& ctx,
                        std::error_code& error) const noexcept;
  void read_exactly(std::span<std::byte> buffer, const context& ctx = context::background()) const;
  std::size_t read_exactly(std::span<std::byte> buffer, std::error_code& error) const noexcept;
  std::size_t read_exactly(std::span<std::byte> buffer, const context& ctx,
                           std::error_code& error) const noexcept;

  // What they return after an error is how many bytes were taken, not how many have arrived.
  std::size_t write_some(std::span<const std::byte> bytes,
                         const context& ctx = context::background()) const;
  std::size_t write_some(std::span<const std::byte> bytes, std::error_code& error) const noexcept;
  std::size_t write_some(std::span<const std::byte> bytes, const context& ctx,
                         std::error_code& error) const noexcept;
  std::size_t write_some(std::span<const iovec> buffers, std::error_code& error) const noexcept;
  std::size_t write_some(std::span<const iovec> buffers, const context& ctx,
                         std::error_code& error) const noexcept;
  std::size_t write_some(std::string_view text, const context& ctx = context::background()) const {
    return write_some(std::as_bytes(std::span(text)), ctx);
  }
  std::size_t write_some(std::string_view text, std::error_code& error) const noexcept {
    return write_some(std::as_bytes(std::span(text)), error);
  }
  std::size_t write_some(std::string_view text, const context& ctx,
                         std::error_code& error) const noexcept {
    return write_some(std::as_bytes(std::span(text)), ctx, error);
  }
  void write_all(std::span<const std::byte> bytes,
                 const context& ctx = context::background()) const;
  std::size_t write_all(std::span<const std::byte> bytes, std::error_code& error) const noexcept;
  std::size_t write_all(std::span<const std::byte> bytes, const context& ctx,
                        std::error_code& error) const noexcept;
  std::size_t write_all(std::span<const iovec> buffers, std::error_code& error) const noexcept;
  std::size_t write_all(std::span<const iovec> buffers, const context& ctx,
                        std::error_code& error) const noexcept;
  void write_all(std::string_view text, const context& ctx = context::background()) const {
    write_all(std::as_bytes(std::span(text)), ctx);
  }
  std::size_t write_all(std::string_view text, std::error_code& error) const noexcept {
    return write_all(std::as_bytes(std::span(text)), error);
  }
  std::size_t write_all(std::string_view text, const context& ctx,
                        std::error_code& error) const noexcept {
    return write_all(std::as_bytes(std::span(text)), ctx, error);
  }

  void set_deadline(instant when) const;
  void set_read_deadline(instant when) const;
  void set_write_deadline(instant when) const;
  // As io_object's. It counts for the handshake; close() announces the end all the same.
  void set_context(const context& ctx) const;

  // Announces the end (close_notify) after the handshake; reading goes on.
  void shutdown_write() const;
  void shutdown_write(std::error_code& error) const noexcept;
  // Announces the end, unless a goroutine is writing, takes at most 5 s for that, as Go, and
  // closes.
  void close();
  void close(std::error_code& error) noexcept;
  // Closes without announcing the end, as stream::abort(): the peer sees that something is missing.
  void abort() noexcept;

  bool is_open() const noexcept;
  int native_handle() const noexcept;  // of the socket
  endpoint local() const;
  endpoint remote() const;

  // What the handshake has brought; empty before it.
  std::string alpn() const;         // "h2"
  std::string version() const;      // "TLSv1.3"
  std::string cipher() const;       // "TLS_AES_256_GCM_SHA384"
  std::string server_name() const;  // the server that the client wants, if it is a name
  bool is_resumed() const;
  std::optional<tls_certificate> peer_certificate() const;

  // For operations that are not here, while only the caller uses the stream. Null if it was never
  // open.
  ssl_st* native_tls() const noexcept;

 private:
  std::unique_ptr<tls::session> session_;
};

// Accepts TCP connections, as tcp_listener, whose handshakes are still to come. A client with a
// slow handshake holds up no other.
class SLEY_API tls_listener {
 public:
  tls_listener() noexcept = default;
  // Throws std::system_error, std::logic_error if the settings are of nothing.
  static tls_listener listen(std::string_view host_port, const tls_context& settings,
                             const listen_options& options = {},
                             const context& ctx = context::background());
  static tls_listener listen(std::string_view host_port, const tls_context& settings,
                             const listen_options& options, std::error_code& error);
  static tls_listener listen(std::string_view host_port, const tls_context& settings,
                             const listen_options& options, const context& ctx,
                             std::error_code& error);
  // As tcp_listener's.
  tls_stream accept(const context& ctx = context::background()) const;
  tls_stream accept(std::error_code& error) const;
  tls_stream accept(const context& ctx, std::error_code& error) const;

  void set_deadline(instant when) const { listener_.set_deadline(when); }
  void set_context(const context& ctx) const { listener_.set_context(ctx); }
  void close() { listener_.close(); }
  void close(std::error_code& error) noexcept { listener_.close(error); }
  bool is_open() const noexcept { return listener_.is_open(); }
  int native_handle() const noexcept { return listener_.native_handle(); }
  endpoint local() const { return listener_.local(); }

 private:
  tcp_listener listener_;
  tls_context context_;
};

}  // namespace sley::net

template <>
struct std::is_error_condition_enum<sley::net::tls_errc> : std::true_type {};
