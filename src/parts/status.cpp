#include "parts/status.hpp"

#include "base/print.hpp"

namespace sley::parts {

void status_word::refuse(status from, status to) const noexcept {
  base::line_writer line;
  line.text("sley: goroutine status is ").text(name_of(get()));
  line.text(" where it goes from ").text(name_of(from)).text(" to ").text(name_of(to));
  base::fatal(line.view());
}

}  // namespace sley::parts
