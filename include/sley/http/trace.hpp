// Which trace a request belongs to: the W3C Recommendation Trace Context.
//
//   sley::http::server_options serving{.trace = true};   // request::context() carries the trace
//   sley::http::client_options asking{.trace = true};    // requests with such a context tell of it
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/http/fields.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sley::http {

// The value of a traceparent header.
struct SLEY_API trace_parent {
  std::array<std::byte, 16> trace_id = {};  // of the whole trace
  std::array<std::byte, 8> parent_id = {};  // of the operation that sends it
  bool is_sampled = false;                  // the caller may have recorded it

  // As the Recommendation has it: "00-" and lower-case hexadecimal digits for both ids and the
  // flags, with "-" between. A version above 00 may have more behind a further "-", and version ff
  // is none. Ids that are all zeros are invalid. Empty for anything else.
  static std::optional<trace_parent> parse(std::string_view text) noexcept;
  // "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": of version 00, with no flags but the
  // one for sampled.
  std::string to_string() const;

  // A trace that begins here, and an operation inside of this one, both with random ids. Throw
  // std::system_error if the system has no random numbers (getrandom(2)).
  static trace_parent make(bool is_sampled = false);
  trace_parent child() const;

  friend bool operator==(const trace_parent&, const trace_parent&) noexcept = default;
};

// What travels with a request.
struct trace_context {
  trace_parent parent = {};  // of the header traceparent
  std::string state = {};    // of the header tracestate, which is handed on as it came
};

// What a message's header says; empty without a valid traceparent, and with two of them.
SLEY_API std::optional<trace_context> trace_of(const fields& headers);
// Sets traceparent, and tracestate if there is one.
SLEY_API void set_trace(fields& headers, const trace_context& trace);

// A context that carries it, and what a context carries: null if that is nothing, else valid as
// long as the context is held.
SLEY_API context with_trace(const context& parent, trace_context trace);
SLEY_API const trace_context* trace_in(const context& ctx) noexcept;

}  // namespace sley::http
