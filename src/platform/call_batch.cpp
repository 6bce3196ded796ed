#include "platform/call_batch.hpp"

#include "base/check.hpp"
#include "platform/system_call.hpp"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sley::platform {

namespace {

// By number, because the headers of older systems lack them.
constexpr std::uint8_t code_of_send_message = 9;
constexpr std::uint8_t code_of_receive_message = 10;
constexpr std::uint8_t code_of_read = 22;
constexpr std::uint8_t code_of_send = 26;
constexpr std::uint8_t code_of_receive = 27;
constexpr std::uint32_t goes_on_after_errors = 1U << 7;  // IORING_SETUP_SUBMIT_ALL
constexpr std::uint32_t without_interrupts = 1U << 8;    // IORING_SETUP_COOP_TASKRUN
constexpr std::uint32_t has_one_mapping = 1U << 0;       // IORING_FEAT_SINGLE_MMAP
constexpr std::uint32_t waits_for_ends = 1U << 0;        // IORING_ENTER_GETEVENTS
constexpr std::uint32_t fails_rather_than_waits = 8;     // RWF_NOWAIT

// A child that the program forks has no use for it.
std::byte* map(int fd, std::uint64_t offset, std::size_t bytes) noexcept {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                    static_cast<off_t>(offset));
  if (at == MAP_FAILED) return nullptr;
  ::madvise(at, bytes, MADV_DONTFORK);
  return static_cast<std::byte*>(at);
}

std::uint32_t* word_at(std::byte* shared, std::uint32_t offset) noexcept {
  return reinterpret_cast<std::uint32_t*>(shared + offset);
}

}  // namespace

batched_call receive_call(int fd, std::span<std::byte> to) noexcept {
  return {code_of_receive, fd, to.data(), static_cast<std::uint32_t>(to.size()), 0, MSG_DONTWAIT};
}
batched_call send_call(int fd, std::span<const std::byte> from) noexcept {
  return {code_of_send,
          fd,
          const_cast<std::byte*>(from.data()),
          static_cast<std::uint32_t>(from.size()),
          0,
          MSG_DONTWAIT | MSG_NOSIGNAL};
}
batched_call receive_message_call(int fd, msghdr& message) noexcept {
  return {code_of_receive_message, fd, &message, 1, 0, MSG_DONTWAIT};
}
batched_call send_message_call(int fd, const msghdr& message) noexcept {
  return {code_of_send_message,       fd, const_cast<msghdr*>(&message), 1, 0,
          MSG_DONTWAIT | MSG_NOSIGNAL};
}
batched_call read_at_call(int fd, std::span<std::byte> to, std::uint64_t offset) noexcept {
  return {code_of_read,           fd, to.data(), static_cast<std::uint32_t>(to.size()), offset,
          fails_rather_than_waits};
}

bool is_direct(int fd) noexcept {
  const long flags = bare_call(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

int call_batch::open() noexcept {
  io_uring_params params = {};
  params.flags = goes_on_after_errors | without_interrupts;
  const long fd = bare_call(SYS_io_uring_setup, capacity, &params);
  if (fd < 0) return static_cast<int>(-fd);
  const int saved = errno;
  const std::size_t shared_bytes =
      std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(std::uint32_t),
                            params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
  const std::size_t calls_bytes = params.sq_entries * sizeof(io_uring_sqe);
  std::byte* shared = map(static_cast<int>(fd), IORING_OFF_SQ_RING, shared_bytes);
  std::byte* calls = map(static_cast<int>(fd), IORING_OFF_SQES, calls_bytes);
  if (shared == nullptr || calls == nullptr || (params.features & has_one_mapping) == 0) {
    if (shared != nullptr) ::munmap(shared, shared_bytes);
    if (calls != nullptr) ::munmap(calls, calls_bytes);
    ::close(static_cast<int>(fd));
    errno = saved;
    return ENOMEM;
  }
  errno = saved;
  submitted_ = word_at(shared, params.sq_off.head);
  added_ = word_at(shared, params.sq_off.tail);
  ended_ = word_at(shared, params.cq_off.tail);
  taken_ = word_at(shared, params.cq_off.head);
  end_mask_ = params.cq_entries - 1;
  ends_ = shared + params.cq_off.cqes;
  calls_ = reinterpret_cast<io_uring_sqe*>(calls);
  // The kernel finds the call of each position by a table of indices.
  std::uint32_t* indices = word_at(shared, params.sq_off.array);
  for (std::uint32_t i = 0; i < capacity; ++i) indices[i] = i;
  fd_ = static_cast<int>(fd);
  return 0;
}

void call_batch::add(const batched_call& call, void* tag) noexcept {
  io_uring_sqe& to = calls_[*added_ % capacity];
  to = {};
  to.opcode = call.code;
  to.fd = call.fd;
  to.off = call.offset;
  to.addr = reinterpret_cast<std::uintptr_t>(call.memory);
  to.len = call.bytes;
  to.msg_flags = call.options;  // all options share one place
  to.user_data = reinterpret_cast<std::uintptr_t>(tag);
  ++*added_;
}

void call_batch::take_ends(taker take, void* arg) noexcept {
  for (; *taken_ != *ended_; ++*taken_) {
    const std::byte* at = ends_ + (*taken_ & end_mask_) * sizeof(io_uring_cqe);
    const auto& end = *reinterpret_cast<const io_uring_cqe*>(at);
    take(reinterpret_cast<void*>(end.user_data), end.res, arg);
  }
}

// The kernel refuses calls when it has no memory for them, or when the program has closed the
// descriptor.
void call_batch::make_calls(taker take, void* arg) noexcept {
  long n = 1;
  while (*submitted_ != *added_ && (n > 0 || n == -EINTR)) {
    n = bare_call(SYS_io_uring_enter, fd_, *added_ - *submitted_, 0, 0, nullptr, 0);
  }
  while (*submitted_ != *added_) {
    const io_uring_sqe& call = calls_[--*added_ % capacity];
    take(reinterpret_cast<void*>(call.user_data), not_made, arg);
  }
  take_ends(take, arg);
  // A file can have been made direct after is_direct() was asked.
  while (size() != 0) {
    n = bare_call(SYS_io_uring_enter, fd_, 0, 1, waits_for_ends, nullptr, 0);
    if (n < 0 && n != -EINTR) {
      base::fatal("sley: the program has closed a descriptor of the library's, which waits for it");
    }
    take_ends(take, arg);
  }
}

}  // namespace sley::platform
