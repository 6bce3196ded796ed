// From a request that was read to an answer that was sent.
#include "http/error_line.hpp"
#include "http/session.hpp"

#include <sley/http/error.hpp>

#include <string>

namespace sley::http::detail {

namespace {

// Later there may be room again, for this request too.
bool is_shortage(const std::error_code& error) noexcept {
  return error == std::errc::too_many_files_open ||
         error == std::errc::too_many_files_open_in_system ||
         error == std::errc::not_enough_memory || error == std::errc::no_buffer_space ||
         error == std::errc::resource_unavailable_try_again;
}

}  // namespace

void session::answer() {
  measured_request measured(counts_);
  response_.begin(builder_.get().method() == "HEAD");
  is_reported_ = false;
  first_byte_.reset();
  begin_trace();
  call_handler_in_time();
  end_context();
  if (is_timed_out_) end_timed_out_answer();  // the timer has gone
  if (write_error_ == std::errc::timed_out && !is_reported_) report_cut();
  const std::chrono::nanoseconds took = measured.end(response_.status(), is_handed_over_);
  if (options_.access_log) {
    const auto until_first_byte = first_byte_ ? *first_byte_ - measured.began() : took;
    log(response_.status(), response_.sent_bytes(), took, until_first_byte);
  }
  trace_.reset();
  if (is_cut()) is_broken_ = true;
  if (is_handed_over_) keeps_alive_ = false;
  if (!is_broken_ && !is_handed_over_) end_body();
}

void session::begin_trace() {
  if (!options_.trace) return;
  trace_ = trace_of(builder_.get().headers());
  if (trace_) {
    trace_->parent = trace_->parent.child();
  } else {
    trace_ = trace_context{.parent = trace_parent::make()};
  }
}

std::string session::traceparent() {
  const auto trace = trace_ ? trace_ : trace_of(builder_.get().headers());
  return trace ? trace->parent.to_string() : std::string();
}

void session::call_handler() {
  try {
    handler_(builder_.get(), response_);
    if (!is_handed_over_) response_.finish();
  } catch (const status_error& e) {
    if (is_late()) return;
    answer_instead(e.status(), e.what(), response_.headers_);
  } catch (const std::system_error& e) {
    answer_failure(e);
  } catch (...) {
    const std::exception_ptr e = std::current_exception();
    if (!e) throw;  // no exception, but this_goroutine::exit() unwinding the stack
    report(e);
    if (!is_late()) answer_instead(500, reason_phrase(500), {});
  }
}

// The handler threw when its time was over, or because of that: the client gets 503.
bool session::is_late() {
  if (limit_ && limit_->error()) time_out();  // the timer may be late
  return is_time_over();
}

// The failure of a function that the handler called. If the handler's own connection failed, at
// most the peer is told.
void session::answer_failure(const std::system_error& e) {
  if (is_broken_ || is_handed_over_) return;
  const bool is_of_time = e.code() == std::errc::timed_out;  // the context's, or of a write
  if (is_late() && is_of_time) return;
  const std::error_code& body_error = body_.error();
  if (!body_error || e.code() != body_error) {
    report(std::current_exception());
    if (is_late()) return;
    const int status = is_shortage(e.code()) ? 503 : 500;
    return answer_instead(status, reason_phrase(status), {});
  }
  if (is_late()) return;
  int status = 400;
  if (body_error == errc::body_too_large) status = 413;
  if (body_error == std::errc::timed_out) status = 408;
  answer_instead(status, reason_phrase(status), {});
}

// `headers` are what the handler has set, as WWW-Authenticate. Headers that describe the body are
// dropped. With the head out there is nothing left but to end the connection, so that the peer does
// not take a part of the answer for the whole.
void session::answer_instead(int status, std::string_view text, fields headers) noexcept {
  if (response_.is_head_sent() || is_handed_over_) {
    is_broken_ = true;
    return;
  }
  try {
    response_.begin(builder_.get().method() == "HEAD");
    for (const char* name : {"Content-Length", "Content-Encoding", "Content-Range", "ETag",
                             "Last-Modified", "Cache-Control"}) {
      headers.erase(name);
    }
    response_.headers_ = std::move(headers);
    response_.send_text(status, text);
    response_.finish();
  } catch (const std::exception&) {
    is_broken_ = true;  // there is no telling the peer
  }
}

// A peer that has gone is nothing to report; that this server's own limit has cut an answer is.
void session::report_cut() {
  const std::system_error e(
      write_error_,
      "the answer was cut after " + std::to_string(response_.sent_bytes()) + " bytes of its body");
  if (options_.on_error) return options_.on_error(&builder_.get(), std::make_exception_ptr(e));
  print_error(named_request() + ": " + e.what());
}

std::string session::named_request() {
  const request& in = builder_.get();
  return std::string(in.method()) + ' ' + std::string(in.target());
}

void session::report(std::exception_ptr e) {
  is_reported_ = true;
  if (options_.on_error) return options_.on_error(&builder_.get(), e);
  const char* what = "an exception that is no std::exception";
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& known) {
    what = known.what();
  } catch (...) {
  }
  print_error("the handler of " + named_request() + " threw: " + what);
}

void session::log(int status, std::uint64_t body_bytes, std::chrono::nanoseconds duration,
                  std::chrono::nanoseconds time_to_first_byte) {
  const request& in = builder_.get();
  std::error_code cut_by = write_error_;
  if (!cut_by && is_cut()) cut_by = errc::incomplete;
  net::endpoint remote;
  try {
    remote = connection_.remote();
  } catch (const std::system_error&) {  // it has gone: the record has no address
  }
  const std::string trace = traceparent();
  options_.access_log({.remote = remote,
                       .method = in.method(),
                       .target = in.target(),
                       .version = in.version(),
                       .status = status,
                       .body_bytes = body_bytes,
                       .duration = duration,
                       .cut_by = cut_by,
                       .time = std::chrono::system_clock::now() - duration,
                       .traceparent = trace,
                       .time_to_first_byte = time_to_first_byte});
}

}  // namespace sley::http::detail
