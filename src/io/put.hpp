// Writing to descriptors of all kinds.
#pragma once

#include <sley/detail/descriptor.hpp>

#include "io/perform.hpp"
#include "platform/call_batch.hpp"
#include "platform/system_call.hpp"
#include "runtime/state/machine.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <span>

namespace sley::io {

inline bool is_stream_socket(detail::io_kind kind) noexcept {
  return kind == detail::io_kind::stream_socket || kind == detail::io_kind::tcp_socket;
}

inline std::span<std::byte> bytes_of(const iovec& buffer) noexcept {
  return {static_cast<std::byte*>(buffer.iov_base), buffer.iov_len};
}

// While it lives, a SIGPIPE of this thread does nothing, once expect_broken_pipes() was called: an
// error is enough. Nothing that may change the thread may happen meanwhile.
class broken_pipe_expected {
 public:
  broken_pipe_expected() noexcept { m_->writes_to_pipe.store_relaxed(true); }
  ~broken_pipe_expected() { m_->writes_to_pipe.store_relaxed(false); }
  broken_pipe_expected(const broken_pipe_expected&) = delete;
  broken_pipe_expected& operator=(const broken_pipe_expected&) = delete;

 private:
  rt::machine* m_ = rt::this_machine();
};

inline long write_from(int fd, std::span<const iovec> buffers) noexcept {
  if (buffers.size() == 1) {
    return platform::kernel::write(fd, buffers[0].iov_base, buffers[0].iov_len);
  }
  return platform::kernel::writev(fd, buffers.data(), static_cast<int>(buffers.size()));
}

inline long write_to_pipe(int fd, std::span<const iovec> buffers) noexcept {
  const broken_pipe_expected guard;
  return write_from(fd, buffers);
}

inline msghdr message_of(std::span<const iovec> buffers) noexcept {
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(buffers.data());
  message.msg_iovlen = buffers.size();
  return message;
}

inline long send_from(int fd, std::span<const iovec> buffers) noexcept {
  if (buffers.size() == 1) {
    return platform::kernel::sendto(fd, buffers[0].iov_base, buffers[0].iov_len, MSG_NOSIGNAL,
                                    nullptr, 0);
  }
  const msghdr message = message_of(buffers);
  return platform::kernel::sendmsg(fd, &message, MSG_NOSIGNAL);
}

// One system call that writes, without SIGPIPE; its result.
inline long put(int fd, std::span<const iovec> buffers, detail::io_kind kind) noexcept {
  switch (kind) {
    case detail::io_kind::stream_socket:
    case detail::io_kind::tcp_socket:
    case detail::io_kind::message_socket: return send_from(fd, buffers);
    case detail::io_kind::pipe: return write_to_pipe(fd, buffers);
    default: return write_from(fd, buffers);
  }
}

// put() for call_with_side() and perform().
struct putting {
  std::span<const iovec> buffers;
  detail::io_kind kind;

  long operator()(int fd) const noexcept { return put(fd, buffers, kind); }
  [[gnu::noinline]] long together(int fd) const noexcept {
    if (!is_stream_socket(kind)) return platform::not_made;
    if (buffers.size() == 1) return attempt_together(platform::send_call(fd, bytes_of(buffers[0])));
    const msghdr message = message_of(buffers);
    return attempt_together(platform::send_message_call(fd, message));
  }
};

}  // namespace sley::io
