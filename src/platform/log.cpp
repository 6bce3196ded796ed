// The library's own lines go to a function of the program, or to stderr.
#include <sley/log.hpp>

#include <sley/detail/atomic.hpp>

#include "base/print.hpp"

namespace sley {

namespace {

// LG-1  The function finds what its setter has made ready for it: exchange_acq_rel in
//       set_log_function <-> load_acquire in log_line.
constinit detail::atomic<log_function> current;  // [atomic LG-1] null: stderr

}  // namespace

log_function set_log_function(log_function f) noexcept {
  return current.exchange_acq_rel(f, "LG-1");
}

void detail::log_line(std::string_view line) noexcept {
  const log_function f = current.load_acquire("LG-1");
  if (f == nullptr) return base::write_all(2, line);
  if (line.ends_with('\n')) line.remove_suffix(1);
  f(line);
}

}  // namespace sley
