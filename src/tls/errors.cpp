#include "tls/errors.hpp"

#include <sley/tls.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

#include <string>

namespace sley::tls {

namespace {

using net::tls_errc;

// OpenSSL's codes have the library's number in the upper bits: what is less is of a certificate.
bool is_of_certificate(int value) noexcept { return value < (1 << ERR_LIB_OFFSET); }

tls_errc kind_of(int value) noexcept {
  if (is_of_certificate(value)) return tls_errc::certificate_refused;
  const auto code = static_cast<unsigned long>(value);
  const int reason = ERR_GET_REASON(code);
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return tls_errc::failed;
  if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return tls_errc::truncated;
  return reason >= SSL_AD_REASON_OFFSET ? tls_errc::refused_by_peer : tls_errc::failed;
}

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "tls"; }

  std::string message(int value) const override {
    if (is_of_certificate(value)) return X509_verify_cert_error_string(value);
    const char* reason = ERR_reason_error_string(static_cast<unsigned long>(value));
    return reason != nullptr ? reason : "TLS error " + std::to_string(value);
  }

  bool equivalent(int value, const std::error_condition& condition) const noexcept override;
};

// Of conditions: these are what errors are compared with, and never errors themselves.
class kinds final : public std::error_category {
 public:
  const char* name() const noexcept override { return "tls kinds"; }

  std::string message(int value) const override {
    switch (static_cast<tls_errc>(value)) {
      case tls_errc::truncated: return "the connection was cut off";
      case tls_errc::certificate_refused: return "the peer's certificate is refused";
      case tls_errc::refused_by_peer: return "refused by the peer";
      default: return "TLS failed";
    }
  }
};

const kinds& kinds_category() noexcept {
  static const kinds the_kinds;
  return the_kinds;
}

bool category::equivalent(int value, const std::error_condition& condition) const noexcept {
  if (condition.category() == kinds_category()) {
    return static_cast<int>(kind_of(value)) == condition.value();
  }
  return condition.category() == *this && condition.value() == value;
}

std::error_code error_of(unsigned long code) noexcept {
  if (code == 0) return std::make_error_code(std::errc::not_enough_memory);
  if (ERR_SYSTEM_ERROR(code)) return {ERR_GET_REASON(code), std::system_category()};
  return {static_cast<int>(code), net::tls_category()};
}

}  // namespace

void forget_errors() noexcept { ERR_clear_error(); }

std::error_code take_error() noexcept {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  return error_of(code);
}

std::error_code take_error(const ssl_st* ssl) noexcept {
  // The last says that a certificate is the reason, and those before it are details of that.
  const unsigned long last = ERR_peek_last_error();
  const std::error_code error = take_error();
  const long verdict = SSL_get_verify_result(ssl);
  const bool is_refused =
      ERR_GET_LIB(last) == ERR_LIB_SSL && ERR_GET_REASON(last) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  if (!is_refused || verdict == X509_V_OK) return error;
  return {static_cast<int>(verdict), net::tls_category()};
}

}  // namespace sley::tls

namespace sley::net {

const std::error_category& tls_category() noexcept {
  static const tls::category the_category;
  return the_category;
}

std::error_condition make_error_condition(tls_errc kind) noexcept {
  return {static_cast<int>(kind), tls::kinds_category()};
}

}  // namespace sley::net
