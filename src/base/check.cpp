#include "base/check.hpp"

#include "base/print.hpp"

#include <cstdlib>

namespace sley::base {

void fatal(std::string_view what) noexcept {
  line_writer().text("fatal error: ").text(what).text("\n").flush(2);
  std::abort();
}

void check_failed(const char* what, const char* file, int line) noexcept {
  line_writer()
      .text("fatal error: sley: broken invariant: ")
      .text(what)
      .text(" (")
      .text(file)
      .text(":")
      .dec(line)
      .text(")\n")
      .flush(2);
  std::abort();
}

}  // namespace sley::base
