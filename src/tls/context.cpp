#include <sley/detail/c_text.hpp>
#include <sley/runtime.hpp>
#include <sley/tls.hpp>

#include "tls/configuration.hpp"

#include <utility>

namespace sley::net {

namespace {

using tls::configuration;
using tls::role;

std::shared_ptr<configuration> make(role r, const tls_options& options, std::string& object,
                                    std::error_code& error) {
  error.clear();
  return blocking([&] { return configuration::make(r, options, object, error); });
}

std::shared_ptr<configuration> make(role r, const tls_options& options) {
  std::error_code error;
  std::string object;
  std::shared_ptr<configuration> made = make(r, options, object, error);
  if (!error) return made;
  if (object.empty()) detail::throw_io_error(error, "sley: TLS context");
  throw detail::failed(error, "sley: TLS context:", object);
}

}  // namespace

tls_context::tls_context(std::shared_ptr<configuration> c) noexcept
    : configuration_(std::move(c)) {}

tls_context tls_context::client(const tls_options& options) {
  return tls_context(make(role::client, options));
}
tls_context tls_context::client(const tls_options& options, std::error_code& error) {
  std::string object;
  return tls_context(make(role::client, options, object, error));
}
tls_context tls_context::server(const tls_options& options) {
  return tls_context(make(role::server, options));
}
tls_context tls_context::server(const tls_options& options, std::error_code& error) {
  std::string object;
  return tls_context(make(role::server, options, object, error));
}

ssl_ctx_st* tls_context::native_handle() const noexcept {
  return configuration_ == nullptr ? nullptr : configuration_->context();
}

}  // namespace sley::net
