// Whatever stands where certificates and keys should be, it is read or refused with an error that
// says something. Run by `./dev fuzz pem SECONDS`. The input: a certificate chain, a key and what is
// trusted, with zero bytes between them; an empty one is that of a good pair.
#include "expect.hpp"

#include <sley/tls.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include <openssl/err.h>

namespace {

using sley::net::tls_context;
using sley::net::tls_options;
using sley_fuzz::expect;

void check(const std::error_code& error, const tls_context& made) {
  expect(static_cast<bool>(made) == !error, "it is made or there is an error");
  expect(!error || !error.message().empty(), "the error says something");
  expect(ERR_peek_error() == 0, "nothing is left in OpenSSL's queue of errors");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sley_fuzz::parts input(data, size);
  tls_options o;
  o.certificate_pem = input.next();
  o.key_pem = input.next();
  o.trusted_pem = input.next();
  std::error_code error;
  check(error, tls_context::client(o, error));
  if (o.certificate_pem.empty() || o.key_pem.empty()) return 0;
  check(error, tls_context::server(o, error));
  return 0;
}
