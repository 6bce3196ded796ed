#include "tls/configuration.hpp"

#include "tls/errors.hpp"
#include "tls/pem.hpp"
#include "tls/session.hpp"

#include <sley/detail/c_text.hpp>

#include <openssl/x509_vfy.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace sley::tls {

namespace {

using net::tls_options;
using net::tls_verify;
using net::tls_version;

int number_of(tls_version v) noexcept {
  return v == tls_version::tls_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
}

int verify_mode(role r, tls_verify v) noexcept {
  if (v == tls_verify::by_role) v = r == role::client ? tls_verify::always : tls_verify::never;
  switch (v) {
    case tls_verify::never: return SSL_VERIFY_NONE;
    case tls_verify::if_given: return SSL_VERIFY_PEER;
    default: return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  }
}

// Is there a zero byte in a path or in a name? `object` is the first text that has one.
bool has_zero_byte(const tls_options& options, std::string& object, std::error_code& error) {
  std::vector<const std::string*> texts = {&options.certificate_file, &options.key_file,
                                           &options.trusted_file};
  for (const std::string& name : options.alpn) texts.push_back(&name);
  const auto first = std::ranges::find_if(
      texts, [&](const std::string* text) { return detail::has_zero_byte(*text, error); });
  if (first == texts.end()) return false;
  object = **first;
  return true;
}

}  // namespace

configuration::configuration(role r) noexcept
    : role_(r),
      context_(SSL_CTX_new(r == role::client ? TLS_client_method() : TLS_server_method())) {}

std::shared_ptr<configuration> configuration::make(role r, const tls_options& options,
                                                   std::string& object, std::error_code& error) {
  if (r == role::server && options.certificate_file.empty() && options.certificate_pem.empty()) {
    throw std::logic_error("sley: a TLS server needs a certificate");
  }
  if (has_zero_byte(options, object, error)) return nullptr;
  forget_errors();
  const std::shared_ptr<configuration> made(new configuration(r));
  SSL_CTX* context = made->context_.get();
  if (context != nullptr) made->set_verification(options);
  const bool is_made = context != nullptr && load_identity(context, options, object) &&
                       (!made->verifies_ || load_trusted(context, options, object)) &&
                       made->set_alpn(options);
  if (!is_made) {
    error = take_error();
    return nullptr;
  }
  // The buffers of a connection that waits go back. A peer that asks for a new handshake on the
  // same connection is refused: nobody needs that, and it has been misused.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  made->set_versions(options);
  made->set_resumption(options);
  forget_errors();
  return made;
}

void configuration::set_versions(const tls_options& options) noexcept {
  SSL_CTX_set_min_proto_version(context_.get(), number_of(options.min_version));
  SSL_CTX_set_max_proto_version(context_.get(), number_of(options.max_version));
}

void configuration::set_verification(const tls_options& options) noexcept {
  const int mode = verify_mode(role_, options.verify);
  verifies_ = mode != SSL_VERIFY_NONE;
  SSL_CTX_set_verify(context_.get(), mode, nullptr);
}

bool configuration::set_alpn(const tls_options& options) {
  for (const std::string& name : options.alpn) {
    if (name.empty() || name.size() > 255) {
      throw std::logic_error("sley: a protocol's name has 1 to 255 bytes");
    }
    protocols_.push_back(static_cast<unsigned char>(name.size()));
    protocols_.insert(protocols_.end(), name.begin(), name.end());
  }
  if (protocols_.empty()) return true;
  if (role_ == role::server) {
    SSL_CTX_set_alpn_select_cb(context_.get(), &choose_protocol, this);
    return true;
  }
  // Unlike other functions it returns 0 when all is well.
  return SSL_CTX_set_alpn_protos(context_.get(), protocols_.data(),
                                 static_cast<unsigned>(protocols_.size())) == 0;
}

int configuration::choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                                   const unsigned char* offered, unsigned offered_size,
                                   void* self) {
  const auto& ours = static_cast<const configuration*>(self)->protocols_;
  unsigned char* selected = nullptr;
  const int result = SSL_select_next_proto(
      &selected, size, ours.data(), static_cast<unsigned>(ours.size()), offered, offered_size);
  *chosen = selected;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void configuration::set_resumption(const tls_options& options) noexcept {
  SSL_CTX* context = context_.get();
  resumes_ = options.resume;
  if (!resumes_) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
  } else if (role_ == role::server) {
    // Tickets are enough: a session is kept by the client alone. Servers that verify clients must
    // say which sessions are theirs.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    static constexpr unsigned char name[] = "sley";
    SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
  } else {
    SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(context, &session::keep_for_resumption);
  }
}

}  // namespace sley::tls
