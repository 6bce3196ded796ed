// From a request that was read to an answer that was sent.
#include "http/session.hpp"

#include <sley/http/error.hpp>

#include <cstdio>

namespace sley::http::detail {

void session::answer() {
  const bool is_timed = bool(options_.access_log);
  const auto start = is_timed ? std::chrono::steady_clock::now() : time_point();
  response_.begin(builder_.get().method() == "HEAD");
  call_handler();
  end_context();
  if (is_timed) log(response_.status(), std::chrono::steady_clock::now() - start);
  if (is_handed_over_) is_broken_ = true;
  if (!is_broken_) end_body();
}

void session::call_handler() {
  try {
    handler_(builder_.get(), response_);
    if (!is_handed_over_) response_.finish();
  } catch (const status_error& e) {
    answer_instead(e.status(), e.what(), response_.headers_);
  } catch (const std::system_error& e) {
    answer_failure(e);
  } catch (...) {
    const std::exception_ptr e = std::current_exception();
    if (!e) throw;  // no exception, but this_goroutine::exit() unwinding the stack
    report(e);
    answer_instead(500, reason_phrase(500), {});
  }
}

// Of what the handler called. If that was its own connection nobody has to hear of it but the peer.
void session::answer_failure(const std::system_error& e) {
  if (is_broken_ || is_handed_over_) return;
  const std::error_code& body_error = body_.error();
  if (!body_error || e.code() != body_error) {
    report(std::current_exception());
    return answer_instead(500, reason_phrase(500), {});
  }
  int status = 400;
  if (body_error == errc::body_too_large) status = 413;
  if (body_error == std::errc::timed_out) status = 408;
  answer_instead(status, reason_phrase(status), {});
}

// `headers` are what the handler has set, as WWW-Authenticate, but for those that describe the
// body. With the head out there is nothing left but to end the connection, so that the peer does
// not take what it got for all of it.
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

void session::report(std::exception_ptr e) {
  const request& in = builder_.get();
  if (options_.on_error) return options_.on_error(&in, e);
  const char* what = "an exception that is no std::exception";
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& known) {
    what = known.what();
  } catch (...) {
  }
  std::fprintf(stderr, "sley: http: the handler of %.*s %.*s threw: %s\n",
               static_cast<int>(in.method().size()), in.method().data(),
               static_cast<int>(in.target().size()), in.target().data(), what);
}

void session::log(int status, std::chrono::nanoseconds duration) {
  const request& in = builder_.get();
  net::endpoint remote;
  try {
    remote = connection_.remote();
  } catch (const std::system_error&) {  // it has gone: the record has no address
  }
  options_.access_log(
      {remote, in.method(), in.target(), in.version(), status, response_.body_bytes(), duration});
}

}  // namespace sley::http::detail
