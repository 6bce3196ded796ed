#include "platform/placement.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <iterator>

namespace sley::platform {

cpu_set cpu_set::of_all() noexcept {
  cpu_set all;
  for (unsigned long& word : all.words_) word = ~0UL;
  return all;
}

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

namespace {

bool set_allowed(std::int32_t thread_id, long bytes, const cpu_set& cpus) noexcept {
  return syscall(SYS_sched_setaffinity, thread_id, bytes, cpus.words()) == 0;
}

// A set that was asked for limits the thread for good, also where its cpuset gets more CPUs later.
// So it asks for all, unless somebody has asked for less before.
void allow_again(std::int32_t thread_id, long bytes, const cpu_set& before) noexcept {
  cpu_set now;
  const bool is_allowed = set_allowed(thread_id, bytes, cpu_set::of_all()) &&
                          allowed_cpus(thread_id, now) == bytes && now == before;
  if (!is_allowed) set_allowed(thread_id, bytes, before);
}

}  // namespace

bool move_thread(std::int32_t thread_id, const cpu_set& taken, std::int32_t like) noexcept {
  cpu_set allowed;
  const long bytes = allowed_cpus(like, allowed);
  cpu_set free = allowed;
  free.remove(taken);
  if (bytes < 0 || free.is_empty()) return false;
  const int saved = errno;
  const bool is_moved = set_allowed(thread_id, bytes, free);
  cpu_set now;  // that it was moved may have taken long
  if (is_moved && allowed_cpus(thread_id, now) == bytes && now == free) {
    allow_again(thread_id, bytes, allowed);
  }
  errno = saved;
  return is_moved;
}

}  // namespace sley::platform
