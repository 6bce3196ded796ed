// One request of a client and its answer.
#pragma once

#include "http/client_pool.hpp"
#include "http/incoming_body.hpp"
#include "http/parser.hpp"
#include "http/unpacked_body.hpp"

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/http/body.hpp>
#include <sley/http/client.hpp>
#include <sley/sync.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::http::detail {

// A request as it goes to one URL: redirects make several of one client_request.
struct hop {
  std::string method;
  url to;
  fields headers;
  request_body body;
  context ctx;
};

struct client_access {
  static client_response make_response(std::unique_ptr<exchange> e) noexcept;
  // Empty if it is a source.
  static std::string_view text_of(const request_body& b) noexcept;
  static const request_body::source& source_of(const request_body& b);
  static bool is_source(const request_body& b) noexcept { return b.what_.index() == 3; }
  static std::optional<std::uint64_t> length_of(const request_body& b) noexcept;
};

// The head of a request: client_head.cpp.
std::string make_request_head(const hop& h, const client_options& options);
bool asks_for_gzip(const hop& h, const client_options& options);

// A larger body, one of a source, and one that has to wait are sent by a goroutine of their own,
// while the caller's reads: a server may answer before it has read all. The goroutine ends before
// the exchange lets go of the connection.
class exchange final : public body_reader {
 public:
  exchange(client_pool::lease l, const client_options& options, const hop& h);
  ~exchange() override;

  // Sends the request, and reads until the head of the final answer is there. Throws what the
  // body's source has thrown.
  void run(std::error_code& error);
  // After an error: may the request be sent again?
  bool may_repeat(const std::error_code& error) const noexcept;

  const response_head& head() const noexcept { return head_; }
  const url& from() const noexcept { return hop_.to; }
  bool is_unpacked() const noexcept { return unpacked_ != nullptr; }
  net::endpoint remote() const { return lease_ ? lease_->transport->remote() : net::endpoint(); }

 private:
  // Sending: client_exchange.cpp.
  void send();
  void send_aside(std::string_view head);
  void send_parts(std::string_view head);
  bool may_send_body();
  void send_source();
  void send_chunk(std::string_view data);
  void write(std::initializer_list<std::string_view> pieces);
  void arm_for_head();

  // The answer: client_answer.cpp.
  void read_head(std::error_code& error);
  bool parse_head(std::size_t size, std::error_code& error);
  std::size_t read_from_peer(std::span<std::byte> buffer, std::error_code& error);
  void fail(std::error_code& error);
  void explain(std::error_code& error) const noexcept;
  void begin_body();
  void begin_unpacking();
  std::size_t do_read(std::span<std::byte> buffer, std::error_code& error) override;
  void do_fail(const std::error_code& error) noexcept override;
  std::size_t read_body(std::span<std::byte> buffer, std::error_code& error);
  std::optional<std::uint64_t> length() const noexcept override;
  void set_limit(std::uint64_t bytes) noexcept override;
  const fields& trailers() const noexcept override { return body_.trailers(); }

  bool is_all_sent();
  void cut() noexcept;
  void let_go(bool is_clean) noexcept;

  const client_options& options_;
  const hop hop_;
  client_pool::lease lease_;
  context_callback on_end_;  // of the context: closes the connection
  const bool expects_continue_;

  // Of the goroutine that sends, until it closes the channel.
  std::optional<chan<void>> sending_;
  const chan<bool> may_go_on_{1};  // whether the server wants the body
  std::error_code write_error_;
  std::exception_ptr source_failure_;
  bool is_sent_ = false;

  mutex lock_;
  bool has_head_ = false;  // [lock_] the deadline of reading is not the sender's any more

  response_head head_;
  const bool is_reused_;    // the connection has served before
  bool has_bytes_ = false;  // of an answer
  bool is_dropped_ = false;
  incoming_body body_;
  std::unique_ptr<unpacked_body> unpacked_;  // what body_ becomes, if it is packed
};

}  // namespace sley::http::detail
