#include "tls/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace sley_test {

namespace {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free>>;

void require(bool holds) {
  if (holds) return;
  std::fputs("making a certificate failed\n", stderr);
  std::abort();
}

key_ptr make_key(bool is_rsa = false) {
  key_ptr key(is_rsa ? EVP_RSA_gen(2048U) : EVP_EC_gen("P-256"));
  require(key != nullptr);
  return key;
}

void add_extension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

long seconds_of(std::chrono::hours h) { return std::chrono::seconds(h).count(); }

certificate_ptr make_certificate(EVP_PKEY* key, const std::string& name,
                                 const certificate_wish& wish) {
  static long serial = 0;
  certificate_ptr c(X509_new());
  require(c != nullptr);
  X509_set_version(c.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(c.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(c.get()), seconds_of(wish.from));
  X509_gmtime_adj(X509_getm_notAfter(c.get()), seconds_of(wish.to));
  X509_set_pubkey(c.get(), key);
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), "CN", MBSTRING_UTF8, text, -1, -1, 0);
  return c;
}

void add_names(X509* certificate, const certificate_wish& wish) {
  std::string names;
  for (const std::string& name : wish.names) names += (names.empty() ? "" : ",") + name;
  if (!names.empty()) add_extension(certificate, NID_subject_alt_name, names);
}

template <class Write>
std::string pem(Write write) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  require(out != nullptr && write(out.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return pem([certificate](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return pem([key](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace

struct authority::parts {
  key_ptr key = make_key();
  certificate_ptr certificate;
};

authority::authority(const std::string& name) : parts_(std::make_unique<parts>()) {
  parts_->certificate = make_certificate(parts_->key.get(), name, {});
  X509* own = parts_->certificate.get();
  add_extension(own, NID_basic_constraints, "critical,CA:TRUE");
  X509_set_issuer_name(own, X509_get_subject_name(own));
  require(X509_sign(own, parts_->key.get(), EVP_sha256()) > 0);
  certificate_ = pem_of(own);
}

authority::~authority() = default;

identity authority::issue(const certificate_wish& wish) const {
  const key_ptr key = make_key(wish.is_rsa);
  const certificate_ptr c = make_certificate(key.get(), "somebody", wish);
  add_names(c.get(), wish);
  X509_set_issuer_name(c.get(), X509_get_subject_name(parts_->certificate.get()));
  require(X509_sign(c.get(), parts_->key.get(), EVP_sha256()) > 0);
  return {pem_of(c.get()), pem_of(key.get())};
}

identity self_signed(const certificate_wish& wish) {
  const key_ptr key = make_key();
  const certificate_ptr c = make_certificate(key.get(), "nobody", wish);
  add_names(c.get(), wish);
  X509_set_issuer_name(c.get(), X509_get_subject_name(c.get()));
  require(X509_sign(c.get(), key.get(), EVP_sha256()) > 0);
  return {pem_of(c.get()), pem_of(key.get())};
}

const authority& the_authority() {
  static const authority the_one;
  return the_one;
}

sley::net::tls_options server_options() {
  static const identity own = the_authority().issue();
  return {.certificate_pem = own.certificate, .key_pem = own.key};
}

sley::net::tls_options client_options() { return {.trusted_pem = the_authority().certificate()}; }

}  // namespace sley_test
