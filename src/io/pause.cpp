#include "io/pause.hpp"

#include <sley/go.hpp>

#include "io/observing.hpp"

#include <new>

namespace sley::io {

// An observer that no event is of interest to.
void pause(rt::watched* w, direction d, time_span time, const context& ctx) try {
  const auto [limited, cancel] = with_timeout(ctx, time);
  {
    observing o(w, d == direction::read, d == direction::write);
    const detail::on_context_end hook(limited, [&o, &c = limited] { o.end(end_of(c)); });
    while (o.next_event() == rt::io_result::ready) continue;  // ends with the time
  }
  cancel();
} catch (const std::bad_alloc&) {
  this_goroutine::sleep_for(time);
}

}  // namespace sley::io
