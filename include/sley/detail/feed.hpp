// Messages of a library that is adapted, as a channel: a goroutine reads them from their source
// until that fails, or the owner ends it. For <sley/redis.hpp>, <sley/postgres.hpp> and
// <sley/nats.hpp>.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/mutex.hpp>
#include <sley/wait_group.hpp>

#include <cstddef>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace sley::detail {

// What the goroutine and its owner share. A class that is made of it calls close() in its
// destructor, because the goroutine uses its members.
template <class Message>
class feed_of {
 public:
  explicit feed_of(std::size_t capacity) : messages_(capacity) {}

  const chan<Message>& messages() const noexcept { return messages_; }
  // Why the channel was closed. None while it is open, and if close() has ended it.
  std::error_code error() const {
    const std::lock_guard guard(lock_);
    return error_;
  }
  // The goroutine has ended when it returns.
  void close() noexcept {
    life_.second();
    reading_.wait();
  }

 protected:
  // Starts the goroutine: pass_on(error) sends messages until there is an error; then end() ends
  // their source.
  template <class PassOn, class End>
  void start(PassOn pass_on, End end) {
    reading_.go([this, pass_on, end] {
      std::error_code why;
      try {
        pass_on(why);
      } catch (const std::bad_alloc&) {
        why = make_error_code(std::errc::not_enough_memory);
      }
      end();
      {
        const std::lock_guard guard(lock_);
        if (!life().error()) error_ = why;
      }
      messages_.close();
    });
  }
  void send(Message m, std::error_code& why) { messages_.send(std::move(m), life(), why); }
  // Ends by close().
  const context& life() const noexcept { return life_.first; }

 private:
  const chan<Message> messages_;
  const std::pair<context, cancel_function> life_ = with_cancel(context::background());
  wait_group reading_;
  mutable mutex lock_;
  std::error_code error_;  // [lock: lock_]
};

}  // namespace sley::detail
