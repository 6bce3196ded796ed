// Files, pipes, processes, signals and descriptors of other libraries for goroutines. From Go's os,
// os/exec and os/signal.
//
// A file that can be waited for (pipe, terminal, device) parks the goroutine until it is ready.
// Regular files are never "not ready": their calls are announced as blocking (see
// <sley/runtime.hpp>), so the goroutine keeps its thread and others get the processor if it takes
// long.
//
// Errors, threads and lifetimes are as in <sley/net.hpp>. A regular file has no deadlines:
// std::errc::operation_not_supported.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/readiness.hpp>
#include <sley/byte_stream.hpp>
#include <sley/select.hpp>
#include <sley/signal.hpp>
#include <sley/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sley::os {

// Reads and writes are at the file's own position.
class SLEY_API file : public byte_stream {
 public:
  file() noexcept = default;
  // As open(2), with O_CLOEXEC; the flags are from <fcntl.h>. Blocks its thread at most, as an
  // announced call, for as long as a FIFO has no other end. Throws std::system_error that names the
  // path; std::errc::invalid_argument for one with a zero byte inside.
  //
  // Given up when the context ends, with its error. The system call goes on then, in a goroutine of
  // its own, and what it opens after all is closed again: a file may be made, or emptied, if the
  // flags say so. A goroutine that is locked to its thread, and a foreign thread, make the call
  // themselves, because what they have set for their thread counts: it is not given up.
  static file open(std::string_view path, int flags, unsigned mode = 0666,
                   const context& ctx = context::background());
  static file open(std::string_view path, int flags, unsigned mode, std::error_code& error);
  static file open(std::string_view path, int flags, unsigned mode, const context& ctx,
                   std::error_code& error);
  static file open(std::string_view path, int flags, const context& ctx) {
    return open(path, flags, 0666, ctx);
  }
  static file open(std::string_view path, int flags, std::error_code& error) {
    return open(path, flags, 0666, error);
  }
  static file open(std::string_view path, int flags, const context& ctx, std::error_code& error) {
    return open(path, flags, 0666, ctx, error);
  }
  // Takes over a descriptor, and makes it non-blocking if it can be waited for. A call that blocks
  // its thread all the same, on a regular file or because other code has made the descriptor block
  // again, is ended by no deadline and not by close(), which waits for it.
  explicit file(int fd);
  file(int fd, std::error_code& error) noexcept;

  // At a given position, any number at a time; only for files with positions (pread(2), pwrite(2)).
  // They look at the context first. It does not end a call that is under way: the kernel works on
  // the caller's memory.
  std::size_t read_at(std::span<std::byte> buffer, std::uint64_t offset,
                      const context& ctx = context::background()) const;
  std::size_t read_at(std::span<std::byte> buffer, std::uint64_t offset,
                      std::error_code& error) const noexcept;
  std::size_t read_at(std::span<std::byte> buffer, std::uint64_t offset, const context& ctx,
                      std::error_code& error) const noexcept;
  std::size_t write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                       const context& ctx = context::background()) const;
  std::size_t write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                       std::error_code& error) const noexcept;
  std::size_t write_at(std::span<const std::byte> bytes, std::uint64_t offset, const context& ctx,
                       std::error_code& error) const noexcept;
  std::size_t write_at(std::string_view text, std::uint64_t offset,
                       const context& ctx = context::background()) const {
    return write_at(std::as_bytes(std::span(text)), offset, ctx);
  }
  std::size_t write_at(std::string_view text, std::uint64_t offset,
                       std::error_code& error) const noexcept {
    return write_at(std::as_bytes(std::span(text)), offset, error);
  }
  std::size_t write_at(std::string_view text, std::uint64_t offset, const context& ctx,
                       std::error_code& error) const noexcept {
    return write_at(std::as_bytes(std::span(text)), offset, ctx, error);
  }

  std::uint64_t size() const;  // throws std::system_error
  std::uint64_t size(std::error_code& error) const noexcept;
  // fsync(2), an announced call that nothing ends. Throws std::system_error.
  void sync() const;
  void sync(std::error_code& error) const noexcept;
};

// ---- whole files ----

// Opening, reading and writing here block the thread at most, as announced calls. All of these
// throw std::system_error that names the path; std::errc::invalid_argument for one with a zero byte
// inside. The forms with `error` throw std::bad_alloc. Given up when the context ends, with its
// error, as file::open() and byte_stream's calls are.

// All that is in a file, whatever its size says: files of /proc, pipes and terminals are read until
// their end. From Go's os.ReadFile.
SLEY_API std::string read_file(std::string_view path, const context& ctx = context::background());
SLEY_API std::string read_file(std::string_view path, std::error_code& error);
SLEY_API std::string read_file(std::string_view path, const context& ctx, std::error_code& error);

// How write_file() writes.
struct write_options {
  unsigned mode = 0666;  // of a new file, less the process's umask
  // The file has its old content or the new one, whole, at every moment and whatever fails: the new
  // one is written to a file beside it, which takes its place by rename(2). It keeps the
  // permissions of the old file, and not its owner or hard links. A symbolic link stays, and the
  // file that it leads to is replaced. std::errc::not_supported for what is no regular file.
  bool atomic = false;
  // Returns when the content, and the name in its directory, are on the disk: fsync(2).
  bool sync = false;
};

// Makes the file, or replaces its content. If that fails, and it is not atomic, a part may have
// been written. From Go's os.WriteFile.
SLEY_API void write_file(std::string_view path, std::string_view content,
                         const write_options& options = {},
                         const context& ctx = context::background());
SLEY_API void write_file(std::string_view path, std::string_view content,
                         const write_options& options, std::error_code& error);
SLEY_API void write_file(std::string_view path, std::string_view content,
                         const write_options& options, const context& ctx, std::error_code& error);

// How append() writes.
struct append_options {
  unsigned mode = 0666;  // of a new file, less the process's umask
  bool sync = false;     // as write_options::sync
};

// Writes behind what is in the file, and makes it if there is none. What several callers append
// does not mix, also of several processes, as long as the disk takes each piece in one call.
SLEY_API void append(std::string_view path, std::string_view content,
                     const append_options& options = {},
                     const context& ctx = context::background());
SLEY_API void append(std::string_view path, std::string_view content, const append_options& options,
                     std::error_code& error);
SLEY_API void append(std::string_view path, std::string_view content, const append_options& options,
                     const context& ctx, std::error_code& error);

// Two ends of a pipe: what is written to the second is read from the first. A writer whose reader
// has gone gets std::errc::broken_pipe, and no signal. Throws std::system_error.
struct pipe_ends {
  file reader;  // the first
  file writer;  // the second
};
// Makes a pipe.
SLEY_API pipe_ends pipe();
SLEY_API pipe_ends pipe(std::error_code& error) noexcept;

// What a descriptor is ready for, as poll(2) tells it: a set of these.
enum class poll_events : unsigned char {
  none = 0,
  readable = 1,  // there is something to read, or the end
  writable = 2,
  hang_up = 4,  // the other end is gone (POLLHUP); earlier bytes can still be read
  failure = 8,  // an error waits to be fetched, or the reader of a pipe is gone (POLLERR)
};
// The union, and the intersection.
constexpr poll_events operator|(poll_events a, poll_events b) noexcept {
  return static_cast<poll_events>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr poll_events operator&(poll_events a, poll_events b) noexcept {
  return static_cast<poll_events>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr poll_events& operator|=(poll_events& a, poll_events b) noexcept { return a = a | b; }

// Makes the descriptor of another library something to wait for, as a C library's socket: any that
// epoll(7) takes. It stays that library's, open after close() too, and must outlive this. Any
// number of goroutines may wait, for the same event as well: all of them are woken, as by poll(2).
// There is one poll_fd at a time for a descriptor: another may be refused (std::errc::file_exists).
class SLEY_API poll_fd : public io_object {
 public:
  // Throws std::system_error: operation_not_permitted for what is always ready, as regular files.
  explicit poll_fd(int fd);
  poll_fd(int fd, std::error_code& error) noexcept;

  // Parks until the descriptor is ready for a wanted event: readable, writable, or both. Returns
  // the wanted events that it is ready for, and hang_up and failure if they hold. These two end the
  // wait whether they are wanted or not. A deadline of reading ends waits for readable, one of
  // writing ends waits for writable. std::errc::bad_file_descriptor if its owner has closed it. A
  // protocol that writes and reads on one connection (libpq's pipeline mode) waits for both while
  // it has something to write: a peer that waits to be read from takes no more until then.
  poll_events wait(poll_events wanted) const;
  poll_events wait(poll_events wanted, std::error_code& error) const noexcept;
  // The same, given up when the context ends, with its error; others go on to wait. They throw
  // std::bad_alloc besides.
  poll_events wait(poll_events wanted, const context& ctx) const;
  poll_events wait(poll_events wanted, const context& ctx, std::error_code& error) const;

  // wait() for one of them.
  void wait_readable() const;
  void wait_readable(std::error_code& error) const noexcept;
  void wait_writable() const;
  void wait_writable(std::error_code& error) const noexcept;
  void wait_readable(const context& ctx) const;
  void wait_readable(const context& ctx, std::error_code& error) const;
  void wait_writable(const context& ctx) const;
  void wait_writable(const context& ctx, std::error_code& error) const;
};

// A case of select that fires when the object is ready for a wanted event, readable, writable or
// both, as poll_fd::wait() tells it, and calls f(poll_events). A stream is readable when a read
// would not wait, and a listener when accept() would not. `none`: its deadline has passed, its
// context has ended or it is closed; the next operation tells which. The object must outlive the
// select. Throws std::bad_alloc.
//
//   sley::select(sley::os::on_ready(listener, sley::os::poll_events::readable, accept_all),
//                sley::on_receive(stopping));
template <class F = detail::nothing>
auto on_ready(const io_object& object, poll_events wanted, F f = {}) {
  return detail::ready_case<F>(detail::readiness(object, wanted), std::move(f));
}

// ---- processes ----

// Where a standard stream of a new process leads. The descriptors of `to` are the caller's, and
// need to be open only until the process has started. The process gets them as they are: a file of
// this library that can be waited for does not block there either, which few programs expect.
class redirect {
 public:
  constexpr redirect() noexcept = default;  // where this process's own leads
  static constexpr redirect null() noexcept { return {kind::null, -1}; }  // /dev/null
  static constexpr redirect pipe() noexcept {
    return {kind::pipe, -1};
  }  // to process::stdin_pipe()
  // To a descriptor of this process, or to a file.
  static constexpr redirect to(int fd) noexcept { return {kind::descriptor, fd}; }
  static redirect to(const file& f) noexcept { return to(f.native_handle()); }
  static constexpr redirect to_output() noexcept { return {kind::output, -1}; }  // for errors only

  // Whether it leads where this process's own stream does.
  constexpr bool is_inherited() const noexcept { return kind_ == kind::inherit; }

 private:
  friend struct launch;
  enum class kind : unsigned char { inherit, null, pipe, descriptor, output };
  constexpr redirect(kind k, int fd) noexcept : kind_(k), fd_(fd) {}

  kind kind_ = kind::inherit;
  int fd_ = -1;
};

// A descriptor that one process hands to another.
struct named_descriptor {
  std::string name = {};  // which the other process knows it by
  int fd = -1;            // the caller's
};

// What to start.
struct command {
  std::string program = {};                 // looked up in PATH unless there is a slash in it
  std::vector<std::string> arguments = {};  // without the program's name
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; else this process's
  std::string directory = {};                                // to work in; this process's if empty
  // The standard streams.
  redirect input = {};
  redirect output = {};
  redirect errors = {};
  bool new_group = false;    // leads a process group of its own
  bool new_session = false;  // leads a session of its own: setsid(2)
  // Further descriptors of this process, as listeners, which the process gets as 3, 4 and so on. It
  // is told of them by systemd's protocol of socket activation (LISTEN_PID, LISTEN_FDS and
  // LISTEN_FDNAMES in its environment), so service::inherited() of <sley/service.hpp> takes them,
  // and so does sd_listen_fds(3). A name has printable characters of ASCII without ':', 255 at
  // most: else std::invalid_argument. From Go's Cmd.ExtraFiles.
  std::vector<named_descriptor> hand_down = {};
};

// How a process has ended.
class SLEY_API exit_status {
 public:
  exit_status() noexcept = default;
  exit_status(int code, int value) noexcept : code_(code), value_(value) {}  // si_code, si_status

  bool exited() const noexcept;       // by itself
  int code() const noexcept;          // then; else -1
  bool signaled() const noexcept;     // a signal has ended it
  int signal() const noexcept;        // then; else 0
  bool core_dumped() const noexcept;  // likewise
  // It has exited, with 0.
  bool success() const noexcept { return exited() && code() == 0; }
  // "exit status 1", "signal 9", "signal 6 (core dumped)"; "unknown end" if another has its status
  std::string to_string() const;

  friend bool operator==(const exit_status&, const exit_status&) noexcept = default;

 private:
  int code_ = 0;
  int value_ = 0;
};

// A process that this one has started. A goroutine waits for its end, by a pidfd that the process
// has from its first moment, so it never stays a zombie as long as goroutines run. Destroying this
// leaves the process alone. Any thread and goroutine may use it, any number at a time.
//
// A program that ignores SIGCHLD (also by its parent's doing, or SA_NOCLDWAIT), or waits for all
// children (wait(2)), loses how they end. All else works: the wait lasts until the process has
// ended and then fails with no_child_process.
class SLEY_API process {
 public:
  process() noexcept = default;
  // As posix_spawn(3). Parks until the program runs; processes are started one after the other.
  // Given up when the context ends before its turn, with the context's error; a start that has
  // begun is not, because the child works on the caller's memory until the program runs. The
  // process gets the three standard streams, the descriptors that are handed down, and no other one
  // of this library; no signal is blocked, signals that this process handles have their default
  // action, signals that it ignores stay ignored. Throws std::system_error that names the program;
  // what execve(2) reports is among its errors, and invalid_argument for a text of the command with
  // a zero byte inside, which the message shows.
  //
  // It is started by a thread that lives as long as this process, so a program that asks for a
  // signal at the end of its parent, which is a thread to the kernel (PR_SET_PDEATHSIG of
  // prctl(2)), gets it at the end of this process. A goroutine that is locked to its thread starts
  // it from there, and a foreign thread does so as well, with that thread's namespaces and CPUs;
  // the call then blocks, announced, and that thread is the parent.
  static process start(const command& what, const context& ctx = context::background());
  static process start(const command& what, std::error_code& error);
  static process start(const command& what, const context& ctx, std::error_code& error);

  int pid() const noexcept;  // 0 if it was never started

  // The other ends of what is redirected to pipes, to read, write, close and move from; else not
  // open.
  file& stdin_pipe() noexcept { return stdin_; }
  file& stdout_pipe() noexcept { return stdout_; }
  file& stderr_pipe() noexcept { return stderr_; }

  // Parks until it has ended; as often as one likes. Its pipes may be open still.
  exit_status wait() const;
  exit_status wait(std::error_code& error) const;
  // The same, given up at that time: std::errc::timed_out. The process goes on.
  exit_status wait(instant deadline, std::error_code& error) const;
  // The same, given up when the context ends, with its error.
  exit_status wait(const context& ctx) const;
  exit_status wait(const context& ctx, std::error_code& error) const;
  // Is closed when it has ended, for select. Nil if it was never started.
  recv_chan<void> ended() const noexcept;

  // Sends it a signal, and never another process that has got its number: no_such_process once it
  // has ended. From Go's Process.Signal.
  void kill(int signal) const;
  void kill(int signal, std::error_code& error) const noexcept;

 private:
  struct child;
  exit_status status(std::error_code& error) const;

  std::shared_ptr<const child> child_;
  file stdin_, stdout_, stderr_;
};

// What run() gives to the process, and how long and how much it takes.
struct run_limits {
  std::string_view input = {};            // what it can read, unless its input is redirected
  std::size_t output_bytes = 64UL << 20;  // of each stream; what is more is lost
  context ctx = {};                       // when it ends the process is killed; its error is ours
};

// What run() brings.
struct run_result {
  exit_status status;  // how it has ended
  std::string output;  // what it wrote to its standard output and error, if those are inherited
  std::string errors;  // what it wrote to its standard error
  bool is_truncated = false;  // it wrote more than run_limits::output_bytes
};

// Starts a process, and parks until it has ended and its output is read to the end: until all have
// closed it that got it from the process. Throws std::system_error, not for how it has ended. From
// Go's Cmd.Output.
SLEY_API run_result run(const command& what, const run_limits& limits = {});
SLEY_API run_result run(const command& what, const run_limits& limits, std::error_code& error);

}  // namespace sley::os
