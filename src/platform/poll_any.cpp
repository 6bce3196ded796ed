#include "platform/poll_any.hpp"

#include "platform/os.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace sley::platform {

namespace {

constexpr std::size_t word_bits = 8 * sizeof(unsigned long);

// The three sets of pselect6(2), for descriptors of any number.
class bit_sets {
 public:
  explicit bit_sets(int highest) noexcept
      : words_(static_cast<std::size_t>(highest) / word_bits + 1),
        bytes_(to_pages(3 * words_ * sizeof(unsigned long))),
        bits_(static_cast<unsigned long*>(map_memory(bytes_, true))) {}
  ~bit_sets() {
    if (bits_ != nullptr) unmap_memory(bits_, bytes_);
  }
  bit_sets(const bit_sets&) = delete;
  bit_sets& operator=(const bit_sets&) = delete;

  bool are_there() const noexcept { return bits_ != nullptr; }
  unsigned long* set(std::size_t number) const noexcept { return bits_ + number * words_; }
  void add(std::size_t number, int fd) const noexcept { word(number, fd) |= bit(fd); }
  bool has(std::size_t number, int fd) const noexcept { return (word(number, fd) & bit(fd)) != 0; }

 private:
  static std::size_t to_pages(std::size_t bytes) noexcept {
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  }
  static unsigned long bit(int fd) noexcept {
    return 1UL << static_cast<std::size_t>(fd) % word_bits;
  }
  unsigned long& word(std::size_t number, int fd) const noexcept {
    return set(number)[static_cast<std::size_t>(fd) / word_bits];
  }

  std::size_t words_;  // of each
  std::size_t bytes_;  // of all
  unsigned long* bits_;
};

struct kind_of_event {
  short asked;
  short found;
};
constexpr kind_of_event kinds[3] = {
    {POLLIN | POLLRDHUP, POLLIN}, {POLLOUT, POLLOUT}, {POLLPRI, POLLPRI}};

int highest_of(std::span<const pollfd> descriptors) noexcept {
  int highest = 0;
  for (const pollfd& d : descriptors) highest = std::max(highest, d.fd);
  return highest;
}

void ask(std::span<const pollfd> descriptors, const bit_sets& sets) noexcept {
  for (const pollfd& d : descriptors) {
    for (std::size_t k = 0; k < 3; ++k) {
      if (d.fd >= 0 && (d.events & kinds[k].asked) != 0) sets.add(k, d.fd);
    }
  }
}

int note_found(std::span<pollfd> descriptors, const bit_sets& sets) noexcept {
  int count = 0;
  for (pollfd& d : descriptors) {
    d.revents = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      if (d.fd >= 0 && sets.has(k, d.fd)) d.revents |= kinds[k].found;
    }
    if (d.revents != 0) ++count;
  }
  return count;
}

// Marks the closed descriptors. Returns their number.
int note_closed(std::span<pollfd> descriptors) noexcept {
  int count = 0;
  for (pollfd& d : descriptors) {
    d.revents = d.fd >= 0 && fcntl(d.fd, F_GETFD) < 0 ? POLLNVAL : 0;
    if (d.revents != 0) ++count;
  }
  return count;
}

int select_any(std::span<pollfd> descriptors, const timespec* timeout) noexcept {
  const int highest = highest_of(descriptors);
  const bit_sets sets(highest);
  if (!sets.are_there()) {
    errno = ENOMEM;
    return -1;
  }
  ask(descriptors, sets);
  timespec left = {};  // the kernel writes the time left
  if (timeout != nullptr) left = *timeout;
  const long found = syscall(SYS_pselect6, highest + 1, sets.set(0), sets.set(1), sets.set(2),
                             timeout != nullptr ? &left : nullptr, nullptr);
  if (found < 0) return errno == EBADF ? note_closed(descriptors) : -1;
  return note_found(descriptors, sets);
}

}  // namespace

int poll_any(std::span<pollfd> descriptors, const timespec* timeout) noexcept {
  const int count = ppoll(descriptors.data(), descriptors.size(), timeout, nullptr);
  return count < 0 && errno == EINVAL ? select_any(descriptors, timeout) : count;
}

}  // namespace sley::platform
