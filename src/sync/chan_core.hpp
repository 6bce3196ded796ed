// A channel without its type: a lock, a ring of values, and two queues of waiters. From Go's
// chan.go.
//
// Invariants, whenever the lock is free:
//   CH-1  At most one of the queues has a waiter that can be claimed. The exception is one
//         goroutine that waits to send and to receive here in the same select.
//   CH-2  A receiver waits only if the ring is empty, and a sender only if it is full.
//   CH-3  A closed channel has no waiters, except waiters of selects that were claimed elsewhere.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/chan_core.hpp>
#include <sley/detail/lock.hpp>

#include "sync/waiter.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sley::sync {
struct channel_timer;
}

namespace sley::detail {

struct ending_node;

struct chan_core {
  reference_count references;
  lock guard{lock_rank::channel};
  // CH-4  A look without the lock (would_block_send, would_block_receive) is of one moment. A
  //       thread that sees the channel closed sees every value sent before. A thread that sees that
  //       the last value or waiter is gone sees a close that came before: store_release of closed
  //       in close, of count in popped and of the queue's first in remove <-> load_acquire of them
  //       in the looks.
  atomic<bool> closed;              // [lock: guard] [atomic CH-4]
  bool is_timer = false;            // [const] looks unbuffered, though it has room for one value
  bool is_of_context = false;       // [const] once it is handed out: see `context`
  std::uint8_t word_bytes = 0;      // [const] 8 or 4: plain values, moved by a register. 0: others
  std::uint32_t element_bytes = 0;  // [const]
  atomic<std::size_t> count;        // [lock: guard] [atomic CH-4] values in the ring
  std::size_t capacity = 0;         // [const]
  std::size_t ring_bytes = 0;       // [const]
  std::size_t head = 0;             // [lock: guard] where the oldest value is, in bytes
  std::size_t tail = 0;             // [lock: guard] where the next one goes, in bytes
  sync::waiter_queue receivers;     // [lock: guard]
  sync::waiter_queue senders;       // [lock: guard]
  char* ring = nullptr;             // [const]
  union {
    sync::channel_timer* timer = nullptr;  // [const] is_timer: what feeds it
    const ending_node* context;            // [const] is_of_context: whose end closes it
  };
  const element_type* type = nullptr;  // [const]

  // Moves a value to uninitialised memory; the original is still to be destroyed.
  void move(void* to, void* from) const noexcept {
    if (word_bytes == 8) {
      std::memcpy(to, from, 8);
    } else if (word_bytes == 4) {
      std::memcpy(to, from, 4);
    } else if (type->move_construct != nullptr) {
      type->move_construct(to, from);
    } else if (element_bytes != 0) {
      std::memcpy(to, from, element_bytes);
    }
  }

  // All with the lock held.
  bool has_room() const noexcept { return count.load_acquire("CH-4") < capacity; }
  bool has_values() const noexcept { return count.load_acquire("CH-4") != 0; }
  void push_value(void* value) noexcept {
    move(ring + tail, value);
    pushed(element_bytes);
  }
  void pop_value(void* out) noexcept {
    move(out, ring + head);
    drop_value();
  }
  void drop_value() noexcept {
    if (word_bytes == 0 && type->destroy != nullptr) type->destroy(ring + head);
    popped(element_bytes);
  }
  // The same without a call, for words alone. False: values are no words, and nothing has happened.
  bool push_word(const void* value) noexcept {
    return word_bytes == 8 ? push_bytes<8>(value) : word_bytes == 4 ? push_bytes<4>(value) : false;
  }
  bool pop_word(void* out) noexcept {
    return word_bytes == 8 ? pop_bytes<8>(out) : word_bytes == 4 ? pop_bytes<4>(out) : false;
  }

 private:
  template <std::size_t Bytes>
  bool push_bytes(const void* value) noexcept {
    std::memcpy(ring + tail, value, Bytes);
    pushed(Bytes);
    return true;
  }
  template <std::size_t Bytes>
  bool pop_bytes(void* out) noexcept {
    std::memcpy(out, ring + head, Bytes);
    popped(Bytes);
    return true;
  }
  std::size_t next(std::size_t place, std::size_t bytes) const noexcept {
    place += bytes;
    return place == ring_bytes ? 0 : place;
  }
  void pushed(std::size_t bytes) noexcept {
    tail = next(tail, bytes);
    count.store_relaxed(count.load_relaxed() + 1);
  }
  void popped(std::size_t bytes) noexcept {
    head = next(head, bytes);
    count.store_release(count.load_relaxed() - 1, "CH-4");
  }
};

}  // namespace sley::detail

namespace sley::sync {

using detail::chan_core;

// What a try at an operation found, with the lock held. `wake` is the waiter that must be made
// ready once the lock is released.
struct attempt {
  chan_status status;
  chan_waiter* wake = nullptr;
};

// Requires the lock. ok, closed (a send must throw) or would_block.
attempt send_locked(chan_core* c, void* value) noexcept;
// Requires the lock. ok, closed (closed and drained) or would_block.
attempt receive_locked(chan_core* c, void* out) noexcept;

// Without the lock: would the operation have to wait? Exact in the sense that it was so at a moment
// during the call.
bool would_block_send(const chan_core* c) noexcept;
bool would_block_receive(const chan_core* c) noexcept;

}  // namespace sley::sync
