// Processes. From Go's os.Process and os/exec.
#include <sley/detail/c_text.hpp>
#include <sley/go.hpp>
#include <sley/os.hpp>
#include <sley/select.hpp>

#include "io/launch.hpp"
#include "io/perform.hpp"
#include "io/plain_fd.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace sley::os {

using detail::throwing;

// ---- how it ended ----

namespace {

constexpr int unknown_end = -1;  // no si_code of waitid(2)

}  // namespace

bool exit_status::exited() const noexcept { return code_ == CLD_EXITED; }
int exit_status::code() const noexcept { return exited() ? value_ : -1; }
bool exit_status::signaled() const noexcept { return code_ == CLD_KILLED || code_ == CLD_DUMPED; }
int exit_status::signal() const noexcept { return signaled() ? value_ : 0; }
bool exit_status::core_dumped() const noexcept { return code_ == CLD_DUMPED; }

std::string exit_status::to_string() const {
  if (exited()) return "exit status " + std::to_string(code());
  if (code_ == unknown_end) return "unknown end";
  if (!signaled()) return "not ended";
  return "signal " + std::to_string(signal()) + (core_dumped() ? " (core dumped)" : "");
}

// ---- waiting for it ----

struct process::child {
  int pid = 0;                // [const] once it has started
  io::plain_fd pidfd;         // [const] likewise
  detail::descriptor handle;  // [const] likewise: the same, to wait for
  chan<void> ended;
  exit_status status;     // written before `ended` is closed
  std::error_code error;  // likewise
};

namespace {

// The status of a child that has ended.
exit_status reap(const detail::descriptor& handle, std::error_code& error) noexcept {
  siginfo_t info = {};
  io::perform(
      handle.get(), io::direction::read,
      [&info](int fd) {
        info.si_pid = 0;
        const long result =
            ::waitid(platform::pidfd_id, static_cast<id_t>(fd), &info, WEXITED | WNOHANG);
        if (result != 0 || info.si_pid != 0) return result;
        platform::set_errno(EAGAIN);
        return -1L;
      },
      [](long) { return false; }, error);
  return error ? exit_status(unknown_end, 0) : exit_status(info.si_code, info.si_status);
}

// No goroutine will be able to wait for it. By its handle, because its number may be another
// process's by now.
void undo(int pidfd) noexcept {
  ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
  siginfo_t info;
  io::attempt_uninterrupted(
      [&info](int fd) {
        return ::waitid(platform::pidfd_id, static_cast<id_t>(fd), &info, WEXITED);
      },
      pidfd);
}

}  // namespace

process process::start(const command& what, const context& ctx, std::error_code& error) {
  if (io::has_ended(error, ctx)) return {};
  launch l;
  l.prepare(what, error);
  if (error) return {};
  const auto c = std::make_shared<child>();
  l.start(ctx, error);
  if (error) return {};
  c->pid = l.started.pid;
  c->pidfd = io::plain_fd(l.started.handle);
  try {
    c->handle = detail::descriptor(c->pidfd.get(), detail::io_kind::borrowed, error);
    if (!error) {
      go([c] {
        c->status = reap(c->handle, c->error);
        c->ended.close();
      });
    }
  } catch (...) {
    undo(c->pidfd.get());
    throw;
  }
  if (error) {
    undo(c->pidfd.get());
    return {};
  }
  process started;
  started.child_ = c;
  started.stdin_ = std::move(l.ours[0]);
  started.stdout_ = std::move(l.ours[1]);
  started.stderr_ = std::move(l.ours[2]);
  return started;
}

process process::start(const command& what, std::error_code& error) {
  return start(what, context::background(), error);
}
process process::start(const command& what, const context& ctx) {
  std::error_code error;
  process started = start(what, ctx, error);
  if (error) throw start_failed(error, "sley: start", what);
  return started;
}

int process::pid() const noexcept { return child_ == nullptr ? 0 : child_->pid; }

recv_chan<void> process::ended() const noexcept {
  return child_ == nullptr ? recv_chan<void>() : recv_chan<void>(child_->ended);
}

// Once it has ended.
exit_status process::status(std::error_code& error) const {
  error = child_ == nullptr ? std::make_error_code(std::errc::no_child_process) : child_->error;
  return child_ == nullptr ? exit_status() : child_->status;
}

exit_status process::wait(std::error_code& error) const {
  if (child_ != nullptr) child_->ended.receive();
  return status(error);
}
exit_status process::wait() const {
  std::error_code error;
  const exit_status ended = wait(error);
  if (error) throw wait_failed(error, pid());
  return ended;
}

exit_status process::wait(instant deadline, std::error_code& error) const {
  if (child_ == nullptr ||
      child_->ended.try_receive_for(detail::time_until(deadline)) != chan_status::timeout) {
    return status(error);
  }
  error = std::make_error_code(std::errc::timed_out);
  return {};
}

exit_status process::wait(const context& ctx, std::error_code& error) const {
  error = ctx.error();
  if (error) return {};
  if (child_ == nullptr || select(on_receive(child_->ended), on_receive(ctx.done())) == 0) {
    return status(error);
  }
  error = ctx.error();
  return {};
}
exit_status process::wait(const context& ctx) const {
  std::error_code error;
  const exit_status ended = wait(ctx, error);
  if (error) throw wait_failed(error, pid());
  return ended;
}

void process::kill(int signal, std::error_code& error) const noexcept {
  error.clear();
  // Where SIGCHLD is ignored the kernel takes signals for a moment longer than it knows the child.
  if (child_ == nullptr || child_->ended.try_receive() == chan_status::closed) {
    error = std::make_error_code(std::errc::no_such_process);
    return;
  }
  const auto send = [signal](int fd) {
    return ::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0);
  };
  io::is_success(io::attempt(send, child_->handle.native_handle()), error);
}
void process::kill(int signal) const {
  throwing("sley: kill", [&](std::error_code& e) { kill(signal, e); });
}

}  // namespace sley::os
