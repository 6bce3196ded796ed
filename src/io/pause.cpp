#include "io/pause.hpp"

#include "io/observing.hpp"
#include "runtime/source/timers.hpp"

#include <new>
#include <optional>

namespace sley::io {

namespace {

// An observer that no event is of interest to, until a time. Its timer is a part of it.
class pausing : public observing {
 public:
  pausing(rt::watched* w, direction d, std::int64_t when_ns)
      : observing(w, d == direction::read, d == direction::write), alarm_(w_, self_) {
    rt::enter();
    const bool is_armed = rt::add_timer(&alarm_, when_ns);
    rt::leave();
    if (!is_armed) throw std::bad_alloc();
  }
  ~pausing() {
    const rt::inside inside;
    rt::remove_timer(&alarm_);
  }

 private:
  rt::io_alarm alarm_;
};

}  // namespace

void pause(rt::watched* w, direction d, time_span time, const context& ctx) {
  pausing self(w, d, detail::deadline_in(time));
  std::optional<detail::on_context_end> hook;
  try {
    if (detail::can_end(ctx)) hook.emplace(ctx, [&] { self.end(end_of(ctx)); });
  } catch (const std::bad_alloc&) {  // then its time ends it
  }
  while (self.next_event() == rt::io_result::ready) continue;  // ends with the time
}

}  // namespace sley::io
