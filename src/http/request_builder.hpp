// Makes the request that a handler sees out of the parts of a head.
#pragma once

#include <sley/http/request.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley::http::detail {

// Reused for all requests of a connection, so that its texts keep their memory. Where a function
// returns a status, 0 means that all is well, and others are what the request is refused with.
class request_builder {
 public:
  using matches = std::vector<std::pair<std::string_view, std::string>>;

  request_builder(session& s, connection& c, body_reader& body) noexcept : request_(s) {
    request_.connection_ = &c;
    request_.body_ = &body;
  }

  request& get() noexcept { return request_; }

  void clear() noexcept;
  // Between two requests.
  void release() noexcept;
  [[nodiscard]] int set_start_line(std::string_view method, std::string_view target, int version);
  void add_field(std::string_view name, std::string_view value) {
    request_.headers_.add_valid(name, value);
  }
  // All fields have come.
  [[nodiscard]] int finish();

  // Of a router.
  static void set_params(request& r, matches& params, bool has_rest) noexcept {
    r.params_.swap(params);
    r.has_rest_ = has_rest;
  }

 private:
  int set_target(std::string_view target);
  int set_authority_form(std::string_view target);
  int set_absolute_form(std::string_view target);
  int set_path(std::string_view path_and_query);

  request request_;
  bool has_authority_ = false;  // the target names the host: it counts, not the header
};

}  // namespace sley::http::detail
