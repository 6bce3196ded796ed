// Sockets for goroutines: every call parks the goroutine, never its thread. From Go's net.
//
// Each operation has two forms, as in std::filesystem: one throws std::system_error, one takes a
// std::error_code, which it clears or sets. Errors are the system call's (man pages of socket(7),
// tcp(7), unix(7)), and besides
//   std::errc::invalid_argument    a name, a path or an address has a zero byte inside
//   std::errc::timed_out           a deadline passed; it fails all operations until it is set anew
//   std::errc::operation_canceled  the object was closed, also while the operation waited
//   context_errc                   the context of the operation, or of the object, has ended
//   std::errc::bad_file_descriptor the object was never open
//
// Any thread and goroutine may use an object, any number at a time: reads take their turns, and so
// do writes; close() may be called at any time. Moving and destroying are for its only user.
// Threads that the runtime did not make wait as threads.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/byte_stream.hpp>
#include <sley/time.hpp>
#include <sley/time_span.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

struct sockaddr;  // of <sys/socket.h>

namespace sley::os {
class file;  // of <sley/os.hpp>
}

namespace sley::net {

// An address: of IPv4 or IPv6 with a port, or a Unix path. A value.
class SLEY_API endpoint {
 public:
  endpoint() noexcept = default;  // of nothing: host() and to_string() are empty
  endpoint(const sockaddr* address, unsigned size) noexcept;
  // "127.0.0.1", "::1", "fe80::1%eth0"; no names. Throws std::system_error (invalid_argument).
  endpoint(std::string_view ip, std::uint16_t port);
  // A path of at most 107 bytes; "@name" is of the abstract kind, and may hold any bytes. Throws
  // std::system_error.
  static endpoint unix_path(std::string_view path);

  std::string host() const;             // "::1"; a Unix path
  std::uint16_t port() const noexcept;  // 0 for a Unix path
  std::string to_string() const;        // "127.0.0.1:80", "[::1]:80", a Unix path

  int family() const noexcept;  // AF_INET, AF_INET6, AF_UNIX; AF_UNSPEC of nothing
  // As the system calls take it.
  const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(address_); }
  unsigned size() const noexcept { return size_; }

  friend SLEY_API std::strong_ordering operator<=>(const endpoint& a, const endpoint& b) noexcept;
  friend bool operator==(const endpoint& a, const endpoint& b) noexcept { return (a <=> b) == 0; }

 private:
  alignas(8) std::byte address_[128] = {};  // a sockaddr_storage
  unsigned size_ = 0;
};

// The addresses of a host's name, in the order of preference (RFC 6724), with port 0; a literal
// address is its own. Asks the system's resolver, getaddrinfo(3), as a blocking call; askers for
// the same name at the same time share one. There are no more such calls at a time than
// set_max_lookups() allows; other questions wait for their turn, in order. Parks. Throws
// std::system_error: category resolver_category(). Given up when the context ends, with its error.
SLEY_API std::vector<endpoint> lookup(std::string_view host,
                                      const context& ctx = context::background());
SLEY_API std::vector<endpoint> lookup(std::string_view host, std::error_code& error);
SLEY_API std::vector<endpoint> lookup(std::string_view host, const context& ctx,
                                      std::error_code& error);
// Values are getaddrinfo(3)'s: EAI_NONAME, ...
SLEY_API const std::error_category& resolver_category() noexcept;

// The most names that are looked up at the same time, 64 at the start: each takes a thread, for as
// long as a minute if the name server does not answer. Counts for connect() and listen() by name,
// and for names of services, as well. Returns the old limit. With more under way those are
// completed. n < 1: std::invalid_argument. Any thread and goroutine. From Go's
// net.concurrentThreadsLimit.
SLEY_API int set_max_lookups(int n);

// What all connected streams can do.
class SLEY_API stream : public byte_stream {
 public:
  // Fills the buffer. The end of the stream before that is std::errc::connection_aborted. Returns
  // how many bytes were read, after an error too.
  void read_exactly(std::span<std::byte> buffer) const {
    detail::throwing("sley: read", [&](std::error_code& e) { read_exactly(buffer, e); });
  }
  std::size_t read_exactly(std::span<std::byte> buffer, std::error_code& error) const noexcept;
  void read_exactly(std::span<std::byte> buffer, const context& ctx) const {
    detail::throwing("sley: read", [&](std::error_code& e) { read_exactly(buffer, ctx, e); });
  }
  std::size_t read_exactly(std::span<std::byte> buffer, const context& ctx,
                           std::error_code& error) const noexcept;

  // Writes `count` bytes of a regular file from `offset` on, fewer if the file ends before. No
  // other writer's bytes come in between. By sendfile(2): without a way through the memory of the
  // process, as announced blocking calls, because pages may have to be fetched. Returns how many
  // were written, after an error too.
  std::uint64_t send_file(const os::file& from, std::uint64_t offset, std::uint64_t count,
                          const context& ctx = context::background()) const;
  std::uint64_t send_file(const os::file& from, std::uint64_t offset, std::uint64_t count,
                          std::error_code& error) const noexcept;
  std::uint64_t send_file(const os::file& from, std::uint64_t offset, std::uint64_t count,
                          const context& ctx, std::error_code& error) const noexcept;

  // Half closes: the peer reads the end, and can go on to write.
  void shutdown_write() const;
  void shutdown_write(std::error_code& error) const noexcept;
  // As close(), but the peer of a TCP connection reads std::errc::connection_reset instead of the
  // end. Bytes that the system has not sent yet are thrown away. May be called while others use the
  // stream. SO_LINGER of socket(7).
  void abort() noexcept;
  endpoint local() const;  // throws std::system_error
  endpoint local(std::error_code& error) const noexcept;
  endpoint remote() const;  // throws std::system_error
  endpoint remote(std::error_code& error) const noexcept;

  stream() noexcept = default;
  // Takes over a connected stream socket and makes it non-blocking; it is closed on errors.
  explicit stream(int fd);
  stream(int fd, std::error_code& error) noexcept;

 protected:
  explicit stream(detail::descriptor descriptor) noexcept : byte_stream(std::move(descriptor)) {}
};

// Copies between streams and files until the end of `from`, at most `most` bytes; returns how many
// were copied. By sendfile(2) from regular files, by splice(2) between sockets and pipes, else
// through a buffer. Parks until there is something to read, and until it can be written; deadlines,
// contexts and close() of both end it, and so does its own context. No other goroutine reads or
// writes there meanwhile. Bytes that were read and could not be written are lost. `from` and `to`
// may be the same stream. From Go's io.Copy and TCPConn.ReadFrom.
SLEY_API std::uint64_t copy(const byte_stream& from, const byte_stream& to,
                            std::uint64_t most = UINT64_MAX,
                            const context& ctx = context::background());
SLEY_API std::uint64_t copy(const byte_stream& from, const byte_stream& to, std::uint64_t most,
                            std::error_code& error) noexcept;
SLEY_API std::uint64_t copy(const byte_stream& from, const byte_stream& to, std::uint64_t most,
                            const context& ctx, std::error_code& error) noexcept;

// A TCP connection. TCP_NODELAY is set, and keep-alive as in Go (15 s, 15 s, 9 probes).
class SLEY_API tcp_stream : public stream {
 public:
  using stream::stream;

  // "host:port", "[::1]:port"; a name's addresses are tried in turn, IPv4 and IPv6 racing (RFC
  // 8305: the second family begins 300 ms after the first, or when that has failed). Parks. Throws
  // std::system_error: the first error.
  // Given up when the context ends, with its error.
  static tcp_stream connect(std::string_view host_port, const context& ctx = context::background());
  static tcp_stream connect(std::string_view host_port, std::error_code& error);
  static tcp_stream connect(std::string_view host_port, const context& ctx, std::error_code& error);

  // Options of tcp(7) and socket(7). Forms without `error` throw std::system_error.
  void set_no_delay(bool on) const;
  void set_no_delay(bool on, std::error_code& error) const noexcept;
  // The time without a word after which probes are sent, rounded up to seconds. 0 and the largest
  // duration of any unit: none are sent. The system refuses more than 32767 s (invalid_argument).
  void set_keep_alive(time_span idle) const;
  void set_keep_alive(time_span idle, std::error_code& error) const noexcept;
  // How long the system goes on sending the bytes that were written before close(), rounded up to
  // seconds: 0 resets the connection, a negative time and the largest duration of any unit are as
  // long as it takes, as at first. close() itself does not wait.
  void set_linger(time_span limit) const;
  void set_linger(time_span limit, std::error_code& error) const noexcept;
  // The sizes of the system's buffers for this connection: SO_RCVBUF and SO_SNDBUF of socket(7).
  void set_read_buffer(int bytes) const;
  void set_read_buffer(int bytes, std::error_code& error) const noexcept;
  void set_write_buffer(int bytes) const;
  void set_write_buffer(int bytes, std::error_code& error) const noexcept;

 private:
  friend class tcp_listener;
};

// A connection of a Unix socket.
class SLEY_API unix_stream : public stream {
 public:
  using stream::stream;

  // Parks while the listener's queue is full, and tries again after 1 ms, later after up to 20 ms:
  // the system does not tell when there is room. Given up when the context ends, with its error.
  // Throws std::system_error.
  static unix_stream connect(std::string_view path, const context& ctx = context::background());
  static unix_stream connect(std::string_view path, std::error_code& error);
  static unix_stream connect(std::string_view path, const context& ctx, std::error_code& error);
  // Two that are connected with each other. Throws std::system_error.
  static std::pair<unix_stream, unix_stream> pair();
  static std::pair<unix_stream, unix_stream> pair(std::error_code& error);

 private:
  friend class unix_listener;
};

// How a listener listens.
struct listen_options {
  int backlog = 4096;         // the kernel's limit, net.core.somaxconn, may be lower
  bool reuse_address = true;  // SO_REUSEADDR of socket(7): restart at once on the same port
  bool reuse_port = false;    // several listeners share the port: SO_REUSEPORT of socket(7)
};

// What both listeners can do. accept() is what their deadline and their context end.
class SLEY_API listener : public io_object {
 public:
  endpoint local() const;  // throws std::system_error
  endpoint local(std::error_code& error) const noexcept;

 protected:
  listener() noexcept = default;
  listener(detail::descriptor descriptor, bool accepts_tcp) noexcept
      : io_object(std::move(descriptor)), accepts_tcp_(accepts_tcp) {}
  detail::descriptor accept_next(const context& ctx, std::error_code& error) const;

 private:
  bool accepts_tcp_ = false;
};

// Takes TCP connections.
class SLEY_API tcp_listener : public listener {
 public:
  tcp_listener() noexcept = default;
  // Takes over a TCP socket that listens, as one that was inherited (<sley/service.hpp>). It closes
  // on exec from now on. It does not block, and has the options that listen() sets for connections;
  // other processes that share the socket share these. It is closed on errors:
  // address_family_not_supported, protocol_not_supported and operation_not_supported for a socket
  // of another family, protocol and type, invalid_argument for one that does not listen.
  explicit tcp_listener(int fd);  // throws std::system_error that names the descriptor
  tcp_listener(int fd, std::error_code& error) noexcept;
  // "host:port", ":port" for all addresses, port 0 for any. A name is looked up: given up when the
  // context ends, with its error. Throws std::system_error.
  static tcp_listener listen(std::string_view host_port, const listen_options& options = {},
                             const context& ctx = context::background());
  static tcp_listener listen(std::string_view host_port, const listen_options& options,
                             std::error_code& error);
  static tcp_listener listen(std::string_view host_port, const listen_options& options,
                             const context& ctx, std::error_code& error);
  // Parks until a peer connects. Connections that end before they are accepted are passed over;
  // when descriptors or memory run out it tries again after 5 ms, later after up to a second.
  // Given up when the context ends, with its error; a connection that has come by then waits for
  // the next accept().
  tcp_stream accept(const context& ctx = context::background()) const;
  tcp_stream accept(std::error_code& error) const;
  tcp_stream accept(const context& ctx, std::error_code& error) const;

 private:
  using listener::listener;
};

// It removes the file that it has made when it is closed.
class SLEY_API unix_listener : public listener {
 public:
  unix_listener() noexcept = default;
  // Takes over a Unix stream socket that listens, as tcp_listener does. Its file stays when it is
  // closed.
  explicit unix_listener(int fd);
  unix_listener(int fd, std::error_code& error) noexcept;
  // At a path as endpoint::unix_path() takes it. Throws std::system_error.
  static unix_listener listen(std::string_view path, const listen_options& options = {});
  static unix_listener listen(std::string_view path, const listen_options& options,
                              std::error_code& error);
  // close() leaves the file: another process that has the socket goes on to listen there. For the
  // listener's only user.
  void keep_file() noexcept { disown_file(); }
  unix_stream accept(const context& ctx = context::background()) const;  // as tcp_listener's
  unix_stream accept(std::error_code& error) const;
  unix_stream accept(const context& ctx, std::error_code& error) const;

 private:
  using listener::listener;
};

// What all datagram sockets can do. Reads and writes are of whole datagrams: one that is longer
// than the buffer is cut off. With a context they are given up when that ends, with its error, and
// no datagram has come or gone.
class SLEY_API datagram_socket : public io_object {
 public:
  // Parks until a datagram has come, and says from where. Throws std::system_error.
  std::size_t receive_from(std::span<std::byte> buffer, endpoint& from) const;
  std::size_t receive_from(std::span<std::byte> buffer, endpoint& from,
                           std::error_code& error) const noexcept;
  std::size_t receive_from(std::span<std::byte> buffer, endpoint& from, const context& ctx) const;
  std::size_t receive_from(std::span<std::byte> buffer, endpoint& from, const context& ctx,
                           std::error_code& error) const noexcept;
  // Parks until there is room for it. Throws std::system_error.
  std::size_t send_to(std::span<const std::byte> datagram, const endpoint& to) const;
  std::size_t send_to(std::span<const std::byte> datagram, const endpoint& to,
                      std::error_code& error) const noexcept;
  std::size_t send_to(std::span<const std::byte> datagram, const endpoint& to,
                      const context& ctx) const;
  std::size_t send_to(std::span<const std::byte> datagram, const endpoint& to, const context& ctx,
                      std::error_code& error) const noexcept;
  std::size_t send_to(std::string_view text, const endpoint& to) const {
    return send_to(std::as_bytes(std::span(text)), to);
  }
  std::size_t send_to(std::string_view text, const endpoint& to,
                      std::error_code& error) const noexcept {
    return send_to(std::as_bytes(std::span(text)), to, error);
  }
  std::size_t send_to(std::string_view text, const endpoint& to, const context& ctx) const {
    return send_to(std::as_bytes(std::span(text)), to, ctx);
  }
  std::size_t send_to(std::string_view text, const endpoint& to, const context& ctx,
                      std::error_code& error) const noexcept {
    return send_to(std::as_bytes(std::span(text)), to, ctx, error);
  }
  // For connected ones.
  std::size_t receive(std::span<std::byte> buffer) const;
  std::size_t receive(std::span<std::byte> buffer, std::error_code& error) const noexcept;
  std::size_t receive(std::span<std::byte> buffer, const context& ctx) const;
  std::size_t receive(std::span<std::byte> buffer, const context& ctx,
                      std::error_code& error) const noexcept;
  std::size_t send(std::span<const std::byte> datagram) const;
  std::size_t send(std::span<const std::byte> datagram, std::error_code& error) const noexcept;
  std::size_t send(std::span<const std::byte> datagram, const context& ctx) const;
  std::size_t send(std::span<const std::byte> datagram, const context& ctx,
                   std::error_code& error) const noexcept;
  std::size_t send(std::string_view text) const { return send(std::as_bytes(std::span(text))); }
  std::size_t send(std::string_view text, std::error_code& error) const noexcept {
    return send(std::as_bytes(std::span(text)), error);
  }
  std::size_t send(std::string_view text, const context& ctx) const {
    return send(std::as_bytes(std::span(text)), ctx);
  }
  std::size_t send(std::string_view text, const context& ctx,
                   std::error_code& error) const noexcept {
    return send(std::as_bytes(std::span(text)), ctx, error);
  }

  endpoint local() const;  // throws std::system_error
  endpoint local(std::error_code& error) const noexcept;
  endpoint remote() const;  // throws std::system_error
  endpoint remote(std::error_code& error) const noexcept;

 protected:
  datagram_socket() noexcept = default;
  explicit datagram_socket(detail::descriptor descriptor) noexcept
      : io_object(std::move(descriptor)) {}
};

// A UDP socket.
class SLEY_API udp_socket : public datagram_socket {
 public:
  udp_socket() noexcept = default;
  // Bound to "host:port", ":port" for all addresses, port 0 for any. A name is looked up: given up
  // when the context ends, with its error. Throws std::system_error.
  static udp_socket bind(std::string_view host_port, const context& ctx = context::background());
  static udp_socket bind(std::string_view host_port, std::error_code& error);
  static udp_socket bind(std::string_view host_port, const context& ctx, std::error_code& error);
  // Sends there and receives from there only. As bind(). Throws std::system_error.
  static udp_socket connect(std::string_view host_port, const context& ctx = context::background());
  static udp_socket connect(std::string_view host_port, std::error_code& error);
  static udp_socket connect(std::string_view host_port, const context& ctx, std::error_code& error);

 private:
  using datagram_socket::datagram_socket;
};

// Datagrams between processes of a machine: in order, and none is lost. A sender waits while the
// receiver's queue is full (net.unix.max_dgram_qlen).
class SLEY_API unix_datagram : public datagram_socket {
 public:
  unix_datagram() noexcept = default;
  // Makes a file, which is removed when the socket is closed. Throws std::system_error.
  static unix_datagram bind(std::string_view path);
  static unix_datagram bind(std::string_view path, std::error_code& error);
  // Has no name of its own, so the peer can't answer. Throws std::system_error.
  static unix_datagram connect(std::string_view path);
  static unix_datagram connect(std::string_view path, std::error_code& error);
  // Two that are connected with each other. Throws std::system_error.
  static std::pair<unix_datagram, unix_datagram> pair();
  static std::pair<unix_datagram, unix_datagram> pair(std::error_code& error);

 private:
  using datagram_socket::datagram_socket;
};

}  // namespace sley::net
