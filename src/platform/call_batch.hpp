// System calls that the kernel makes in one go: io_uring(7), used for no more than that. Each call
// says that it must not wait, so all have ended when the kernel returns to the thread that makes
// them. No call is left behind that could end later, hold a buffer of the program's, or interrupt a
// thread that sleeps in another call (which io_uring does when an operation of that thread ends
// later).
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>

struct io_uring_sqe;

namespace sley::platform {

// A call that does not wait, in the kernel's terms.
struct batched_call {
  std::uint8_t code;
  int fd;
  void* memory;           // a buffer, or a message's msghdr; it stays until the call was made
  std::uint32_t bytes;    // of the buffer; 1 for a message
  std::uint64_t offset;   // in a file
  std::uint32_t options;  // of the call: MSG_… or RWF_…
};

batched_call receive_call(int fd, std::span<std::byte> to) noexcept;
batched_call send_call(int fd, std::span<const std::byte> from) noexcept;
batched_call receive_message_call(int fd, msghdr& message) noexcept;
batched_call send_message_call(int fd, const msghdr& message) noexcept;
// Of a regular file. EAGAIN: its bytes are not in memory. EOPNOTSUPP: its file system can't tell.
batched_call read_at_call(int fd, std::span<std::byte> to, std::uint64_t offset) noexcept;

// Does a read of this file end later, whatever it says: was it opened with O_DIRECT?
bool is_direct(int fd) noexcept;

// In place of a call's result: the kernel has refused it, so the caller must make it by itself.
inline constexpr std::int32_t not_made = INT32_MIN;

// One thread at a time uses it. No function takes a lock of libc or allocates by malloc; errno
// stays.
class call_batch {
 public:
  static constexpr std::uint32_t capacity = 256;

  // Returns 0, or an errno value: EPERM and ENOSYS where io_uring is denied, EINVAL before Linux
  // 5.19. Once.
  [[nodiscard]] int open() noexcept;

  bool is_full() const noexcept { return size() == capacity; }
  // Requires that it is not full.
  void add(const batched_call& call, void* tag) noexcept;
  // Makes the calls that were added, in their order. Then calls take(tag, result) for each: an
  // error is below 0, as the kernel returns it.
  template <class Take>
  void make(Take take) noexcept {
    make_calls(
        [](void* tag, std::int32_t result, void* to) { (*static_cast<Take*>(to))(tag, result); },
        &take);
  }

 private:
  using taker = void (*)(void* tag, std::int32_t result, void* arg);

  // How many calls were added whose ends were not taken.
  std::uint32_t size() const noexcept { return *added_ - *taken_; }
  void make_calls(taker take, void* arg) noexcept;
  void take_ends(taker take, void* arg) noexcept;

  int fd_ = -1;
  // Words of memory that the kernel shares. It reads and writes them in the call that makes a
  // batch, and at no other time.
  std::uint32_t* submitted_ = nullptr;  // position of the first call that it has not taken
  std::uint32_t* added_ = nullptr;      // position behind the last call
  std::uint32_t* ended_ = nullptr;      // position behind the last end
  std::uint32_t* taken_ = nullptr;      // position of the first end that was not taken
  std::uint32_t end_mask_ = 0;
  const std::byte* ends_ = nullptr;
  io_uring_sqe* calls_ = nullptr;
};

}  // namespace sley::platform
