// A descriptor's events as signals in a channel, for select.
//
// The observer is on the descriptor's list from before the first look, as runtime/run/observers.cpp
// has it, and an alert puts a signal into the channel instead of waking a goroutine: so nothing is
// missed between a look and the select that follows. The channel has room for one signal, because
// any number of alerts is worth one look.
#include <sley/detail/readiness.hpp>

#include "io/look.hpp"
#include "io/perform.hpp"
#include "runtime/run/netpoll.hpp"
#include "sync/chan_core.hpp"

#include <system_error>

namespace sley::detail {

struct readiness::watch : rt::io_observer {
  watch(rt::watched* of, os::poll_events events)
      : rt::io_observer{.reads = io::is_about_reading(events),
                        .writes = io::has(events, os::poll_events::writable),
                        .tell = &signal},
        w(of),
        wanted(events) {}

  // With the descriptor's lock held. Returns the goroutine whose select the signal has ended.
  static rt::goroutine* signal(rt::io_observer& o) noexcept {
    chan_core* c = static_cast<watch&>(o).signals.core();
    char nothing = 0;
    lock_guard guard(c->guard);
    const sync::attempt a = sync::send_locked(c, &nothing);
    return a.wake == nullptr ? nullptr : a.wake->g;
  }
  void signal_myself() const {
    char nothing = 0;
    signals.try_send(&nothing);
  }

  // Whether there is an answer: ready, or no reason to wait any longer.
  bool look() noexcept {
    found = os::poll_events::none;
    if (!is_observing) return true;
    rt::enter();
    const rt::io_result state = rt::state_of_observed(w, *this);
    rt::leave();
    if (state != rt::io_result::ready) return true;
    std::error_code error;
    found = io::look(w->fd, wanted, error);
    return found != os::poll_events::none || error;
  }

  rt::watched* w;  // null: nothing was ever open
  os::poll_events wanted;
  chan_ref signals{element_type_of<void>, 1};
  bool is_observing = false;
  os::poll_events found = os::poll_events::none;
  char room = 0;  // for a signal
};

readiness::readiness(const io_object& object, os::poll_events wanted)
    : watch_(std::make_unique<watch>(object.descriptor_.get(), wanted)) {}
readiness::readiness(readiness&&) noexcept = default;
readiness& readiness::operator=(readiness&&) noexcept = default;
readiness::~readiness() {
  if (watch_ != nullptr) end();
}

select_case readiness::begin() noexcept {
  watch& self = *watch_;
  end();
  if (self.w != nullptr) {
    rt::enter();
    self.is_observing = rt::begin_observing(self.w, self) == rt::io_result::ready;
    rt::leave();
  }
  if (self.look()) self.signal_myself();
  return {self.signals.core(), &self.room, case_kind::receive, false};
}

bool readiness::confirm() noexcept { return watch_->look(); }

void readiness::end() noexcept {
  watch& self = *watch_;
  if (self.is_observing) {
    const rt::inside inside;
    rt::end_observing(self.w, self);
    self.is_observing = false;
  }
  char nothing = 0;
  self.signals.try_receive(&nothing);  // a signal that no select has taken
}

os::poll_events readiness::found() const noexcept { return watch_->found; }

}  // namespace sley::detail
