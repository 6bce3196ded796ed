// The definitions of what <sley/curl.hpp> declares.
#pragma once

#include <sley/context.hpp>
#include <sley/curl.hpp>
#include <sley/once.hpp>
#include <sley/os.hpp>
#include <sley/poll_loop.hpp>
#include <sley/time_span.hpp>
#include <sley/wait_group.hpp>

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace sley::curl {

namespace detail {

class curl_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "curl"; }
  std::string message(int code) const override {
    return curl_easy_strerror(static_cast<CURLcode>(code));
  }
};

// Once in the process, and never taken back: other code may use libcurl as well.
inline void set_up_libcurl() {
  static once_flag flag;
  call_once(flag, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::bad_alloc();
  });
}

template <class Handle>
Handle* made(Handle* (*make)()) {
  set_up_libcurl();
  Handle* const h = make();
  if (h == nullptr) throw std::bad_alloc();
  return h;
}

inline handle::handle() : curl(made(curl_easy_init)) {}

inline std::size_t append(char* bytes, std::size_t, std::size_t size, void* body) noexcept {
  try {
    static_cast<std::string*>(body)->append(bytes, size);
    return size;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

}  // namespace detail

inline const std::error_category& category() noexcept {
  static const detail::curl_category one;
  return one;
}

inline void collect(const easy& e, std::string& body) {
  curl_easy_setopt(e.get(), CURLOPT_WRITEFUNCTION, &detail::append);
  curl_easy_setopt(e.get(), CURLOPT_WRITEDATA, &body);
}

// A call of perform(). The handle is the caller's before it has begun and once it is done.
class client::transfer {
 public:
  transfer(client& c, CURL* h) : handle(h), client_(c) {
    client_.performing_.add(1);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, said.data());
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // signals are the process's
#if LIBCURL_VERSION_NUM >= 0x075700
    // Else a transfer that is given up would wait for the thread that looks up its name.
    curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#endif
  }
  ~transfer() {
    client_.loop_.run([this] { client_.end(handle, {}); });  // if an exception has ended the wait
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
    client_.performing_.done();
  }
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;

  CURL* const handle;
  wait_group done;
  std::error_code error;                        // of a transfer that is done
  std::array<char, CURL_ERROR_SIZE> said = {};  // likewise, by libcurl

 private:
  client& client_;
};

inline client::client()
    : loop_([this](int fd, os::poll_events found) { go_on(fd, found); },
            [this] { go_on(CURL_SOCKET_TIMEOUT, os::poll_events::none); }),
      multi_(detail::made(curl_multi_init)) {
  curl_multi_setopt(get(), CURLMOPT_SOCKETFUNCTION, &client::watch);
  curl_multi_setopt(get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(get(), CURLMOPT_TIMERFUNCTION, &client::set_timer);
  curl_multi_setopt(get(), CURLMOPT_TIMERDATA, this);
}

inline void client::perform(easy& e, const context& ctx) {
  std::error_code code;
  std::string said;
  perform(e, ctx, code, said);
  if (code && code.category() == category()) throw error(code, said);
  if (code) throw std::system_error(code, "sley: curl");
}

inline void client::perform(easy& e, const context& ctx, std::error_code& error) {
  std::string said;
  perform(e, ctx, error, said);
}

inline void client::perform(easy& e, const context& ctx, std::error_code& error,
                            std::string& said) {
  error = ctx.error();
  if (error) return;
  const std::unique_lock use(e.handle_->in_use, std::try_to_lock);
  if (!use) throw std::logic_error("sley: curl: two goroutines use one easy handle");
  transfer t(*this, e.get());
  loop_.run([&] { begin(t); });
  t.done.wait(ctx, error);
  if (error) loop_.run([&] { end(t.handle, error); });  // nothing, if it was done just before
  error = t.error;
  said = t.said.data();
}

// What follows runs in the loop's callbacks and in loop_.run().

inline void client::begin(transfer& t) {
  if (is_stopped_) {
    t.error = std::make_error_code(std::errc::operation_canceled);
    return;
  }
  under_way_.emplace(t.handle, &t);
  const CURLMcode code = curl_multi_add_handle(get(), t.handle);
  if (code == CURLM_OK) return t.done.add(1);
  under_way_.erase(t.handle);
  if (code == CURLM_OUT_OF_MEMORY) throw std::bad_alloc();
  throw std::logic_error(std::string("sley: curl: ") + curl_multi_strerror(code));
}

// The first end of a transfer counts.
inline void client::end(CURL* handle, std::error_code error) noexcept {
  const auto found = under_way_.find(handle);
  if (found == under_way_.end()) return;
  transfer& t = *found->second;
  under_way_.erase(found);
  curl_multi_remove_handle(get(), handle);
  t.error = error;
  t.done.done();
}

inline void client::end_all(std::error_code error) noexcept {
  while (!under_way_.empty()) end(under_way_.begin()->first, error);
}

inline void client::go_on(curl_socket_t socket, os::poll_events found) noexcept {
  using enum os::poll_events;
  constexpr os::poll_events over = hang_up | failure;  // reading and writing tell what it was
  int events = 0;
  if ((found & (readable | over)) != none) events |= CURL_CSELECT_IN;
  if ((found & (writable | over)) != none) events |= CURL_CSELECT_OUT;
  int count = 0;
  const CURLMcode code = curl_multi_socket_action(get(), socket, events, &count);
  while (const CURLMsg* m = curl_multi_info_read(get(), &count)) {
    if (m->msg == CURLMSG_DONE) end(m->easy_handle, make_error_code(m->data.result));
  }
  if (code != CURLM_OK) end_all(make_error_code(CURLE_OUT_OF_MEMORY));
}

// CURLMOPT_SOCKETFUNCTION. libcurl tells it that a socket is to be removed before it closes it.
inline int client::watch(CURL*, curl_socket_t socket, int what, void* self, void*) noexcept {
  using enum os::poll_events;
  poll_loop& loop = static_cast<client*>(self)->loop_;
  std::error_code error;
  if (what == CURL_POLL_REMOVE) {
    loop.forget(socket);
  } else {
    const bool is_read = what == CURL_POLL_IN || what == CURL_POLL_INOUT;
    const bool is_written = what == CURL_POLL_OUT || what == CURL_POLL_INOUT;
    loop.watch(socket, (is_read ? readable : none) | (is_written ? writable : none), error);
  }
  return error ? -1 : 0;
}

// CURLMOPT_TIMERFUNCTION
inline int client::set_timer(CURLM*, long milliseconds, void* self) noexcept {
  const time_span never = time_span::max();
  static_cast<client*>(self)->loop_.set_timer(
      milliseconds < 0 ? never : time_span(std::chrono::milliseconds(milliseconds)));
  return 0;
}

inline void client::stop() noexcept {
  loop_.run([this] {
    is_stopped_ = true;
    end_all(std::make_error_code(std::errc::operation_canceled));
  });
  performing_.wait();
  loop_.stop();
}

}  // namespace sley::curl
