// A session before its handshake: its settings, the host that a client wants, and an earlier
// session with that host.
#include <sley/detail/c_text.hpp>

#include "tls/errors.hpp"
#include "tls/session.hpp"

#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace sley::tls {

namespace {

std::string_view trimmed(std::string_view host) noexcept {
  host = host.substr(0, host.find('%'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

void check(bool is_done, const char* operation) {
  if (!is_done) throw std::system_error(take_error(), operation);
}

}  // namespace

session::session(net::stream transport, std::shared_ptr<configuration> settings,
                 std::string_view host)
    : transport_(std::move(transport)), settings_(std::move(settings)), host_(trimmed(host)) {
  if (settings_ == nullptr) throw std::logic_error("sley: a TLS stream needs a context");
  if (std::error_code error; detail::has_zero_byte(host, error)) {
    throw detail::failed(error, "sley: TLS host name", host);
  }
  forget_errors();
  ssl_.reset(SSL_new(settings_->context()));
  check(ssl_ != nullptr, "sley: make a TLS stream");
  BIO* bio = wire_.make_bio();
  check(bio != nullptr, "sley: make a TLS stream");
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_ex_data(ssl_.get(), 0, this);  // index 0 is the application's
  if (!settings_->is_client()) {
    SSL_set_accept_state(ssl_.get());
    return;
  }
  SSL_set_connect_state(ssl_.get());
  set_host();
  set_session();
}

void session::set_host() {
  if (host_.empty()) {
    if (!settings_->verifies()) return;
    throw std::logic_error("sley: a TLS client that verifies its server needs the server's name");
  }
  X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl_.get());
  X509_VERIFY_PARAM_set_hostflags(
      parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(parameters, host_.c_str()) == 1;
  forget_errors();
  if (is_address) return;
  check(SSL_set1_host(ssl_.get(), host_.c_str()) == 1 &&
            SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                     const_cast<char*>(host_.c_str())) == 1,
        "sley: TLS host name");
}

void session::set_session() {
  resumption* sessions = settings_->sessions();
  if (sessions == nullptr || host_.empty()) return;
  const session_ptr earlier = sessions->take(host_);
  // Without it the handshake is a full one.
  if (earlier != nullptr) SSL_set_session(ssl_.get(), earlier.get());
  forget_errors();
}

int session::keep_for_resumption(SSL* ssl, SSL_SESSION* offered) noexcept {
  session& self = *static_cast<session*>(SSL_get_ex_data(ssl, 0));
  if (self.host_.empty()) return 0;
  SSL_SESSION_up_ref(offered);
  session_ptr kept(offered);
  try {
    self.settings_->sessions()->put(self.host_, std::move(kept));
  } catch (const std::bad_alloc&) {
    return 0;  // the next handshake is a full one
  }
  return 0;  // the caller's reference is still the caller's
}

}  // namespace sley::tls
