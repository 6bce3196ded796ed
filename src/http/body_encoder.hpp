// What compress() gives to a response: its body goes through this on its way out.
#pragma once

#include "http/gzip.hpp"

#include <sley/http/compression.hpp>
#include <sley/http/fields.hpp>
#include <sley/http/request.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sley::http::detail {

class body_encoder {
 public:
  using then = gzip_packer::then;

  // The request stays as long as this.
  body_encoder(const request& in, std::shared_ptr<const compress_options> options);

  // Before the head is sent, of a body whose length may be known. Is it compressed? Then, and if it
  // were for another client, the header says so when this returns.
  [[nodiscard]] bool begin(int status, std::optional<std::uint64_t> length, fields& headers);
  // Appends the bytes that must be sent.
  void encode(std::string_view text, then what, std::string& to) { packer_->pack(text, what, to); }

 private:
  bool is_worth_it(int status, std::optional<std::uint64_t> length, const fields& headers) const;

  const request& request_;
  const std::shared_ptr<const compress_options> options_;
  const bool is_wanted_;
  std::optional<gzip_packer> packer_;
};

}  // namespace sley::http::detail
