#include <sley/http/request.hpp>

#include "http/authority.hpp"
#include "http/kept_memory.hpp"
#include "http/request_builder.hpp"
#include "http/session.hpp"
#include "http/text.hpp"

#include <algorithm>

namespace sley::http {

const parameters& request::query_parameters() const {
  if (!query_parameters_) query_parameters_ = parameters::parse(query_);
  return *query_parameters_;
}

std::string_view request::param(std::string_view name) const noexcept {
  for (const auto& [n, value] : params_) {
    if (n == name) return value;
  }
  return {};
}

std::string_view request::rest() const noexcept {
  return has_rest_ ? std::string_view(params_.back().second) : path_.substr(path_.empty() ? 0 : 1);
}

const sley::context& request::context() { return session_.get_context(); }
void request::set_context(sley::context ctx) { session_.set_context(std::move(ctx)); }

namespace detail {

namespace {

constexpr std::size_t kept_parameters = 8;

}  // namespace

void request_builder::clear() noexcept {
  request_.method_ = {};
  request_.target_.clear();
  request_.headers_.clear();
  request_.params_.clear();
  request_.has_rest_ = false;
  request_.query_parameters_.reset();
  request_.version_ = 0;
}

void request_builder::release() noexcept {
  clear();
  request_.path_ = request_.raw_path_ = request_.query_ = request_.host_ = {};
  clear_and_keep(request_.target_, kept_of_a_text);
  clear_and_keep(request_.decoded_path_, kept_of_a_text);
  clear_and_keep(request_.unusual_method_, kept_of_a_text);
  clear_and_keep(request_.params_, kept_parameters);
}

int request_builder::set_start_line(std::string_view method, std::string_view target, int version) {
  static constexpr std::string_view usual[] = {"GET",    "HEAD",    "POST",    "PUT",  "PATCH",
                                               "DELETE", "OPTIONS", "CONNECT", "TRACE"};
  request_.method_ = {};
  for (const std::string_view m : usual) {
    if (m == method) request_.method_ = m;
  }
  if (request_.method_.empty()) {
    request_.unusual_method_ = method;
    request_.method_ = request_.unusual_method_;
  }
  request_.version_ = version;
  request_.target_ = target;
  return set_target(request_.target_);
}

// The four forms of RFC 9112, 3.2. None has a fragment: other programs cut the target there.
int request_builder::set_target(std::string_view target) {
  has_authority_ = false;
  request_.query_ = {};
  if (target.find('#') != std::string_view::npos) return 400;
  if (request_.method_ == "CONNECT") return set_authority_form(target);
  if (target.starts_with('/')) return set_path(target);
  if (target == "*") {
    request_.path_ = request_.raw_path_ = target;
    return request_.method_ == "OPTIONS" ? 0 : 400;
  }
  return set_absolute_form(target);
}

// "host:80": the port must be there (RFC 9110, 9.3.6).
int request_builder::set_authority_form(std::string_view target) {
  const auto named = parse_authority(target);
  if (!is_request_authority(target) || named->port.value_or(0) == 0) return 400;
  has_authority_ = true;
  request_.host_ = target;
  request_.path_ = request_.raw_path_ = {};
  return 0;
}

// A URL. What is asked for by https must have come over TLS (RFC 9110, 7.4).
int request_builder::set_absolute_form(std::string_view target) {
  const auto named = url::try_parse(target);
  if (!named) return 400;
  const std::string_view rest = target.substr(target.find("://") + 3);
  const std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  if (!is_request_authority(rest.substr(0, authority_end))) return 400;
  const bool is_secured = named->scheme == "https" && request_.connection_->is_encrypted();
  if (named->scheme != "http" && !is_secured) return 421;
  has_authority_ = true;
  request_.host_ = rest.substr(0, authority_end);
  return set_path(rest.substr(authority_end));
}

int request_builder::set_path(std::string_view path_and_query) {
  const std::size_t mark = path_and_query.find('?');
  request_.raw_path_ = path_and_query.substr(0, mark);
  if (mark != std::string_view::npos) request_.query_ = path_and_query.substr(mark + 1);
  if (request_.raw_path_.empty()) request_.raw_path_ = "/";
  request_.path_ = request_.raw_path_;
  if (request_.raw_path_.find('%') == std::string_view::npos) return 0;
  auto decoded = percent_decode(request_.raw_path_);
  if (!decoded) return 400;
  request_.decoded_path_ = std::move(*decoded);
  request_.path_ = request_.decoded_path_;
  return 0;
}

int request_builder::finish() {
  int hosts = 0;
  for (const fields::field& f : request_.headers_) {
    if (!equals_ignoring_case(f.name, "Host")) continue;
    // Empty, where the client's URL names no server (RFC 9110, 7.2).
    if (!f.value.empty() && !is_request_authority(f.value)) return 400;
    if (!has_authority_) request_.host_ = f.value;
    ++hosts;
  }
  if (hosts == 0 && !has_authority_) request_.host_ = {};
  return hosts > 1 || (hosts == 0 && request_.version_ >= 11) ? 400 : 0;
}

}  // namespace detail

}  // namespace sley::http
