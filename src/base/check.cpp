#include "base/check.hpp"

#include "base/print.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace sley::base {

namespace {

fatal_hook at_begin = nullptr;  // [const] once set
fatal_hook at_end = nullptr;    // [const] once set

void say(const line_writer& line) noexcept {
  if (at_begin != nullptr) at_begin();
  line_writer(line).flush(2);
  if (at_end != nullptr) at_end();
}

constexpr int go_exit_status = 2;

}  // namespace

void set_fatal_hooks(fatal_hook begin, fatal_hook end) noexcept {
  at_begin = begin;
  at_end = end;
}

// _exit() is the thread sanitizer's, which complains of a thread within a platform::unseen.
void end_process(int status) noexcept {
  syscall(SYS_exit_group, status);
  std::abort();
}

void fatal(std::string_view what) noexcept {
  say(line_writer().text("fatal error: ").text(what).text("\n"));
  end_process(go_exit_status);
}

void check_failed(const char* what, const char* file, int line) noexcept {
  say(line_writer()
          .text("fatal error: sley: broken invariant: ")
          .text(what)
          .text(" (")
          .text(file)
          .text(":")
          .dec(line)
          .text(")\n"));
  std::abort();
}

}  // namespace sley::base
