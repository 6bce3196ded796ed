#include "base/check.hpp"

#include "base/print.hpp"

#include <unistd.h>

#include <cstdlib>

namespace sley::base {

namespace {

fatal_hook at_end = nullptr;  // [const] once set

void say(const line_writer& line) noexcept {
  line_writer(line).flush(2);
  if (at_end != nullptr) at_end();
}

constexpr int go_exit_status = 2;

}  // namespace

void set_fatal_hook(fatal_hook hook) noexcept { at_end = hook; }

void fatal(std::string_view what) noexcept {
  say(line_writer().text("fatal error: ").text(what).text("\n"));
  _exit(go_exit_status);
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
