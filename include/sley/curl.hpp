// libcurl for goroutines: transfers of HTTP, FTP, SMTP and all else that it speaks. A goroutine
// parks until its transfer is over. Header-only; needs libcurl 7.68 or later (-lcurl). The library
// does not need it.
//
//   sley::curl::client client;
//   sley::curl::easy e;
//   std::string body;
//   sley::curl::collect(e, body);
//   curl_easy_setopt(e.get(), CURLOPT_URL, "https://example.org/");
//   client.perform(e, ctx);
//
// A client has one goroutine for any number of transfers, and libcurl's pool of connections. No
// thread belongs to a transfer. But libcurl looks names up by itself: its usual build starts a
// thread for each name, until the answer is there; a build with c-ares starts none.
//
// Errors. What libcurl reports is a curl::error, or a std::error_code of curl::category() whose
// value is the CURLcode. And there are
//   context_errc                   the context has ended; the transfer was given up
//   std::errc::operation_canceled  stop() has ended it
//
// Callbacks, as CURLOPT_WRITEFUNCTION's, run in the client's goroutine, one at a time. While one
// parks, all transfers of its client wait. They throw nothing, because libcurl is C, and call
// nothing of their client. If a context or stop() ends a transfer, what libcurl still calls for it
// runs in the goroutine that has waited for the transfer or has called stop().
#pragma once

#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/mutex.hpp>
#include <sley/os.hpp>
#include <sley/poll_loop.hpp>
#include <sley/wait_group.hpp>

#include <curl/curl.h>

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>

namespace sley::curl {

// Of numbers that are a CURLcode; message() is curl_easy_strerror()'s.
const std::error_category& category() noexcept;
// Compares equal to what perform() reports for this code; no error for CURLE_OK.
inline std::error_code make_error_code(CURLcode code) noexcept {
  return {static_cast<int>(code), category()};
}

// libcurl has failed. code() has the CURLcode, what() its meaning and libcurl's own words.
class error : public std::system_error {
 public:
  // Of a code, and what is in libcurl's buffer for errors.
  error(std::error_code code, std::string_view said)
      : system_error(code, "sley: curl: " + sley::detail::quoted(said)), said_(said) {}

  // libcurl's own words: "Failed to connect to localhost port 1: Connection refused". May be empty.
  const std::string& said() const noexcept { return said_; }

 private:
  std::string said_;
};

namespace detail {

struct free_by_libcurl {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
struct free_multi_by_libcurl {
  void operator()(CURLM* handle) const noexcept { curl_multi_cleanup(handle); }
};

struct handle {
  handle();

  const std::unique_ptr<CURL, free_by_libcurl> curl;
  mutex in_use;
};

}  // namespace detail

// An easy handle of libcurl's: any number of transfers, one after the other. Between two of them
// all that libcurl has for such handles can be done with get(). Performing it while another
// goroutine does is found: std::logic_error. Moving and destroying are for its only user.
class easy {
 public:
  // Throws std::bad_alloc.
  easy() : handle_(std::make_unique<detail::handle>()) {}

  // For curl_easy_setopt() and curl_easy_getinfo(); it stays this object's. perform() sets
  // CURLOPT_ERRORBUFFER, CURLOPT_NOSIGNAL and CURLOPT_QUICK_EXIT; the others are the caller's.
  CURL* get() const noexcept { return handle_->curl.get(); }

 private:
  friend class client;
  std::unique_ptr<detail::handle> handle_;
};

// What the transfers of this handle receive is appended to the text, which must outlive them: as
// CURLOPT_WRITEFUNCTION and CURLOPT_WRITEDATA. Without memory for it a transfer ends with
// CURLE_WRITE_ERROR.
void collect(const easy& e, std::string& body);

// Performs transfers, any number at the same time, for any goroutines and foreign threads.
class client {
 public:
  // Throws std::bad_alloc, and std::system_error without a descriptor.
  client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { stop(); }

  // Parks until the transfer is over. An answer with a status as 404 is no error for libcurl,
  // unless CURLOPT_FAILONERROR is set. If the context ends meanwhile, the transfer is given up, and
  // its connection is closed if it has begun. The first form throws curl::error for what libcurl
  // reports, else std::system_error. Both throw std::bad_alloc, and std::logic_error if the handle
  // is in use, or in a callback of libcurl's.
  void perform(easy& e, const context& ctx = context::background());
  void perform(easy& e, const context& ctx, std::error_code& error);

  // Ends all transfers with std::errc::operation_canceled; later ones end so at once. Parks until
  // all perform() calls have let go of the client. Not in a callback. Any number of times.
  void stop() noexcept;

  // For curl_multi_setopt(), as CURLMOPT_MAX_HOST_CONNECTIONS, before the first transfer. The
  // options of functions and their data are the client's.
  CURLM* get() const noexcept { return multi_.get(); }

 private:
  class transfer;

  void perform(easy& e, const context& ctx, std::error_code& error, std::string& said);
  void begin(transfer& t);
  void end(CURL* handle, std::error_code error) noexcept;
  void end_all(std::error_code error) noexcept;
  void go_on(curl_socket_t socket, os::poll_events found) noexcept;
  static int watch(CURL*, curl_socket_t socket, int what, void* self, void*) noexcept;
  static int set_timer(CURLM*, long milliseconds, void* self) noexcept;

  // libcurl is called in the loop's callbacks and in loop_.run().
  poll_loop loop_;
  const std::unique_ptr<CURLM, detail::free_multi_by_libcurl> multi_;
  std::unordered_map<CURL*, transfer*> under_way_;  // [lock: of loop_]
  bool is_stopped_ = false;                         // [lock: of loop_]
  wait_group performing_;
};

}  // namespace sley::curl

#include <sley/detail/curl_definitions.hpp>
