#include "tls/certificate.hpp"

#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cstring>
#include <ctime>
#include <memory>
#include <new>

namespace sley::tls {

namespace {

std::string text_of(const X509_NAME* name) {
  const std::unique_ptr<BIO, int (*)(BIO*)> out(BIO_new(BIO_s_mem()), &BIO_free);
  if (out == nullptr) throw std::bad_alloc();
  // As the openssl command prints it, with UTF-8 left as it is.
  constexpr unsigned long format = XN_FLAG_ONELINE & ~std::uint64_t{ASN1_STRFLGS_ESC_MSB};
  X509_NAME_print_ex(out.get(), name, 0, format);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

// 4 or 16 bytes as text.
std::string address_of(const ASN1_OCTET_STRING* bytes) {
  const unsigned char* data = ASN1_STRING_get0_data(bytes);
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(bytes));
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  if (size == sizeof v4.sin_addr) {
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, data, size);
    return net::endpoint(reinterpret_cast<const sockaddr*>(&v4), sizeof v4).host();
  }
  if (size != sizeof v6.sin6_addr) return {};
  v6.sin6_family = AF_INET6;
  std::memcpy(&v6.sin6_addr, data, size);
  return net::endpoint(reinterpret_cast<const sockaddr*>(&v6), sizeof v6).host();
}

std::vector<std::string> names_of(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  std::vector<std::string> result;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) result.push_back(text_of(name->d.dNSName));
    if (name->type == GEN_IPADD) result.push_back(address_of(name->d.iPAddress));
  }
  return result;
}

std::chrono::system_clock::time_point time_of(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string sha256_of(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) throw std::bad_alloc();
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

}  // namespace

net::tls_certificate summary_of(const X509* certificate) {
  net::tls_certificate summary;
  summary.subject = text_of(X509_get_subject_name(certificate));
  summary.issuer = text_of(X509_get_issuer_name(certificate));
  summary.names = names_of(certificate);
  summary.not_before = time_of(X509_get0_notBefore(certificate));
  summary.not_after = time_of(X509_get0_notAfter(certificate));
  summary.sha256 = sha256_of(certificate);
  return summary;
}

}  // namespace sley::tls
