#include "tls/pem.hpp"

#include "tls/errors.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace sley::tls {

namespace {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;

bio_ptr open(const std::string& file, const std::string& text, std::string& object) {
  object = file;
  return bio_ptr(file.empty() ? BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))
                              : BIO_new_file(file.c_str(), "re"));
}

// Instead of asking for the password at the terminal.
int no_password(char*, int, int, void*) { return -1; }

certificate_ptr next_certificate(BIO* from) {
  return certificate_ptr(PEM_read_bio_X509(from, nullptr, &no_password, nullptr));
}

// After the last one OpenSSL reports that it finds no more.
bool is_at_end() {
  const unsigned long code = ERR_peek_last_error();
  if (ERR_GET_LIB(code) != ERR_LIB_PEM || ERR_GET_REASON(code) != PEM_R_NO_START_LINE) return false;
  forget_errors();
  return true;
}

bool load_chain(SSL_CTX* context, BIO* from) {
  const certificate_ptr own = next_certificate(from);
  if (own == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1) return false;
  while (const certificate_ptr above = next_certificate(from)) {
    if (SSL_CTX_add1_chain_cert(context, above.get()) != 1) return false;
  }
  return is_at_end();
}

bool load_key(SSL_CTX* context, BIO* from) {
  const key_ptr key(PEM_read_bio_PrivateKey(from, nullptr, &no_password, nullptr));
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
         SSL_CTX_check_private_key(context) == 1;
}

}  // namespace

bool load_identity(SSL_CTX* context, const net::tls_options& options, std::string& object) {
  if (!options.certificate_file.empty() || !options.certificate_pem.empty()) {
    const bio_ptr chain = open(options.certificate_file, options.certificate_pem, object);
    if (chain == nullptr || !load_chain(context, chain.get())) return false;
  }
  if (!options.key_file.empty() || !options.key_pem.empty()) {
    const bio_ptr key = open(options.key_file, options.key_pem, object);
    if (key == nullptr || !load_key(context, key.get())) return false;
  }
  object.clear();
  return true;
}

bool load_trusted(SSL_CTX* context, const net::tls_options& options, std::string& object) {
  if (options.trusted_file.empty() && options.trusted_pem.empty()) {
    return SSL_CTX_set_default_verify_paths(context) == 1;
  }
  const bio_ptr trusted = open(options.trusted_file, options.trusted_pem, object);
  if (trusted == nullptr) return false;
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  certificate_ptr next = next_certificate(trusted.get());
  if (next == nullptr) return false;
  for (; next != nullptr; next = next_certificate(trusted.get())) {
    if (X509_STORE_add_cert(store, next.get()) != 1) return false;
    // A server that asks for certificates names the issuers that it trusts.
    if (SSL_CTX_add_client_CA(context, next.get()) != 1) return false;
  }
  if (!is_at_end()) return false;
  object.clear();
  return true;
}

}  // namespace sley::tls
