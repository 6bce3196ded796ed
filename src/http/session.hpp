// One connection of a server: reads requests, has them answered, one after the other.
#pragma once

#include "http/head_scanner.hpp"
#include "http/incoming_body.hpp"
#include "http/input_buffer.hpp"
#include "http/late_deadline.hpp"
#include "http/parser.hpp"
#include "http/request_builder.hpp"
#include "http/request_meter.hpp"

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/http/body.hpp>
#include <sley/http/connection.hpp>
#include <sley/http/response.hpp>
#include <sley/http/server.hpp>
#include <sley/http/trace.hpp>
#include <sley/sync.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::http::detail {

// All of it happens in one goroutine, which runs run(); but finish_soon() and cut() come from
// anywhere.
class session final : private body_reader {
 public:
  session(connection& c, const handler& h, const server_options& options);
  ~session() override;

  void run();

  // Answers the requests that have come, and ends. An idle connection waits a moment longer.
  void finish_soon();
  // Whatever it does ends with errors.
  void cut();

  // For the response. Changes the pieces, and returns how many of their bytes were taken. Errors
  // stay.
  std::size_t write(std::span<iovec> pieces, std::error_code& error);
  // Will there be another request? Asked when the head is made, which has to say so.
  bool keeps_alive();
  void close_after_this() noexcept { keeps_alive_ = false; }
  // Between the two only the end of the stream tells the peer where the body ends.
  void set_open_ended(bool is_open_ended);
  bool is_http_1_0() noexcept { return builder_.get().version() < 11; }
  bool is_for_tunnel() noexcept { return builder_.get().method() == "CONNECT"; }
  std::string_view date_line();  // "Date: ...\r\n"

  // For the request.
  const context& get_context();
  void set_context(context ctx);

  // For WebSocket: the connection speaks another protocol from now on.
  connection& hand_over(input_buffer& already_read);
  // Calls f when the server is shut down, at once if it was before. Null: no more; then f is not
  // running. f must not wait.
  void on_finish(std::function<void()> f);
  // The peer still sends, and would lose what it was told last.
  void linger_at_the_end() noexcept { may_lose_answer_ = true; }

 private:
  // Heads.
  bool read_head();
  bool wait_for_head();
  bool fill_for_head();
  void become_idle();
  void become_busy();
  void arm_last_wait();
  bool begin_second_half();
  void release_memory() noexcept;
  void refuse(int status);
  void arm_read(time_span timeout);
  void linger(std::chrono::nanoseconds most);
  std::size_t write_now(std::span<iovec> pieces, std::error_code& error);

  // Answers: session_answer.cpp.
  void answer();
  void call_handler();
  void answer_failure(const std::system_error& e);
  void answer_instead(int status, std::string_view text, fields headers) noexcept;
  void report(std::exception_ptr e);
  void report_cut();
  std::string named_request();
  bool is_cut() const noexcept;
  bool must_abort() const noexcept;
  void begin_trace();
  std::string traceparent();
  void log(int status, std::uint64_t body_bytes, std::chrono::nanoseconds duration,
           std::chrono::nanoseconds time_to_first_byte);

  // The handler's time limit: session_limit.cpp.
  void call_handler_in_time();
  bool begin_answer();
  void note_first_byte() noexcept;
  bool is_late();
  bool is_time_over();
  void time_out();
  void answer_for_handler() noexcept;
  void end_timed_out_answer();
  std::string plain_answer(int status, std::string& head) const;

  // The request's context: session_context.cpp.
  void begin_watching();
  void stop_watching() noexcept;
  void watch();
  void end_context() noexcept;

  // The request's body: session_body.cpp.
  void begin_body();
  void end_body();
  bool can_end_body() const noexcept;
  std::size_t do_read(std::span<std::byte> buffer, std::error_code& error) override;
  void do_fail(const std::error_code& error) noexcept override;
  std::optional<std::uint64_t> length() const noexcept override { return body_.length(); }
  void set_limit(std::uint64_t bytes) noexcept override { body_.set_limit(bytes); }
  const fields& trailers() const noexcept override { return body_.trailers(); }
  std::size_t read_from_peer(std::span<std::byte> buffer, std::error_code& error);
  bool begin_body_read(std::error_code& error);
  void ask_to_continue(std::error_code& error);

  connection& connection_;
  const handler& handler_;
  const server_options& options_;
  request_counts& counts_ = place_to_count();

  input_buffer input_;
  head_scanner scanner_;
  request_builder builder_;
  framing framing_;
  response response_;
  bool is_first_ = true;        // no request has come yet
  bool is_head_timed_ = false;  // of the head that is being read some has come
  bool keeps_alive_ = false;
  bool may_lose_answer_ = false;  // closing at once would: the peer still sends
  bool is_broken_ = false;        // nothing goes through any more
  std::error_code write_error_;   // that is why
  bool is_reported_ = false;      // on_error knows what went wrong with this request
  late_deadline read_deadline_;   // as the connection has them
  late_deadline write_deadline_;  // likewise
  std::time_t date_second_ = 0;
  std::string date_line_;  // of that second

  incoming_body body_;
  bool must_ask_ = false;  // the client waits for "100 Continue"

  std::optional<context> limit_;  // ends with the handler's time; none: there is no limit
  mutex answer_lock_;
  bool has_begun_ = false;          // [lock: answer_lock_] some of the handler's answer was sent
  bool is_timed_out_ = false;       // [lock: answer_lock_] 503 was sent instead
  std::uint64_t sent_instead_ = 0;  // [lock: answer_lock_] bytes of its body
  // [lock: answer_lock_ while there is a limit] When the answer began to go out, if there is a log.
  std::optional<std::chrono::steady_clock::time_point> first_byte_;

  std::optional<trace_context> trace_;  // of this request, if the options want one
  std::optional<context> context_;      // since it was asked for
  cancel_function cancel_;              // [lock_] written by the session's goroutine
  // While there is one, the watching goroutine alone reads from the connection and has the input;
  // it closes the channel when it has let go of both.
  std::optional<chan<void>> watching_;

  mutex lock_;
  bool is_idle_ = false;             // [lock_] waits for a request of which nothing has come
  bool is_finishing_ = false;        // [lock_]
  bool is_open_ended_ = false;       // [lock_] see set_open_ended()
  bool is_handed_over_ = false;      // [lock_] written by the session's goroutine
  std::function<void()> on_finish_;  // [lock_]
};

}  // namespace sley::http::detail
