// Operations on descriptors of all kinds that wait, each until the test lets it go on.
#pragma once

#include "support/blocking_calls.hpp"
#include "support/connections.hpp"

#include <sley/context.hpp>
#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sley_test {

struct io_wait {
  std::string name;
  std::function<void(std::error_code&)> begin;
  std::function<void(const sley::context&, std::error_code&)> begin_with;
  std::function<void(const sley::context&)> begin_throwing;
  std::function<void(const sley::context&)> bind;  // set_context() of its object
  std::function<void(sley::time_point)> set_deadline;
  std::function<void()> close;
  std::function<void()> let;  // brings what it waits for
};

// `begin(with...)` is the operation with a context, an error code, both or none of them.
template <class Object, class Begin>
io_wait make_io_wait(std::string name, Object& object, Begin begin, std::function<void()> let) {
  return {.name = std::move(name),
          .begin = [begin](std::error_code& e) { begin(e); },
          .begin_with = [begin](const sley::context& ctx, std::error_code& e) { begin(ctx, e); },
          .begin_throwing = [begin](const sley::context& ctx) { begin(ctx); },
          .bind = [&object](const sley::context& ctx) { object.set_context(ctx); },
          .set_deadline = [&object](sley::time_point when) { object.set_deadline(when); },
          .close = [&object] { object.close(); },
          .let = std::move(let)};
}

// More than the buffers of any connection here hold.
inline const std::vector<std::byte>& too_many_bytes() {
  static const std::vector<std::byte> bytes(1 << 20, std::byte{7});
  return bytes;
}

// Reads until the stream is closed.
template <class Stream>
void drain(sley::wait_group& drains, const Stream& from) {
  drains.go([&from] {
    std::vector<std::byte> room(64 << 10);
    std::error_code error;
    while (from.read_some(room, error) != 0) continue;
  });
}

// A read of one pair that waits, and a write to another. Both outlive the waits.
template <class End>
struct stream_ends {
  End reader, peer, writer, sink;

  void add_waits(std::vector<io_wait>& to, const std::string& kind, sley::wait_group& drains) {
    to.push_back(make_io_wait(
        "read of a " + kind, reader,
        [this](auto&... with) {
          std::array<std::byte, 8> room;
          reader.read_some(room, with...);
        },
        [this] { peer.write_all("x"); }));
    to.push_back(make_io_wait(
        "write to a " + kind, writer,
        [this](auto&... with) { writer.write_all(too_many_bytes(), with...); },
        [this, &drains] { drain(drains, sink); }));
  }
  void close() noexcept {
    std::error_code ignored;
    for (End* end : {&reader, &peer, &writer, &sink}) end->close(ignored);
  }
};

inline stream_ends<sley::net::tcp_stream> tcp_ends() {
  tcp_pair a = connect_tcp(), b = connect_tcp();
  b.client.set_write_buffer(16 << 10);
  b.server.set_read_buffer(16 << 10);
  return {std::move(a.server), std::move(a.client), std::move(b.client), std::move(b.server)};
}
inline stream_ends<sley::net::unix_stream> unix_ends() {
  auto a = sley::net::unix_stream::pair(), b = sley::net::unix_stream::pair();
  return {std::move(a.first), std::move(a.second), std::move(b.first), std::move(b.second)};
}
inline stream_ends<sley::os::file> pipe_ends() {
  auto a = sley::os::pipe(), b = sley::os::pipe();
  return {std::move(a.reader), std::move(a.writer), std::move(b.writer), std::move(b.reader)};
}

inline std::string unused_name() {
  static std::atomic<int> count = 0;
  return "@sley-io-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

// Nothing that the operations wait for is there at first. Each has an object of its own.
class io_world {
 public:
  io_world() {
    fill_pair();
    fill_target();
  }
  ~io_world() {
    tcp_.close();
    unix_.close();
    pipe_.close();
    drains_.wait();
  }
  io_world(const io_world&) = delete;
  io_world& operator=(const io_world&) = delete;

  std::vector<io_wait> waits() {
    std::vector<io_wait> all;
    tcp_.add_waits(all, "TCP stream", drains_);
    unix_.add_waits(all, "Unix stream", drains_);
    pipe_.add_waits(all, "pipe", drains_);
    add_listeners(all);
    add_datagrams(all);
    all.push_back(make_io_wait(
        "wait of a poll_fd", poll_, [this](auto&... with) { poll_wait(with...); },
        [this] { ::write(plain_.fds[1], "x", 1); }));
    return all;
  }

 private:
  struct socket_ends : two_ends {
    socket_ends() {
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    }
  };

  void fill_pair() {
    const int fd = full_.first.native_handle();
    while (::send(fd, "x", 1, MSG_DONTWAIT) == 1) continue;
  }
  void fill_target() const {
    const auto to = target_.local();
    while (::sendto(loose_.native_handle(), "x", 1, MSG_DONTWAIT, to.data(), to.size()) == 1) {
      continue;
    }
  }

  template <class... With>
  void poll_wait(With&... with) {
    poll_.wait(sley::os::poll_events::readable, with...);
  }

  void add_listeners(std::vector<io_wait>& all) {
    all.push_back(make_io_wait(
        "accept of TCP", tcp_listener_, [this](auto&... with) { tcp_listener_.accept(with...); },
        [this] {
          met_.push_back(sley::net::tcp_stream::connect(tcp_listener_.local().to_string()));
        }));
    all.push_back(make_io_wait(
        "accept of a Unix socket", unix_listener_,
        [this](auto&... with) { unix_listener_.accept(with...); },
        [this] { met_.push_back(sley::net::unix_stream::connect(name_)); }));
  }

  void add_datagrams(std::vector<io_wait>& all) {
    all.push_back(make_io_wait(
        "receive_from of UDP", udp_,
        [this](auto&... with) {
          std::array<std::byte, 8> room;
          sley::net::endpoint from;
          udp_.receive_from(room, from, with...);
        },
        [this] { sley::net::udp_socket::bind("127.0.0.1:0").send_to("x", udp_.local()); }));
    all.push_back(make_io_wait(
        "receive of a Unix datagram", datagrams_.first,
        [this](auto&... with) {
          std::array<std::byte, 8> room;
          datagrams_.first.receive(room, with...);
        },
        [this] { datagrams_.second.send("x"); }));
    all.push_back(make_io_wait(
        "send of a Unix datagram", full_.first,
        [this](auto&... with) { full_.first.send(std::string_view("x"), with...); },
        [this] { receive_all(full_.second); }));
    all.push_back(make_io_wait(
        "send_to of a Unix datagram", loose_,
        [this](auto&... with) { loose_.send_to(std::string_view("x"), target_.local(), with...); },
        [this] { receive_all(target_); }));
  }

  // A sender is told of room when a quarter of its buffer is in use at most.
  static void receive_all(const sley::net::unix_datagram& from) {
    std::array<std::byte, 8> room;
    while (::recv(from.native_handle(), room.data(), room.size(), MSG_DONTWAIT) > 0) continue;
  }

  stream_ends<sley::net::tcp_stream> tcp_ = tcp_ends();
  stream_ends<sley::net::unix_stream> unix_ = unix_ends();
  stream_ends<sley::os::file> pipe_ = pipe_ends();
  sley::net::tcp_listener tcp_listener_ = sley::net::tcp_listener::listen("127.0.0.1:0");
  std::string name_ = unused_name();
  sley::net::unix_listener unix_listener_ = sley::net::unix_listener::listen(name_);
  std::vector<sley::net::stream> met_;
  sley::net::udp_socket udp_ = sley::net::udp_socket::bind("127.0.0.1:0");
  std::pair<sley::net::unix_datagram, sley::net::unix_datagram> datagrams_ =
      sley::net::unix_datagram::pair();
  std::pair<sley::net::unix_datagram, sley::net::unix_datagram> full_ =
      sley::net::unix_datagram::pair();
  sley::net::unix_datagram target_ = sley::net::unix_datagram::bind(unused_name());
  sley::net::unix_datagram loose_ = sley::net::unix_datagram::bind(unused_name());
  socket_ends plain_;
  sley::os::poll_fd poll_{plain_.fds[0]};
  sley::wait_group drains_;
};

}  // namespace sley_test
