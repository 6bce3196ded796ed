#include <sley/tls.hpp>

#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>

#include "tls/certificate.hpp"
#include "tls/session.hpp"

#include <openssl/ssl.h>
#include <sys/uio.h>

#include <stdexcept>
#include <utility>

namespace sley::net {

using detail::throwing;

namespace {

iovec one(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// Of "host:port" as tcp_stream::connect takes it, which has looked whether it is one.
std::string_view host_of(std::string_view host_port) {
  std::string_view host = host_port.substr(0, host_port.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host.empty() ? "localhost" : host;
}

// Nothing was ever open.
bool refuse(const std::unique_ptr<tls::session>& s, std::error_code& error) noexcept {
  error.clear();
  if (s == nullptr) error = std::make_error_code(std::errc::bad_file_descriptor);
  return s == nullptr;
}

const tls::session& opened(const std::unique_ptr<tls::session>& s) {
  std::error_code error;
  if (refuse(s, error)) detail::throw_io_error(error, "sley: TLS stream");
  return *s;
}

std::string text_of(const char* text) { return text == nullptr ? std::string() : text; }

}  // namespace

// ---- making one ----

tls_stream::tls_stream() noexcept = default;
tls_stream::tls_stream(tls_stream&&) noexcept = default;
tls_stream& tls_stream::operator=(tls_stream&&) noexcept = default;
tls_stream::~tls_stream() = default;

tls_stream::tls_stream(stream connection, const tls_context& context, std::string_view host)
    : session_(
          std::make_unique<tls::session>(std::move(connection), context.configuration_, host)) {}

tls_stream tls_stream::connect(std::string_view host_port, const tls_context& settings,
                               const context& ctx, std::error_code& error) {
  tcp_stream connection = tcp_stream::connect(host_port, ctx, error);
  if (error) return {};
  tls_stream s(std::move(connection), settings, host_of(host_port));
  s.handshake(ctx, error);
  if (const std::error_code ended = ctx.error(); ended) error = ended;
  return error ? tls_stream() : std::move(s);
}
tls_stream tls_stream::connect(std::string_view host_port, const tls_context& settings,
                               std::error_code& error) {
  return connect(host_port, settings, context::background(), error);
}
tls_stream tls_stream::connect(std::string_view host_port, const tls_context& settings,
                               const context& ctx) {
  std::error_code error;
  tls_stream s = connect(host_port, settings, ctx, error);
  if (error) throw detail::failed(error, "sley: connect to", host_port);
  return s;
}
tls_stream tls_stream::connect(std::string_view host_port) {
  static const auto* const usual = new tls_context(tls_context::client());  // outlives goroutines
  return connect(host_port, *usual);
}

// ---- reading and writing ----

void tls_stream::handshake(const context& ctx, std::error_code& error) const noexcept {
  if (!refuse(session_, error)) session_->handshake(ctx, error);
}
void tls_stream::handshake(std::error_code& error) const noexcept {
  handshake(context::background(), error);
}
void tls_stream::handshake(const context& ctx) const {
  std::error_code error;
  handshake(ctx, error);
  if (!error) return;
  if (session_ == nullptr || session_->host().empty()) {
    detail::throw_io_error(error, "sley: TLS handshake");
  }
  throw detail::failed(error, "sley: TLS handshake with", session_->host());
}

std::size_t tls_stream::read_some(std::span<const iovec> buffers, const context& ctx,
                                  std::error_code& error) const noexcept {
  return refuse(session_, error) ? 0 : session_->read(buffers, ctx, error);
}
std::size_t tls_stream::read_some(std::span<const iovec> buffers,
                                  std::error_code& error) const noexcept {
  return read_some(buffers, context::background(), error);
}
std::size_t tls_stream::read_some(std::span<std::byte> buffer, const context& ctx,
                                  std::error_code& error) const noexcept {
  const iovec whole = one(buffer);
  return read_some({&whole, 1}, ctx, error);
}
std::size_t tls_stream::read_some(std::span<std::byte> buffer,
                                  std::error_code& error) const noexcept {
  return read_some(buffer, context::background(), error);
}
std::size_t tls_stream::read_some(std::span<std::byte> buffer, const context& ctx) const {
  return throwing("sley: read", [&](std::error_code& e) { return read_some(buffer, ctx, e); });
}

std::size_t tls_stream::read_exactly(std::span<std::byte> buffer, const context& ctx,
                                     std::error_code& error) const noexcept {
  error = ctx.error();
  if (error) return 0;
  std::size_t done = 0;
  while (done < buffer.size()) {
    const std::size_t n = read_some(buffer.subspan(done), ctx, error);
    if (!error && n == 0) error = std::make_error_code(std::errc::connection_aborted);
    if (error) return done;
    done += n;
  }
  return done;
}
std::size_t tls_stream::read_exactly(std::span<std::byte> buffer,
                                     std::error_code& error) const noexcept {
  return read_exactly(buffer, context::background(), error);
}
void tls_stream::read_exactly(std::span<std::byte> buffer, const context& ctx) const {
  throwing("sley: read", [&](std::error_code& e) { return read_exactly(buffer, ctx, e); });
}

std::size_t tls_stream::write_some(std::span<const iovec> buffers, const context& ctx,
                                   std::error_code& error) const noexcept {
  return refuse(session_, error) ? 0 : session_->write(buffers, false, ctx, error);
}
std::size_t tls_stream::write_some(std::span<const iovec> buffers,
                                   std::error_code& error) const noexcept {
  return write_some(buffers, context::background(), error);
}
std::size_t tls_stream::write_some(std::span<const std::byte> bytes, const context& ctx,
                                   std::error_code& error) const noexcept {
  const iovec whole = one(bytes);
  return write_some({&whole, 1}, ctx, error);
}
std::size_t tls_stream::write_some(std::span<const std::byte> bytes,
                                   std::error_code& error) const noexcept {
  return write_some(bytes, context::background(), error);
}
std::size_t tls_stream::write_some(std::span<const std::byte> bytes, const context& ctx) const {
  return throwing("sley: write", [&](std::error_code& e) { return write_some(bytes, ctx, e); });
}

std::size_t tls_stream::write_all(std::span<const iovec> buffers, const context& ctx,
                                  std::error_code& error) const noexcept {
  return refuse(session_, error) ? 0 : session_->write(buffers, true, ctx, error);
}
std::size_t tls_stream::write_all(std::span<const iovec> buffers,
                                  std::error_code& error) const noexcept {
  return write_all(buffers, context::background(), error);
}
std::size_t tls_stream::write_all(std::span<const std::byte> bytes, const context& ctx,
                                  std::error_code& error) const noexcept {
  const iovec whole = one(bytes);
  return write_all({&whole, 1}, ctx, error);
}
std::size_t tls_stream::write_all(std::span<const std::byte> bytes,
                                  std::error_code& error) const noexcept {
  return write_all(bytes, context::background(), error);
}
void tls_stream::write_all(std::span<const std::byte> bytes, const context& ctx) const {
  throwing("sley: write", [&](std::error_code& e) { return write_all(bytes, ctx, e); });
}

// ---- deadlines, a context and the end ----

void tls_stream::set_deadline(instant when) const {
  if (session_ != nullptr) session_->transport().set_deadline(when);
}
void tls_stream::set_read_deadline(instant when) const {
  if (session_ != nullptr) session_->transport().set_read_deadline(when);
}
void tls_stream::set_write_deadline(instant when) const {
  if (session_ != nullptr) session_->transport().set_write_deadline(when);
}

void tls_stream::set_context(const context& ctx) const {
  if (session_ != nullptr) session_->transport().set_context(ctx);
}

void tls_stream::shutdown_write(std::error_code& error) const noexcept {
  if (!refuse(session_, error)) session_->shutdown_write(error);
}
void tls_stream::shutdown_write() const {
  throwing("sley: shutdown", [&](std::error_code& e) { shutdown_write(e); });
}

void tls_stream::close(std::error_code& error) noexcept {
  error.clear();
  if (session_ != nullptr) session_->close(error);
}
void tls_stream::close() {
  throwing("sley: close", [&](std::error_code& e) { close(e); });
}

void tls_stream::abort() noexcept {
  if (session_ != nullptr) session_->abort();
}

// ---- what the connection tells ----

bool tls_stream::is_open() const noexcept {
  return session_ != nullptr && session_->transport().is_open();
}
int tls_stream::native_handle() const noexcept {
  return session_ == nullptr ? -1 : session_->transport().native_handle();
}
endpoint tls_stream::local() const { return opened(session_).transport().local(); }
endpoint tls_stream::remote() const { return opened(session_).transport().remote(); }

std::string tls_stream::alpn() const {
  return opened(session_).look([](const SSL* ssl) -> std::string {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  });
}
std::string tls_stream::version() const {
  return opened(session_).look([](const SSL* ssl) -> std::string {
    return SSL_is_init_finished(ssl) != 0 ? SSL_get_version(ssl) : "";
  });
}
std::string tls_stream::cipher() const {
  return opened(session_).look([](const SSL* ssl) -> std::string {
    return SSL_is_init_finished(ssl) != 0 ? SSL_get_cipher_name(ssl) : "";
  });
}
std::string tls_stream::server_name() const {
  return opened(session_).look(
      [](const SSL* ssl) { return text_of(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)); });
}
bool tls_stream::is_resumed() const {
  return opened(session_).look([](const SSL* ssl) { return SSL_session_reused(ssl) != 0; });
}
std::optional<tls_certificate> tls_stream::peer_certificate() const {
  return opened(session_).look([](const SSL* ssl) -> std::optional<tls_certificate> {
    const X509* certificate = SSL_get0_peer_certificate(ssl);
    if (certificate == nullptr) return std::nullopt;
    return tls::summary_of(certificate);
  });
}

ssl_st* tls_stream::native_tls() const noexcept {
  return session_ == nullptr ? nullptr : session_->native();
}

// ---- listening ----

tls_listener tls_listener::listen(std::string_view host_port, const tls_context& settings,
                                  const listen_options& options, const context& ctx,
                                  std::error_code& error) {
  if (!settings) throw std::logic_error("sley: a TLS listener needs a context");
  tls_listener l;
  l.context_ = settings;
  l.listener_ = tcp_listener::listen(host_port, options, ctx, error);
  return l;
}
tls_listener tls_listener::listen(std::string_view host_port, const tls_context& settings,
                                  const listen_options& options, std::error_code& error) {
  return listen(host_port, settings, options, context::background(), error);
}
tls_listener tls_listener::listen(std::string_view host_port, const tls_context& settings,
                                  const listen_options& options, const context& ctx) {
  std::error_code error;
  tls_listener l = listen(host_port, settings, options, ctx, error);
  if (error) throw detail::failed(error, "sley: listen at", host_port);
  return l;
}

tls_stream tls_listener::accept(const context& ctx, std::error_code& error) const {
  tcp_stream connection = listener_.accept(ctx, error);
  if (error) return {};
  return tls_stream(std::move(connection), context_);
}
tls_stream tls_listener::accept(std::error_code& error) const {
  return accept(context::background(), error);
}
tls_stream tls_listener::accept(const context& ctx) const {
  return throwing("sley: accept", [&](std::error_code& e) { return accept(ctx, e); });
}

}  // namespace sley::net
