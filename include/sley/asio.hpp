// Asio on goroutines: adapters that let Asio's and Beast's blocking functions run on streams that
// park. Header-only; needs Boost's headers, or Asio's alone if SLEY_ASIO_STANDALONE is defined. The
// library does not need them.
//
//   sley::asio::stream connection(sley::net::tcp_stream::connect("example.org:80"));
//   boost::beast::http::write(connection, request);
//   boost::beast::http::read(connection, buffer, response);
//
// Also as the lower layer of boost::beast::websocket::stream and boost::asio::ssl::stream. Of
// these use the blocking functions: they park the goroutine. No threads are started.
//
// And sley::executor is an executor of Asio's: boost::asio::post(sley::executor(), f), co_spawn,
// strand, bind_executor, any_io_executor. What it runs may park.
#pragma once

#include <sley/executor.hpp>
#include <sley/net.hpp>
#include <sley/sync.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#ifdef SLEY_ASIO_STANDALONE
#include <asio/async_result.hpp>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/execution/blocking.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>
#include <asio/io_context.hpp>
#else
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#endif

#include <sys/uio.h>

// Of <boost/beast/core/role.hpp>.
namespace boost::beast {
enum class role_type;
}

namespace sley::asio {

#ifdef SLEY_ASIO_STANDALONE
namespace lib = ::asio;
using error_code = std::error_code;
using system_error = std::system_error;
#else
namespace lib = boost::asio;
// The errors of the Asio at hand: Boost's, or with SLEY_ASIO_STANDALONE the standard's.
using error_code = boost::system::error_code;
using system_error = boost::system::system_error;
#endif

// An error of sley's as Asio's: comparable with boost::asio::error::timed_out, operation_aborted
// (closed), ... Any thread; parks never.
error_code to_asio(const std::error_code& error);

// A stream of sley's (net::tcp_stream, net::unix_stream, net::tls_stream, os::file), or a reference
// to one, as Asio's SyncReadStream and SyncWriteStream. Threads and lifetimes are the stream's.
// Towards Beast it is the lowest layer.
template <class S>
class stream {
 public:
  // What Asio asks of a stream.
  using executor_type = lib::io_context::executor_type;
  using lowest_layer_type = stream;

  // Takes the stream, or the reference to it.
  explicit stream(S wrapped) : wrapped_(std::forward<S>(wrapped)) {}

  // Parks until something has come. The end of the stream is boost::asio::error::eof; without room
  // they return 0 at once. Up to 16 buffers are filled by one call.
  template <class MutableBuffers>
  std::size_t read_some(const MutableBuffers& buffers, error_code& error);
  template <class MutableBuffers>
  std::size_t read_some(const MutableBuffers& buffers);  // throws boost::system::system_error

  // Parks until something is written.
  template <class ConstBuffers>
  std::size_t write_some(const ConstBuffers& buffers, error_code& error);
  template <class ConstBuffers>
  std::size_t write_some(const ConstBuffers& buffers);  // throws boost::system::system_error

  // Of an io_context that is never run: for the timers that some layers make and never wait for.
  executor_type get_executor() const noexcept;

  // This one: Asio looks for nothing below.
  lowest_layer_type& lowest_layer() noexcept { return *this; }
  const lowest_layer_type& lowest_layer() const noexcept { return *this; }
  // The stream of sley's.
  std::remove_reference_t<S>& wrapped() noexcept { return wrapped_; }
  const std::remove_reference_t<S>& wrapped() const noexcept { return wrapped_; }

 private:
  S wrapped_;
};

// What Beast's WebSocket calls at its end: announces the end if the stream can do that, reads until
// the peer's, and closes. Parks; the stream's deadlines count.
template <class S>
void teardown(boost::beast::role_type role, stream<S>& s, error_code& error);
template <class S>
void beast_close_socket(stream<S>& s);

// A completion token for Asio's asynchronous functions: the goroutine parks until the handler has
// run, which is where and when Asio says. Another thread or goroutine runs the io_context. Returns
// the handler's values without the error, which is thrown as system_error, or goes into `error`
// with use_goroutine[error]. Where Asio drops the handler, operation_aborted is thrown. Of co_spawn
// it returns what the coroutine returns, or throws what it throws.
//
//   std::size_t n = socket.async_read_some(buffer, sley::asio::use_goroutine);
//   int result = boost::asio::co_spawn(context, coroutine(), sley::asio::use_goroutine);
struct use_goroutine_t {
  error_code* error = nullptr;  // null: an error is thrown
  // A token that sets this error instead of throwing it.
  use_goroutine_t operator[](error_code& to) const noexcept { return {&to}; }
};
// The token itself.
inline constexpr use_goroutine_t use_goroutine;

}  // namespace sley::asio

// What Asio asks of sley::executor. It never calls functions itself, which is blocking.never. Its
// context is one of its own, which is never destroyed; for sockets and timers of Asio's that are
// made with the executor, and only for these, Asio starts one thread.
namespace sley {

// What Asio asks of an executor: its context, and whether it may call functions itself.
inline asio::lib::execution_context& query(const executor&,
                                           asio::lib::execution::context_t) noexcept {
  static auto* const context = new asio::lib::execution_context;
  return *context;
}
constexpr asio::lib::execution::blocking_t query(const executor&,
                                                 asio::lib::execution::blocking_t) noexcept {
  return asio::lib::execution::blocking_t::never_t();
}
constexpr executor require(const executor& e, asio::lib::execution::blocking_t::never_t) noexcept {
  return e;
}

}  // namespace sley

namespace sley::asio {

// ------------------------------------------------------------------------------------------------

namespace detail {

// Not to be destroyed while goroutines may use it, so never.
inline lib::io_context& idle_context() {
  static auto* const context = new lib::io_context(1);
  return *context;
}

// The first of a sequence's buffers that are not empty.
class some_buffers {
 public:
  template <class Buffers>
  explicit some_buffers(const Buffers& buffers) {
    auto at = lib::buffer_sequence_begin(buffers);
    const auto end = lib::buffer_sequence_end(buffers);
    for (; at != end && count_ < places_.size(); ++at) add(*at);
  }
  std::span<const iovec> get() const noexcept { return {places_.data(), count_}; }
  bool empty() const noexcept { return count_ == 0; }

 private:
  void add(const lib::const_buffer& b) noexcept {
    if (b.size() > 0) places_[count_++] = {const_cast<void*>(b.data()), b.size()};
  }

  std::array<iovec, 16> places_;
  std::size_t count_ = 0;
};

template <class S>
std::size_t read(S& s, std::span<const iovec> to, std::error_code& error) {
  if constexpr (requires { s.read_some(to, error); }) {
    return s.read_some(to, error);
  } else {
    const std::span first(static_cast<std::byte*>(to[0].iov_base), to[0].iov_len);
    return s.read_some(first, error);
  }
}

template <class S>
std::size_t write(S& s, std::span<const iovec> from, std::error_code& error) {
  if constexpr (requires { s.write_some(from, error); }) {
    return s.write_some(from, error);
  } else {
    const std::span first(static_cast<const std::byte*>(from[0].iov_base), from[0].iov_len);
    return s.write_some(first, error);
  }
}

#ifndef SLEY_ASIO_STANDALONE
// GCC warns: Boost's categories have no virtual destructor. They are never destroyed by a base.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
// A category of the standard library's, as one of Boost's.
class foreign_category final : public boost::system::error_category {
 public:
  explicit foreign_category(const std::error_category& of) noexcept : of_(of) {}
  const char* name() const noexcept override { return of_.name(); }
  std::string message(int value) const override { return of_.message(value); }

  static const foreign_category& of(const std::error_category& category) {
    static auto* const lock = new std::mutex;
    static auto* const known = new std::map<const std::error_category*, foreign_category>;
    std::lock_guard guard(*lock);
    return known->try_emplace(&category, category).first->second;
  }

 private:
  const std::error_category& of_;
};
#pragma GCC diagnostic pop
#endif

}  // namespace detail

inline error_code to_asio(const std::error_code& error) {
  if (!error) return {};
  if (error.category() == std::generic_category() || error.category() == std::system_category()) {
    return {error.value(), lib::error::get_system_category()};
  }
#ifdef SLEY_ASIO_STANDALONE
  return error;
#else
  return {error.value(), detail::foreign_category::of(error.category())};
#endif
}

template <class S>
template <class MutableBuffers>
std::size_t stream<S>::read_some(const MutableBuffers& buffers, error_code& error) {
  const detail::some_buffers places(buffers);
  error = {};
  if (places.empty()) return 0;
  std::error_code ours;
  const std::size_t n = detail::read(wrapped_, places.get(), ours);
  if (ours) {
    error = to_asio(ours);
  } else if (n == 0) {
    error = lib::error::eof;
  }
  return n;
}

template <class S>
template <class MutableBuffers>
std::size_t stream<S>::read_some(const MutableBuffers& buffers) {
  error_code error;
  const std::size_t n = read_some(buffers, error);
  if (error) throw system_error(error, "read_some");
  return n;
}

template <class S>
template <class ConstBuffers>
std::size_t stream<S>::write_some(const ConstBuffers& buffers, error_code& error) {
  const detail::some_buffers places(buffers);
  error = {};
  if (places.empty()) return 0;
  std::error_code ours;
  const std::size_t n = detail::write(wrapped_, places.get(), ours);
  if (ours) error = to_asio(ours);
  return n;
}

template <class S>
template <class ConstBuffers>
std::size_t stream<S>::write_some(const ConstBuffers& buffers) {
  error_code error;
  const std::size_t n = write_some(buffers, error);
  if (error) throw system_error(error, "write_some");
  return n;
}

template <class S>
auto stream<S>::get_executor() const noexcept -> executor_type {
  return detail::idle_context().get_executor();
}

template <class S>
void teardown(boost::beast::role_type, stream<S>& s, error_code& error) {
  std::error_code ours;
  if constexpr (requires { s.wrapped().shutdown_write(ours); }) s.wrapped().shutdown_write(ours);
  std::array<std::byte, 2048> rest;
  while (!ours && s.wrapped().read_some(std::span<std::byte>(rest), ours) > 0) {
  }
  std::error_code of_close;
  s.wrapped().close(of_close);
  error = to_asio(ours ? ours : of_close);
}

template <class S>
void beast_close_socket(stream<S>& s) {
  std::error_code ignored;
  s.wrapped().close(ignored);
}

namespace detail {

// The values a handler is called with, and the wait group that the goroutine waits for.
template <class Error, class... Values>
struct completion {
  wait_group done;
  Error error{};
  std::optional<std::tuple<Values...>> values;
};

// The handler. The goroutine goes on when it has run, or has been dropped.
template <class Error, class... Values>
class resumer {
 public:
  explicit resumer(completion<Error, Values...>& c) : completion_(&c) { c.done.add(1); }
  resumer(resumer&& other) noexcept : completion_(std::exchange(other.completion_, nullptr)) {}
  resumer& operator=(resumer&& other) noexcept {
    std::swap(completion_, other.completion_);
    return *this;
  }
  ~resumer() {
    if (completion_ != nullptr) completion_->done.done();
  }

  void operator()(Error error, Values... values) {
    completion_->error = std::move(error);
    completion_->values.emplace(std::move(values)...);
    std::exchange(completion_, nullptr)->done.done();
  }
  void operator()()
    requires(sizeof...(Values) == 0)
  {
    (*this)(Error());
  }

 private:
  completion<Error, Values...>* completion_;
};

inline void report(const error_code& error, const use_goroutine_t& token) {
  if (token.error == nullptr && error) throw system_error(error);
  if (token.error != nullptr) *token.error = error;
}
inline void report(const std::exception_ptr& error, const use_goroutine_t&) {
  if (error) std::rethrow_exception(error);
}

template <class Error, class... Values>
struct goroutine_result {
  template <class Initiation, class... Args>
  static auto initiate(Initiation&& initiation, const use_goroutine_t& token, Args&&... args) {
    completion<Error, Values...> c;
    std::forward<Initiation>(initiation)(resumer<Error, Values...>(c), std::forward<Args>(args)...);
    c.done.wait();
    if (!c.values) throw system_error(error_code(lib::error::operation_aborted));
    report(c.error, token);
    if constexpr (sizeof...(Values) == 1) {
      return std::get<0>(std::move(*c.values));
    } else if constexpr (sizeof...(Values) > 1) {
      return std::move(*c.values);
    }
  }
};

}  // namespace detail

}  // namespace sley::asio

#ifdef SLEY_ASIO_STANDALONE
namespace asio {
#else
namespace boost::asio {
#endif

template <class R, class... Values>
class async_result<sley::asio::use_goroutine_t, R(sley::asio::error_code, Values...)>
    : public sley::asio::detail::goroutine_result<sley::asio::error_code, Values...> {};

template <class R, class... Values>
class async_result<sley::asio::use_goroutine_t, R(std::exception_ptr, Values...)>
    : public sley::asio::detail::goroutine_result<std::exception_ptr, Values...> {};

template <class R>
class async_result<sley::asio::use_goroutine_t, R()>
    : public sley::asio::detail::goroutine_result<sley::asio::error_code> {};
}
