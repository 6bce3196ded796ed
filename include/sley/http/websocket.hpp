// WebSocket, RFC 6455.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/http/request.hpp>
#include <sley/http/response.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::http {

// What is taken from a peer.
struct websocket_options {
  std::size_t message_bytes = 16 << 20;  // a longer message closes with 1009
  // Which pages may connect, by their Origin: by default pages of the same host only, and clients
  // that are no browsers.
  bool any_origin = false;
  std::string_view protocols = {};  // "chat, superchat": the first of ours that the client offers
};

namespace detail {
class websocket_state;
}

// One connection. One goroutine reads, any number write: messages do not mix. Pings are answered
// while a goroutine reads. Move-only; gone with the last byte of the handler: it closes when
// destroyed.
class SLEY_API websocket {
 public:
  // What the peer has sent.
  struct message {
    bool is_text = false;  // else binary
    std::string data;      // valid UTF-8 if it is text
  };

  // Takes over the connection of this request, answering 101; the response is of no more use then.
  // Throws status_error (400, 403 for another origin, 405, 426) if the request asks for something
  // else, or has a body: let it through, and the client is told.
  static websocket accept(request& in, response& out, const websocket_options& options = {});

  // Parks until a message is complete. nullopt: the peer has closed properly, see close_code().
  // Throws std::system_error; what breaks the protocol is errc::malformed, after the peer was told.
  std::optional<message> read();
  std::optional<message> read(std::error_code& error);

  // Sends a message. Text is UTF-8, which is not checked. Parks while the peer takes nothing. The
  // forms without `error` throw std::system_error.
  void write_text(std::string_view text);
  void write_text(std::string_view text, std::error_code& error);
  void write_binary(std::span<const std::byte> bytes);
  void write_binary(std::span<const std::byte> bytes, std::error_code& error);
  void ping(std::string_view data = {});  // at most 125 bytes
  // Says that nothing more will be written. The reader goes on until the peer has answered; without
  // a reader the destructor waits for that, a second at most. Throws std::invalid_argument for a
  // code that can't be sent, and a reason that is longer than 123 bytes or no UTF-8.
  void close(std::uint16_t code = 1000, std::string_view reason = {});

  // What the peer closed with; 1005: it gave no code, 1006: it did not close.
  std::uint16_t close_code() const noexcept;
  std::string_view close_reason() const noexcept;
  std::string_view protocol() const noexcept;  // of websocket_options::protocols; empty: none
  // For read(): std::errc::timed_out, after which it may go on. Writes have the server's time-out.
  void set_read_deadline(instant when);

  websocket(websocket&&) noexcept;
  websocket& operator=(websocket&&) noexcept;
  ~websocket();

 private:
  explicit websocket(std::unique_ptr<detail::websocket_state> state) noexcept;
  std::unique_ptr<detail::websocket_state> state_;
};

}  // namespace sley::http
