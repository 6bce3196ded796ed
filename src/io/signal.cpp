// Signals as values of channels. From Go's os/signal and sigqueue.go.
//
// The handler puts a signal's bit into a word and writes to an eventfd. A goroutine reads that, and
// sends the signals in the word to the channels that want them. A caller that takes a channel off
// does the same first, so earlier signals are not lost.
#include <sley/signal.hpp>

#include <sley/go.hpp>
#include <sley/select.hpp>
#include <sley/sync.hpp>

#include "io/file.hpp"
#include "io/perform.hpp"
#include "parts/pending_bits.hpp"
#include "platform/signals.hpp"
#include "runtime/state/family.hpp"

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace sley::os {

namespace {

using signal_set = std::uint64_t;

struct subscription {
  send_chan<int> channel;
  signal_set signals;
};

// Signals that have come and were not taken yet. The handler adds one and then writes to the event;
// the relay reads the event and then takes them. One that comes too late for that is followed by an
// event that comes later than the read.
parts::pending_bits arrived;
int event_number = -1;  // [const] before the first handler; never closed

struct relay {
  mutex lock;
  detail::descriptor event;                 // [const] once the number is set
  std::vector<subscription> subscriptions;  // [lock: lock]
  signal_set handled = 0;                   // [lock: lock]
  bool is_running = false;                  // [lock: lock] there is a goroutine

  void open();
  void ensure_running();
  void run();
  void deliver();
  void take_off(signal_set signals, const send_chan<int>* channel);
  void release(signal_set signals);
};

relay& the_relay() {
  static auto* const instance = new relay;  // goroutines and handlers may use it to the end
  return *instance;
}

void ring() noexcept {
  const std::uint64_t one = 1;
  // It can't fail but for being full, and then it is read all the same.
  [[maybe_unused]] const ssize_t n = ::write(event_number, &one, sizeof one);
}

void on_signal(int signal) noexcept {
  arrived.add(signal_set{1} << (signal - 1));
  ring();
}

signal_set bit_of(int signal) {
  if (!platform::may_handle_signal(signal)) {
    throw std::invalid_argument("sley: signal " + std::to_string(signal) +
                                " can't be handled by a program");
  }
  return signal_set{1} << (signal - 1);
}

template <class F>
void for_each(signal_set signals, F f) {
  for (; signals != 0; signals &= signals - 1) f(std::countr_zero(signals) + 1);
}

void relay::open() {
  if (event_number >= 0) return;
  detail::throwing("sley: notify", [this](std::error_code& e) {
    const long fd =
        io::attempt([](int flags) { return ::eventfd(0, flags); }, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!io::is_success(fd, e)) return;
    event = detail::descriptor(static_cast<int>(fd), detail::io_kind::device, e);
    if (!e) event_number = static_cast<int>(fd);
  });
}

// Requires the lock.
void relay::ensure_running() {
  if (is_running) return;
  const rt::without_heritage guard;
  go(go_options{.name = "signals"}, [this] { run(); });
  is_running = true;
}

// The goroutine, as long as there is anything to handle.
void relay::run() {
  for (;;) {
    std::uint64_t count = 0;
    std::error_code ignored;  // it is never closed
    io::perform(
        event.get(), io::direction::read,
        [&count](int fd) { return platform::kernel::read(fd, &count, sizeof count); },
        [](long) { return false; }, ignored);
    std::lock_guard guard(lock);
    deliver();
    if (handled == 0) {
      is_running = false;
      return;
    }
  }
}

// Requires the lock.
void relay::deliver() {
  for_each(arrived.take(), [this](int signal) {
    for (const subscription& s : subscriptions) {
      if ((s.signals >> (signal - 1) & 1) == 0) continue;
      s.channel.try_send(int{signal});
    }
  });
}

// These have no channel any more. Requires the lock.
void relay::release(signal_set signals) {
  for_each(signals & handled, &platform::restore_signal);
  handled &= ~signals;
  if (handled == 0 && is_running) ring();
}

// From one channel, or from all. Requires the lock.
void relay::take_off(signal_set signals, const send_chan<int>* channel) {
  deliver();
  signal_set left = 0;
  for (subscription& s : subscriptions) {
    if (channel == nullptr || s.channel == *channel) s.signals &= ~signals;
    left |= s.signals;
  }
  std::erase_if(subscriptions, [](const subscription& s) { return s.signals == 0; });
  release(handled & ~left);
}

}  // namespace

void notify(const send_chan<int>& channel, std::initializer_list<int> signals) {
  if (!channel) throw std::logic_error("sley: notify with the nil channel");
  signal_set wanted = 0;
  for (const int signal : signals) wanted |= bit_of(signal);
  relay& r = the_relay();
  std::lock_guard guard(r.lock);
  r.open();
  if ((wanted & bit_of(SIGPIPE)) != 0) io::expect_broken_pipes();  // what it goes back to
  if (wanted == 0) return;
  r.subscriptions.reserve(r.subscriptions.size() + 1);
  r.ensure_running();
  r.subscriptions.push_back({channel, wanted});  // nothing fails from here on
  for_each(wanted & ~r.handled, [&](int signal) {
    platform::handle_signal(signal, &on_signal);
    r.handled |= bit_of(signal);
  });
}

void stop_notify(const send_chan<int>& channel) {
  relay& r = the_relay();
  std::lock_guard guard(r.lock);
  r.take_off(~signal_set{0}, &channel);
}

void ignore_signal(int signal) {
  const signal_set bit = bit_of(signal);
  relay& r = the_relay();
  std::lock_guard guard(r.lock);
  r.take_off(bit, nullptr);
  platform::ignore_signal(signal);
}

void reset_signal(int signal) {
  const signal_set bit = bit_of(signal);
  relay& r = the_relay();
  std::lock_guard guard(r.lock);
  r.take_off(bit, nullptr);
  platform::restore_signal(signal);
}

namespace {

// Why a context has ended; without memory for that, that there was none.
std::exception_ptr cause_of(int signal) noexcept try {
  return std::make_exception_ptr(std::runtime_error("signal " + std::to_string(signal)));
} catch (const std::bad_alloc&) {
  return std::current_exception();
}

}  // namespace

std::pair<context, cancel_function> notify_context(const context& parent,
                                                   std::initializer_list<int> signals) {
  const chan<int> came(1);
  auto [ctx, end] = with_cancel_cause(parent);
  notify(came, signals);
  try {
    go([came, done = ctx.done(), cancel = end] {
      select(on_receive(came, [&cancel](std::optional<int> s) { cancel(cause_of(*s)); }),
             on_receive(done));
      stop_notify(came);
    });
  } catch (...) {
    stop_notify(came);
    throw;
  }
  return {ctx, cancel_function(ctx)};
}

}  // namespace sley::os
