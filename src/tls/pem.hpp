// Certificates and keys, from files or memory.
#pragma once

#include <sley/tls.hpp>

#include <openssl/ssl.h>

#include <string>

namespace sley::tls {

// The own certificate, those above it, and the key; nothing if none is given. False: OpenSSL's
// queue says why, and `object` is the file it is about, if it is about one.
bool load_identity(SSL_CTX* context, const net::tls_options& options, std::string& object);
// Whose certificates are accepted.
bool load_trusted(SSL_CTX* context, const net::tls_options& options, std::string& object);

}  // namespace sley::tls
