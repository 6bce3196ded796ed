// Boost.Beast's parser, behind a function and a class: no other file includes Boost.
#pragma once

#include "http/request_builder.hpp"

#include <sley/http/fields.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

namespace sley::http::detail {

// What a head says of the message.
struct framing {
  bool is_chunked = false;
  bool keeps_alive = false;  // by version and Connection; the server may want to close all the same
  bool expects_continue = false;
  std::optional<std::uint64_t> length;
};

// Parses a whole head, which a head_scanner has found, into the builder. Returns 0, or the status
// it is refused with. Allocates nothing unless the builder must grow.
[[nodiscard]] int parse_request_head(std::string_view head, std::size_t max_target_bytes,
                                     request_builder& into, framing& found);

struct response_head {
  int status = 0;
  int version = 0;  // 10 or 11
  fields headers;
  framing body;  // as the head tells; some answers have none whatever it says
};

// Parses a whole head of an answer, to a HEAD or to another request. False: it is malformed, or
// tells the end of the body in a way that others may read otherwise.
[[nodiscard]] bool parse_response_head(std::string_view head, bool answers_head,
                                       response_head& into);

// Undoes chunked coding (RFC 9112, 7.1), for either side.
class chunk_decoder {
 public:
  chunk_decoder();
  ~chunk_decoder();
  chunk_decoder(chunk_decoder&&) noexcept;
  chunk_decoder& operator=(chunk_decoder&&) noexcept;

  struct progress {
    std::size_t consumed = 0;  // of the input; what is left belongs to the next call, with more
    std::size_t produced = 0;
    bool is_done = false;  // the last chunk and the trailers were consumed
  };
  // errc::malformed is the end of it, told once all before it was handed out: what the reader sees
  // must not depend on how the bytes come.
  progress decode(std::string_view input, std::span<std::byte> output, std::error_code& error);
  const fields& trailers() const noexcept;

 private:
  class sink;
  std::unique_ptr<sink> sink_;
};

}  // namespace sley::http::detail
