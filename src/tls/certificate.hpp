// What a certificate says.
#pragma once

#include <sley/tls.hpp>

#include <openssl/x509.h>

namespace sley::tls {

net::tls_certificate summary_of(const X509* certificate);

}  // namespace sley::tls
