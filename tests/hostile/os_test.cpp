// Hostile arguments of <sley/os.hpp> and <sley/signal.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>
#include <sley/poll_loop.hpp>
#include <sley/service.hpp>

#include <csignal>
#include <optional>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define SLEY_HOSTILE_HEADER hostile_os

namespace os = sley::os;
using sley_hostile::arguments;
using sley_hostile::ended_by;
using sley_hostile::use;
using namespace std::chrono_literals;

namespace {

// A file of 100 bytes without a name.
os::file small_file() {
  os::file f = os::file::open("/tmp", O_TMPFILE | O_RDWR);
  const std::vector<std::byte> bytes(100, std::byte{'x'});
  f.write_all(bytes);
  return f;
}

// Never a flag that makes a file: the texts name what is on the machine.
int harmless_flags(arguments& x) {
  return x.number(O_RDONLY) & ~(O_CREAT | O_TRUNC | O_TMPFILE | O_ACCMODE);
}

// A limit of a file's size in this process, so that no test fills the disk.
[[maybe_unused]] const bool files_are_small = [] {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {10 << 20, 10 << 20};
  return ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
}();

os::command extreme_command(arguments& x) {
  os::command c;
  c.program = x.string("/bin/true");
  if (c.program.empty()) return c;
  switch (x.pick<int>({0, 1, 2, 3, 4, 5, 6})) {
    case 1: c.arguments = {x.string("argument")}; break;
    case 2: c.environment = {x.string("NAME=value")}; break;
    case 3: c.directory = x.string("/"); break;
    case 4: c.input = os::redirect::to(x.descriptor()); break;
    case 5: c.errors = os::redirect::to(x.descriptor()); break;
    case 6: c.hand_down = {{x.string("name"), x.descriptor()}}; break;
    default: break;
  }
  return c;
}

// That has ended, that never ends, or that could.
sley::context a_context(arguments& x) {
  const auto [live, cancel] = sley::with_cancel({});
  const auto [ended, cancel_it] = sley::with_cancel({});
  cancel_it();
  return x.pick<sley::context>({ended, {}, live});
}

}  // namespace

// ---- files ----

CALLS(open, "os::file::open(string_view path, int flags, unsigned mode, context ctx)",
      "os::file::open(string_view path, int flags, context ctx)") {
  const std::string_view path = x.text("/dev/null");
  const int flags = harmless_flags(x);
  if (x.pick<bool>({false, true})) {
    use(os::file::open(path, flags, a_context(x)));
  } else {
    use(os::file::open(path, flags, x.number(0666U)));
  }
}
CALLS(open_with_a_context_error,
      "os::file::open(string_view path, int flags, unsigned mode, context ctx, error_code error)",
      "os::file::open(string_view path, int flags, context ctx, error_code error)") {
  const std::string_view path = x.text("/dev/null");
  const int flags = harmless_flags(x);
  if (x.pick<bool>({false, true})) {
    use(os::file::open(path, flags, a_context(x), x.error()));
  } else {
    use(os::file::open(path, flags, x.number(0666U), a_context(x), x.error()));
  }
}
CALLS(open_error, "os::file::open(string_view path, int flags, unsigned mode, error_code error)",
      "os::file::open(string_view path, int flags, error_code error)") {
  const std::string_view path = x.text("/dev/null");
  const int flags = harmless_flags(x);
  if (x.pick<bool>({false, true})) {
    use(os::file::open(path, flags, x.error()));
  } else {
    use(os::file::open(path, flags, x.number(0666U), x.error()));
  }
}
CALLS(file, "os::file::file(int fd)") { use(os::file(x.descriptor())); }
CALLS(file_error, "os::file::file(int fd, error_code error)") {
  use(os::file(x.descriptor(), x.error()));
}
CALLS(poll_fd, "os::poll_fd::poll_fd(int fd)") { use(os::poll_fd(x.descriptor())); }
CALLS(poll_fd_error, "os::poll_fd::poll_fd(int fd, error_code error)") {
  use(os::poll_fd(x.descriptor(), x.error()));
}

CALLS(watch, "poll_loop::watch(int fd, os::poll_events wanted)",
      "poll_loop::watch(int fd, os::poll_events wanted, error_code error)",
      "poll_loop::forget(int fd)") {
  sley::poll_loop loop([](int, os::poll_events) {}, [] {});
  const int fd = x.descriptor();
  const auto wanted = x.enumerator(os::poll_events::readable);
  loop.watch(fd, wanted, x.error());
  loop.forget(fd);
  loop.watch(fd, wanted);
}
CALLS(loop_timer, "poll_loop::set_timer(time_span d)") {
  sley::poll_loop loop([](int, os::poll_events) {}, [] {});
  loop.run([&] { loop.set_timer(x.duration()); });
}

CALLS(read_at, "os::file::read_at(span<byte> buffer, uint64_t offset, context ctx)",
      "os::file::read_at(span<byte> buffer, uint64_t offset, context ctx, error_code error)") {
  const sley::context ctx = a_context(x);
  use(small_file().read_at(x.buffer(), x.number<std::uint64_t>(5), ctx, x.error()));
  use(small_file().read_at(x.buffer(), x.number<std::uint64_t>(5), ctx));
}
CALLS(read_at_error, "os::file::read_at(span<byte> buffer, uint64_t offset, error_code error)") {
  use(small_file().read_at(x.buffer(), x.number<std::uint64_t>(5), x.error()));
}
CALLS(write_at, "os::file::write_at(span<byte> bytes, uint64_t offset, context ctx)",
      "os::file::write_at(span<byte> bytes, uint64_t offset, context ctx, error_code error)") {
  const sley::context ctx = a_context(x);
  use(small_file().write_at(x.bytes(), x.number<std::uint64_t>(5), ctx, x.error()));
  use(small_file().write_at(x.bytes(), x.number<std::uint64_t>(5), ctx));
}
CALLS(write_at_error, "os::file::write_at(span<byte> bytes, uint64_t offset, error_code error)") {
  use(small_file().write_at(x.bytes(), x.number<std::uint64_t>(5), x.error()));
}
CALLS(write_text_at, "os::file::write_at(string_view text, uint64_t offset, context ctx)",
      "os::file::write_at(string_view text, uint64_t offset, error_code error)",
      "os::file::write_at(string_view text, uint64_t offset, context ctx, error_code error)") {
  const os::file f = small_file();
  use(f.write_at(x.text("text"), x.number<std::uint64_t>(5), x.error()));
  use(f.write_at(x.text("text"), x.number<std::uint64_t>(5), a_context(x), x.error()));
  use(f.write_at(x.text("text"), x.number<std::uint64_t>(5)));
}

CALLS(read_file, "os::read_file(string_view path, context ctx)") {
  use(os::read_file(x.text("/proc/self/stat"), a_context(x)));
}
CALLS(read_file_with_a_context_error,
      "os::read_file(string_view path, context ctx, error_code error)") {
  use(os::read_file(x.text("/proc/self/stat"), a_context(x), x.error()));
}
CALLS(read_file_error, "os::read_file(string_view path, error_code error)") {
  use(os::read_file(x.text("/proc/self/stat"), x.error()));
}
// No file is made: the directory is not there.
CALLS(write_file,
      "os::write_file(string_view path, string_view content, write_options options, context ctx)",
      "os::write_file(string_view path, string_view content, write_options options, context ctx, "
      "error_code error)",
      "os::write_file(string_view path, string_view content, write_options options, error_code "
      "error)") {
  const std::string path = "/dev/null/" + x.string("file");
  const os::write_options options = {.mode = x.number(0666U),
                                     .atomic = x.pick<bool>({false, true})};
  std::error_code& error = x.error();
  os::write_file(path, x.text("content"), options, error);
  EXPECT_TRUE(error);
  os::write_file(path, x.text("content"), options, a_context(x), error);
  EXPECT_TRUE(error);
  os::write_file(path, x.text("content"), options);
}
CALLS(write_content,
      "os::write_file(string_view path, string_view content, write_options options, context ctx)",
      "os::append(string_view path, string_view content, append_options options, context ctx)") {
  const char* path = "/dev/null";
  os::append(path, x.text("content"), {.mode = x.number(0666U)}, a_context(x));
  os::write_file(path, x.text("content"), {.mode = x.number(0666U)});
}
CALLS(append,
      "os::append(string_view path, string_view content, append_options options, error_code "
      "error)",
      "os::append(string_view path, string_view content, append_options options, context ctx, "
      "error_code error)") {
  std::error_code& error = x.error();
  os::append("/dev/null/file", x.text("content"), {.mode = x.number(0666U)}, a_context(x), error);
  EXPECT_TRUE(error);
  os::append("/dev/null/" + x.string("file"), x.text("content"), {.mode = x.number(0666U)}, error);
  EXPECT_TRUE(error);
}

CALLS(of_files_that_are_closed,
      "os::file::write_at(span<byte> bytes, uint64_t offset, error_code error)") {
  os::file f = x.pick<bool>({false, true}) ? small_file() : os::file();
  f.close();
  std::error_code& error = x.error();
  use(f.read_at(x.buffer(), 0, error));
  use(f.write_at(x.bytes(), 0, error));
  use(f.size(error));
  f.sync(error);
  f.set_deadline(x.time());
}

// ---- processes ----

CALLS(redirect, "os::redirect::to(int fd)") { use(os::redirect::to(x.number(0))); }
CALLS(exit_status, "os::exit_status::exit_status(int code, int value)") {
  const os::exit_status s(x.number(1), x.number(0));
  use(s.to_string());
  use(s.success() + s.signal() + s.code());
}
CALLS(start, "os::process::start(command what, context ctx)") {
  os::process::start(extreme_command(x), a_context(x)).wait();
}
CALLS(start_with_a_context_error,
      "os::process::start(command what, context ctx, error_code error)") {
  std::error_code& error = x.error();
  const os::process p = os::process::start(extreme_command(x), a_context(x), error);
  if (!error) p.wait();
}
CALLS(start_error, "os::process::start(command what, error_code error)") {
  std::error_code& error = x.error();
  const os::process p = os::process::start(extreme_command(x), error);
  if (!error) p.wait();
}
CALLS(wait, "os::process::wait(time_point deadline, error_code error)") {
  const os::process p = os::process::start({.program = "/bin/sleep", .arguments = {"1000"}});
  const sley::time_point deadline = x.time();
  std::error_code& error = x.error();
  ended_by([&] { p.wait(deadline, error); }, [&] { p.kill(SIGKILL); });
  std::error_code ignored;
  p.kill(SIGKILL, ignored);
  p.wait();
}
CALLS(kill, "os::process::kill(int signal)") {
  const os::process p = os::process::start({.program = "/bin/sleep", .arguments = {"1000"}});
  std::error_code ignored;
  try {
    p.kill(x.number(SIGTERM));
  } catch (...) {
    p.kill(SIGKILL, ignored);
    p.wait();
    throw;
  }
  p.kill(SIGKILL, ignored);
  p.wait();
}
CALLS(kill_error, "os::process::kill(int signal, error_code error)") {
  const bool was_started = x.pick<bool>({true, false});
  const os::process p = was_started
                            ? os::process::start({.program = "/bin/sleep", .arguments = {"1000"}})
                            : os::process();
  std::error_code ignored;
  p.kill(x.number(SIGTERM), x.error());
  p.kill(SIGKILL, ignored);
  p.wait(ignored);
}
CALLS(run, "os::run(command what, run_limits limits)") {
  use(os::run(extreme_command(x), {.output_bytes = x.number<std::size_t>(100)}));
}
CALLS(run_error, "os::run(command what, run_limits limits, error_code error)") {
  const os::run_limits limits = {.input = x.text("input"),
                                 .output_bytes = x.number<std::size_t>(100)};
  const os::run_result r = os::run({.program = "/bin/cat"}, limits, x.error());
  EXPECT_LE(r.output.size(), limits.output_bytes);
}

// ---- signals ----

namespace {

int extreme_signal(arguments& x) {
  const int signal = x.number(SIGUSR1);
  return x.pick<int>({signal, SIGKILL, SIGSEGV, SIGURG, SIGRTMIN - 1, SIGRTMAX, SIGRTMAX + 1});
}

}  // namespace

CALLS(notify, "os::notify(send_chan<int> channel, int signal, Signals... signals)",
      "os::notify(send_chan<int> channel, initializer_list<int> signals)",
      "os::stop_notify(send_chan<int> channel)", "os::reset_signal(int signal)") {
  const sley::chan<int> c =
      x.pick<bool>({false, true}) ? sley::chan<int>(nullptr) : sley::chan<int>(1);
  const int signal = extreme_signal(x);
  os::stop_notify(c);
  if (x.pick<bool>({false, true})) {
    os::notify(c, signal);
  } else {
    os::notify(c, {SIGUSR1, signal, signal});
  }
  os::stop_notify(c);
  os::reset_signal(signal);
}
CALLS(ignore_signal, "os::ignore_signal(int signal)") {
  const int signal = extreme_signal(x);
  os::ignore_signal(signal);
  os::reset_signal(signal);
}
CALLS(notify_context, "os::notify_context(context parent, int signal, Signals... signals)",
      "os::notify_context(context parent, initializer_list<int> signals)") {
  const int signal = extreme_signal(x);
  auto [ctx, cancel] = x.pick<bool>({false, true})
                           ? os::notify_context(sley::context::background(), {})
                           : os::notify_context(sley::context::background(), signal);
  cancel();
}

// ---- service managers ----

CALLS(service_states, "service::status(string_view text)") {
  const std::string line = sley::service::status(x.text("text"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}
CALLS(notify_manager, "service::notify(string_view state, context ctx)",
      "service::notify(string_view state, error_code error)",
      "service::notify(string_view state, context ctx, error_code error)") {
  const std::string name = "@sley-hostile-manager-" + std::to_string(::getpid());
  const auto manager = sley::net::unix_datagram::bind(name);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  const std::string_view state = x.text("READY=1");
  const sley::context ctx = a_context(x);
  sley::service::notify(state, x.error());
  sley::service::notify(state, ctx, x.error());
  sley::service::notify(state, ctx);
}
