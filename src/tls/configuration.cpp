#include "tls/configuration.hpp"

#include "tls/errors.hpp"
#include "tls/pem.hpp"
#include "tls/session.hpp"

#include <sley/detail/c_text.hpp>

#include <openssl/x509_vfy.h>

#include <algorithm>
#include <iterator>
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

// A ticket is good for two hours: data sent over TLS 1.2 is as safe as the key of its ticket.
constexpr long ticket_seconds = 2 * 60 * 60;

// In the order of preference. From Go's defaults: curves, which take a server some 100 us, and
// ML-KEM beside them where OpenSSL has it (3.5 and later). OpenSSL's own list goes on with finite
// fields of up to 8192 bits: a client that chooses one costs the server 100 ms of CPU. The star
// asks a client for a key share in its first message.
constexpr const char* group_lists[] = {
    "*X25519MLKEM768:SecP256r1MLKEM768:SecP384r1MLKEM1024:*X25519:P-256:P-384",
    "X25519:P-256:P-384",
};

// Of TLS 1.2: keys of the session's own, which the server's key does not give away, and ciphers
// that authenticate what they encrypt. TLS 1.3 has no others.
constexpr const char* ciphers_of_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";

bool set_algorithms(SSL_CTX* context) noexcept {
  const bool has_groups =
      std::any_of(std::begin(group_lists), std::end(group_lists),
                  [&](const char* list) { return SSL_CTX_set1_groups_list(context, list) == 1; });
  if (has_groups) forget_errors();  // errors of lists that this OpenSSL does not know
  return has_groups && SSL_CTX_set_cipher_list(context, ciphers_of_1_2) == 1;
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
  const bool is_made =
      context != nullptr && set_algorithms(context) && load_identity(context, options, object) &&
      (!made->verifies_ || load_trusted(context, options, object)) && made->set_alpn(options);
  if (!is_made) {
    error = take_error();
    return nullptr;
  }
  // The buffers of a connection that waits go back. A peer that asks for a new handshake on the
  // same connection is refused: it is of no use, and has been misused. What comes before the end of
  // a handshake could be played again by others (RFC 8446, 8).
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_max_early_data(context, 0);
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
    // say which sessions are theirs. A handshake brings two tickets of TLS 1.3, or one of TLS 1.2.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 2);
    SSL_CTX_set_timeout(context, ticket_seconds);
    static constexpr unsigned char name[] = "sley";
    SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
  } else {
    SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(context, &session::keep_for_resumption);
  }
}

}  // namespace sley::tls
