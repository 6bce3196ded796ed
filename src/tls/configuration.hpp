// What is behind a net::tls_context: OpenSSL's SSL_CTX, and the sessions that clients resume.
#pragma once

#include <sley/tls.hpp>

#include "tls/resumption.hpp"

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace sley::tls {

enum class role { client, server };

struct free_context {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};

// Never changed once it is made, but for the sessions, which have a lock.
class configuration {
 public:
  // Blocks its thread. `object` becomes the file an error is about, if it is about one.
  static std::shared_ptr<configuration> make(role r, const net::tls_options& options,
                                             std::string& object, std::error_code& error);

  SSL_CTX* context() const noexcept { return context_.get(); }
  bool is_client() const noexcept { return role_ == role::client; }
  bool verifies() const noexcept { return verifies_; }
  // Null if sessions are not resumed.
  resumption* sessions() noexcept { return resumes_ ? &sessions_ : nullptr; }

 private:
  explicit configuration(role r) noexcept;

  void set_versions(const net::tls_options& options) noexcept;
  void set_verification(const net::tls_options& options) noexcept;
  bool set_alpn(const net::tls_options& options);
  void set_resumption(const net::tls_options& options) noexcept;

  const role role_;
  bool verifies_ = false;
  bool resumes_ = false;
  std::vector<unsigned char> protocols_;  // as on the wire: lengths and names
  resumption sessions_;
  std::unique_ptr<SSL_CTX, free_context> context_;

  static int choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* size,
                             const unsigned char* offered, unsigned offered_size, void* self);
};

}  // namespace sley::tls
