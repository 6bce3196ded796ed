#include "platform/placement.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <iterator>

namespace sley::platform {

int cpu_set::size() const noexcept {
  int n = 0;
  for (const unsigned long word : words_) n += std::popcount(word);
  return n;
}

void cpu_set::remove(const cpu_set& others) noexcept {
  for (std::size_t i = 0; i < std::size(words_); ++i) words_[i] &= ~others.words_[i];
}

long allowed_cpus(std::int32_t thread_id, cpu_set& allowed) noexcept {
  const int saved = errno;
  // The system call tells how much it has written, and refuses only a set that is too small.
  const long bytes = syscall(SYS_sched_getaffinity, thread_id, sizeof(allowed), allowed.words());
  errno = saved;
  return bytes;
}

bool move_thread(std::int32_t thread_id, const cpu_set& taken) noexcept {
  cpu_set allowed;
  const long bytes = allowed_cpus(thread_id, allowed);
  cpu_set free = allowed;
  free.remove(taken);
  if (bytes < 0 || free.is_empty()) return false;
  const int saved = errno;
  const bool is_moved = syscall(SYS_sched_setaffinity, thread_id, bytes, free.words()) == 0;
  if (is_moved) syscall(SYS_sched_setaffinity, thread_id, bytes, allowed.words());
  errno = saved;
  return is_moved;
}

}  // namespace sley::platform
