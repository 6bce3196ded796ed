// Signals as values of channels. From Go's os/signal.
//
//   const sley::chan<int> signals(1);
//   sley::os::notify(signals, SIGINT, SIGTERM);
//   ... signals.receive() ...
//
// Any thread and goroutine may call these; they wait for each other, and for nothing else. They
// throw std::invalid_argument for numbers that are no signals, for SIGKILL and SIGSTOP, for SIGURG,
// which the runtime uses itself, and for signals that an instruction of the program's raises
// (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP). A signal that all threads block does not come.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/config.hpp>

#include <initializer_list>
#include <utility>

namespace sley::os {

// From now on these signals are sent to the channel, in addition to its signals from before, and to
// other channels, and do nothing else. stop_notify() puts back what the program or the runtime did
// on them before (the default action, a handler, the dump of SIGQUIT). A signal that several
// processes or threads sent before it could be delivered counts once. Sending never waits: give the
// channel room for signals that come while no goroutine receives. A process that waits for a signal
// is not deadlocked. Between one sley::run() and the next the signals are kept.
//
// A goroutine does this while there are channels. Throws std::logic_error for the nil channel,
// std::bad_alloc, and std::system_error if there is no descriptor for it. From Go's signal.Notify.
SLEY_API void notify(const send_chan<int>& channel, std::initializer_list<int> signals);
template <class... Signals>
void notify(const send_chan<int>& channel, int signal, Signals... signals) {
  notify(channel, {signal, signals...});
}

// The channel gets no more signals, once the signals that have arrived are in it or dropped. From
// Go's signal.Stop.
SLEY_API void stop_notify(const send_chan<int>& channel);

// The signal does nothing, in processes that this one starts too, and is sent to no channel. From
// Go's signal.Ignore.
SLEY_API void ignore_signal(int signal);
// Undoes what notify() and ignore_signal() did to it, for all channels. From Go's signal.Reset.
SLEY_API void reset_signal(int signal);

// A context that also ends, as canceled, when one of these comes; cause() names it. The cancel
// function must be called some time; soon after that, or after the end of the parent, the signals
// have their meaning again. From Go's signal.NotifyContext.
SLEY_API std::pair<context, cancel_function> notify_context(const context& parent,
                                                            std::initializer_list<int> signals);
template <class... Signals>
std::pair<context, cancel_function> notify_context(const context& parent, int signal,
                                                   Signals... signals) {
  return notify_context(parent, {signal, signals...});
}

}  // namespace sley::os
