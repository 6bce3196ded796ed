// A process from its start to its end, with what it writes. From Go's Cmd.Output.
#include <sley/detail/c_text.hpp>
#include <sley/detail/context_end.hpp>
#include <sley/os.hpp>
#include <sley/sync.hpp>

#include "io/launch.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <new>
#include <utility>

namespace sley::os {

namespace {

bool append(std::string& to, std::span<const std::byte> bytes) noexcept try {
  to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// To the end. What is more than the limit, or than there is memory for, is read all the same: the
// process is not to wait for us. True: some was lost.
bool collect(const file& from, std::size_t limit, std::string& into,
             std::error_code& error) noexcept {
  std::array<std::byte, 16 * 1024> buffer;
  bool has_lost = false;
  std::error_code of_memory;
  while (const std::size_t n = from.read_some(buffer, error)) {
    const std::size_t room = std::min(n, limit - into.size());
    if (!append(into, std::span(buffer).first(room))) {
      of_memory = std::make_error_code(std::errc::not_enough_memory);
      limit = into.size();
    }
    has_lost = has_lost || room < n || of_memory;
  }
  if (!error) error = of_memory;
  return has_lost;
}

void kill(const process& p) noexcept {
  std::error_code ignored;  // it may have ended meanwhile
  p.kill(SIGKILL, ignored);
}

void end(process& p) noexcept {
  kill(p);
  std::error_code ignored;
  for (file* f : {&p.stdin_pipe(), &p.stdout_pipe(), &p.stderr_pipe()}) f->close(ignored);
}

// Every goroutine of the talk must be done before the objects that it uses go. That holds also if
// there is no memory for one of the goroutines: then the process is killed.
struct whole_talk {
  process& p;
  wait_group& group;
  int exceptions = std::uncaught_exceptions();
  ~whole_talk() {
    if (std::uncaught_exceptions() > exceptions) end(p);
    group.wait();
  }
};

// Both of its outputs at the same time, what it is to read, and its end.
void talk(process& p, const run_limits& limits, run_result& result, std::error_code& error) {
  std::error_code of_errors;
  bool has_lost_errors = false;
  wait_group group;
  const whole_talk guard{p, group};
  // The pipes too, which others may hold open.
  for (file* f : {&p.stdin_pipe(), &p.stdout_pipe(), &p.stderr_pipe()}) f->set_context(limits.ctx);
  const detail::on_context_end hook(limits.ctx, [&p] { kill(p); });
  if (p.stdin_pipe().is_open()) {
    group.go([&] {
      std::error_code ignored;  // it need not read all
      p.stdin_pipe().write_all(std::as_bytes(std::span(limits.input)), ignored);
      p.stdin_pipe().close(ignored);
    });
  }
  if (p.stderr_pipe().is_open()) {
    group.go([&] {
      has_lost_errors = collect(p.stderr_pipe(), limits.output_bytes, result.errors, of_errors);
    });
  }
  if (p.stdout_pipe().is_open()) {
    result.is_truncated = collect(p.stdout_pipe(), limits.output_bytes, result.output, error);
  }
  group.wait();
  if (!error) error = of_errors;
  result.is_truncated = result.is_truncated || has_lost_errors;
  std::error_code of_wait;
  result.status = p.wait(of_wait);
  if (!error) error = of_wait;
}

}  // namespace

run_result run(const command& what, const run_limits& limits, std::error_code& error) {
  command c = what;
  if (!limits.input.empty() && c.input.is_inherited()) c.input = redirect::pipe();
  if (c.output.is_inherited()) c.output = redirect::pipe();
  if (c.errors.is_inherited()) c.errors = redirect::pipe();
  run_result result;
  process p = process::start(c, limits.ctx, error);
  if (error) return result;
  talk(p, limits, result, error);
  if (limits.ctx.error()) error = limits.ctx.error();
  return result;
}

run_result run(const command& what, const run_limits& limits) {
  std::error_code error;
  run_result result = run(what, limits, error);
  if (error) throw start_failed(error, "sley: run", what);
  return result;
}

}  // namespace sley::os
