// Processes. From Go's os.Process and os/exec.
#include <sley/go.hpp>
#include <sley/os.hpp>
#include <sley/select.hpp>

#include "io/perform.hpp"
#include "io/socket.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>
#include <utility>

namespace sley::os {

using detail::throwing;

// ---- how it ended ----

bool exit_status::exited() const noexcept { return code_ == CLD_EXITED; }
int exit_status::code() const noexcept { return exited() ? value_ : -1; }
bool exit_status::signaled() const noexcept { return code_ == CLD_KILLED || code_ == CLD_DUMPED; }
int exit_status::signal() const noexcept { return signaled() ? value_ : 0; }
bool exit_status::core_dumped() const noexcept { return code_ == CLD_DUMPED; }

std::string exit_status::to_string() const {
  if (exited()) return "exit status " + std::to_string(code());
  if (!signaled()) return "not ended";
  return "signal " + std::to_string(signal()) + (core_dumped() ? " (core dumped)" : "");
}

// ---- starting it ----

namespace {

// One that nobody waits for.
class plain_fd {
 public:
  plain_fd() noexcept = default;
  explicit plain_fd(int fd) noexcept : fd_(fd) {}
  plain_fd(plain_fd&& other) noexcept : fd_(other.release()) {}
  plain_fd& operator=(plain_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~plain_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A duplicate that is none of the standard streams: each of those is put into its place in turn,
// and must not be in the way of the next.
plain_fd out_of_the_way(int fd, std::error_code& error) noexcept {
  const long copy = io::attempt([](int f) { return ::fcntl(f, F_DUPFD_CLOEXEC, 3); }, fd);
  return io::is_success(copy, error) ? plain_fd(static_cast<int>(copy)) : plain_fd();
}

// What posix_spawn_* functions report.
void note(int result, std::error_code& error) noexcept {
  if (result != 0 && !error) error = io::system_error_of(result);
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

// All that posix_spawn(3) needs to know, and what is left to us of it.
struct launch {
  launch() noexcept {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~launch() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  launch(const launch&) = delete;
  launch& operator=(const launch&) = delete;

  void prepare(const command& what, std::error_code& error);
  pid_t start(const command& what, std::error_code& error);

  std::array<file, 3> ours;  // ends of pipes

 private:
  void direct(int stream, redirect where, std::error_code& error);
  void connect(int stream, std::error_code& error);
  void put(plain_fd fd, int stream, std::error_code& error);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  std::array<plain_fd, 3> theirs;
};

void launch::put(plain_fd fd, int stream, std::error_code& error) {
  if (error) return;
  note(::posix_spawn_file_actions_adddup2(&actions, fd.get(), stream), error);
  theirs.at(static_cast<std::size_t>(stream)) = std::move(fd);
}

void launch::connect(int stream, std::error_code& error) {
  int ends[2];
  const long made = io::attempt([&ends](int) { return ::pipe2(ends, O_CLOEXEC); }, -1);
  if (!io::is_success(made, error)) return;
  plain_fd reader(ends[0]), writer(ends[1]);
  plain_fd& their_end = stream == 0 ? reader : writer;
  plain_fd& our_end = stream == 0 ? writer : reader;
  ours.at(static_cast<std::size_t>(stream)) = file(our_end.release(), error);
  if (!error) put(out_of_the_way(their_end.get(), error), stream, error);
}

void launch::direct(int stream, redirect where, std::error_code& error) {
  switch (where.kind_) {
    case redirect::kind::inherit: break;
    case redirect::kind::null:
      note(::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0), error);
      break;
    case redirect::kind::pipe: connect(stream, error); break;
    case redirect::kind::descriptor: put(out_of_the_way(where.fd_, error), stream, error); break;
    case redirect::kind::output:
      if (stream != 2) throw std::logic_error("sley: only errors can be redirected to the output");
      note(::posix_spawn_file_actions_adddup2(&actions, 1, 2), error);
      break;
  }
}

void launch::prepare(const command& what, std::error_code& error) {
  direct(0, what.input, error);
  if (!error) direct(1, what.output, error);
  if (!error) direct(2, what.errors, error);
  if (!what.directory.empty()) {
    note(::posix_spawn_file_actions_addchdir_np(&actions, what.directory.c_str()), error);
  }
  // Threads of the user's may have blocked some for reasons of their own.
  sigset_t none;
  ::sigemptyset(&none);
  note(::posix_spawnattr_setsigmask(&attributes, &none), error);
  int flags = POSIX_SPAWN_SETSIGMASK;
  if (what.new_group) flags |= POSIX_SPAWN_SETPGROUP;  // of number 0: its own
  if (what.new_session) flags |= POSIX_SPAWN_SETSID;
  note(::posix_spawnattr_setflags(&attributes, static_cast<short>(flags)), error);
}

pid_t launch::start(const command& what, std::error_code& error) {
  std::vector<std::string> words = {what.program};
  words.insert(words.end(), what.arguments.begin(), what.arguments.end());
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables =
      what.environment ? pointers_to(*what.environment) : std::vector<char*>();
  char* const* environment = what.environment ? variables.data() : ::environ;
  pid_t pid = 0;
  note(blocking([&] {
         return ::posix_spawnp(&pid, what.program.c_str(), &actions, &attributes, arguments.data(),
                               environment);
       }),
       error);
  return pid;
}

// ---- waiting for it ----

struct process::child {
  pid_t pid = 0;              // [const] once it has started
  detail::descriptor handle;  // [const] likewise: a pidfd
  chan<void> ended;
  exit_status status;     // written before `ended` is closed
  std::error_code error;  // likewise
};

namespace {

// The status of a child that has ended, which nobody else has asked for.
exit_status reap(const detail::descriptor& handle, std::error_code& error) noexcept {
  siginfo_t info = {};
  io::perform(
      handle.get(), io::direction::read,
      [&info](int fd) {
        info.si_pid = 0;
        const long result = ::waitid(P_PIDFD, static_cast<id_t>(fd), &info, WEXITED | WNOHANG);
        if (result != 0 || info.si_pid != 0) return result;
        platform::set_errno(EAGAIN);
        return -1L;
      },
      [](long) { return false; }, error);
  return error ? exit_status() : exit_status(info.si_code, info.si_status);
}

detail::descriptor open_handle(pid_t pid, std::error_code& error) noexcept {
  const long fd =
      io::attempt([](int p) { return static_cast<int>(::syscall(SYS_pidfd_open, p, 0)); }, pid);
  if (!io::is_success(fd, error)) return {};
  return {static_cast<int>(fd), detail::io_kind::device, error};
}

// Nobody will be able to wait for it.
void undo(pid_t pid) noexcept {
  ::kill(pid, SIGKILL);
  blocking([pid] {
    while (::waitpid(pid, nullptr, 0) < 0 && platform::last_errno() == EINTR) {
    }
  });
}

}  // namespace

process process::start(const command& what, std::error_code& error) {
  error.clear();
  launch l;
  l.prepare(what, error);
  if (error) return {};
  const auto c = std::make_shared<child>();
  c->pid = l.start(what, error);
  if (error) return {};
  try {
    c->handle = open_handle(c->pid, error);
    if (!error) {
      go([c] {
        c->status = reap(c->handle, c->error);
        c->ended.close();
      });
    }
  } catch (...) {
    undo(c->pid);
    throw;
  }
  if (error) {
    undo(c->pid);
    return {};
  }
  process started;
  started.child_ = c;
  started.stdin_ = std::move(l.ours[0]);
  started.stdout_ = std::move(l.ours[1]);
  started.stderr_ = std::move(l.ours[2]);
  return started;
}

process process::start(const command& what) {
  std::error_code error;
  process started = start(what, error);
  if (error) throw detail::failed(error, "sley: start", what.program);
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
  return throwing("sley: wait", [this](std::error_code& e) { return wait(e); });
}

exit_status process::wait(time_point deadline, std::error_code& error) const {
  if (child_ == nullptr ||
      child_->ended.try_receive_for(deadline - time_point::clock::now()) != chan_status::timeout) {
    return status(error);
  }
  error = std::make_error_code(std::errc::timed_out);
  return {};
}

exit_status process::wait(const context& ctx, std::error_code& error) const {
  if (child_ == nullptr || select(on_receive(child_->ended), on_receive(ctx.done())) == 0) {
    return status(error);
  }
  error = ctx.error();
  return {};
}
exit_status process::wait(const context& ctx) const {
  return throwing("sley: wait", [&](std::error_code& e) { return wait(ctx, e); });
}

void process::kill(int signal, std::error_code& error) const noexcept {
  error.clear();
  if (child_ == nullptr) {
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
