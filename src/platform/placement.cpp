#include "platform/placement.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
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

std::uint32_t cpu_set::nth(int n) const noexcept {
  std::uint32_t cpu = 0;
  while (!has(cpu) || n-- > 0) ++cpu;
  return cpu;
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

// Of the calling thread.
bool set_allowed(long bytes, const cpu_set& cpus) noexcept {
  return syscall(SYS_sched_setaffinity, 0, bytes, cpus.words()) == 0;
}

bool are_allowed(long bytes, const cpu_set& cpus) noexcept {
  cpu_set now;
  return allowed_cpus(0, now) == bytes && now == cpus;
}

// A requested set limits the thread for good, also if its cpuset gets more CPUs later. So this
// requests all CPUs, unless the program has requested fewer before.
void allow_again(long bytes, const cpu_set& before) noexcept {
  const bool is_allowed = set_allowed(bytes, cpu_set::of_all()) && are_allowed(bytes, before);
  if (!is_allowed) set_allowed(bytes, before);
}

// No handler of the program runs meanwhile, except for a signal that the thread itself causes: a
// blocked fault ends the process, and a sandbox may answer these system calls by SIGSYS.
class signals_wait {
 public:
  signals_wait() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
      sigdelset(&blocked, own);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~signals_wait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_wait(const signals_wait&) = delete;
  signals_wait& operator=(const signals_wait&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

bool move_this_thread(std::uint32_t cpu, std::int32_t like) noexcept {
  cpu_set allowed;
  const long bytes = allowed_cpus(like, allowed);
  if (bytes < 0 || !allowed.has(cpu)) return false;
  const int saved = errno;
  const signals_wait guard;
  const bool is_moved = set_allowed(bytes, cpu_set::of(cpu));
  // The move may have taken long.
  if (is_moved && are_allowed(bytes, cpu_set::of(cpu))) allow_again(bytes, allowed);
  errno = saved;
  return is_moved;
}

}  // namespace sley::platform
