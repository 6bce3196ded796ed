// Memory, the process and the barrier of os.hpp on Linux. Threads are in platform/real.
#include "platform/os.hpp"

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/check.hpp"
#include "platform/cpu.hpp"
#include "platform/kernel_release.hpp"
#include "platform/proc_file.hpp"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace sley::platform {

std::size_t main_stack_bytes() noexcept {
  rlimit limit = {};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return limit.rlim_cur;
}

// ---- memory ----

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void* map_memory(std::size_t bytes, bool small_pages) noexcept {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  // Advice only: a kernel without huge pages refuses it, which does no harm.
  if (small_pages) madvise(start, bytes, MADV_NOHUGEPAGE);
  return start;
}

void unmap_memory(void* start, std::size_t bytes) noexcept { munmap(start, bytes); }

namespace {

// Where it fails the memory stays as it is.
void advise(void* start, std::size_t bytes, int advice) noexcept {
  const int saved = errno;
  madvise(start, bytes, advice);
  errno = saved;
}

}  // namespace

void* map_huge_pages(std::size_t bytes) noexcept {
  constexpr std::size_t alignment = std::size_t{2} << 20;
  auto* start = static_cast<char*>(map_memory(bytes + alignment, false));
  if (start == nullptr) return nullptr;
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(start) % alignment;
  if (before != 0) unmap_memory(start, before);
  unmap_memory(start + before + bytes, alignment - before);
  advise(start + before, bytes, MADV_HUGEPAGE);  // fails where the kernel has no huge pages
  return start + before;
}

void discard_memory(void* start, std::size_t bytes) noexcept {
  advise(start, bytes, MADV_DONTNEED);  // fails for locked memory
}

void page_out(void* start, std::size_t bytes) noexcept {
  advise(start, bytes, MADV_PAGEOUT);  // fails for locked memory, and before Linux 5.4
}

bool is_any_resident(void* start, std::size_t bytes) noexcept {
  constexpr std::size_t most_pages = 4096;
  const std::size_t pages = bytes / page_bytes();
  if (pages > most_pages) return true;
  unsigned char found[most_pages];
  const int saved = errno;
  const bool is_known = mincore(start, bytes, found) == 0;
  errno = saved;
  return !is_known || std::any_of(found, found + pages, [](unsigned char f) { return f % 2 != 0; });
}

namespace {

// A guard made by mprotect splits a mapping in two. The process must keep room for mappings of its
// own: without any left, malloc fails and no thread can be made. So guards take four fifths at
// most.
std::uint32_t most_split_mappings() noexcept {
  constexpr std::uint32_t kernel_default = 65530;
  std::uint32_t mappings = kernel_default;
  char text[32];
  const std::size_t size = read_start("/proc/sys/vm/max_map_count", text, sizeof(text));
  std::from_chars(text, text + size, mappings);
  return mappings / 5 * 4 / 2;
}

}  // namespace

namespace {

detail::atomic<std::uint32_t> split_guards;  // relaxed: only a count

// A layer between the kernel and the process may answer 0 to advice that it does not know. The
// kernel copies the set before it refuses the first argument, so a page that can be read is EINVAL.
bool does_guard(void* page) noexcept {
  constexpr int no_such_way = -1;
  constexpr std::size_t set_bytes = 8;
  return syscall(SYS_rt_sigprocmask, no_such_way, page, nullptr, set_bytes) != 0 && errno == EFAULT;
}

bool advice_guards() noexcept {
  void* page = map_memory(page_bytes(), true);
  if (page == nullptr) return false;
  const bool works = madvise(page, page_bytes(), MADV_GUARD_INSTALL) == 0 && does_guard(page);
  unmap_memory(page, page_bytes());
  return works;
}

bool may_advise = true;  // [const] after boot

// False: a kernel before 6.13, or the program's setting.
bool has_advice() noexcept {
  static const bool has = may_advise && advice_guards();
  return has;
}

guard install(void* start, std::size_t bytes) noexcept {
  // EINVAL: memory that is locked.
  if (has_advice() && madvise(start, bytes, MADV_GUARD_INSTALL) == 0) return guard::advised;
  static const std::uint32_t most = most_split_mappings();
  if (split_guards.add_relaxed(1) < most && mprotect(start, bytes, PROT_NONE) == 0) {
    return guard::split;
  }
  forget_guard(guard::split);
  return guard::none;
}

}  // namespace

void never_advise_guards() noexcept { may_advise = false; }

guard install_guard(void* start, std::size_t bytes) noexcept {
  const int saved = errno;
  const guard kind = install(start, bytes);
  errno = saved;
  return kind;
}

namespace {

constexpr std::size_t guards_at_once = 64;

// The number of ranges, from the first on, that have a guard now.
std::size_t install_all(const iovec* ranges, std::size_t count) noexcept {
  constexpr int this_process = -10000;  // PIDFD_SELF_THREAD
  const long bytes =
      syscall(SYS_process_madvise, this_process, ranges, count, MADV_GUARD_INSTALL, 0);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / ranges->iov_len;
}

// As advice_guards().
bool advice_guards_many() noexcept {
  auto* pages = static_cast<char*>(map_memory(2 * page_bytes(), true));
  if (pages == nullptr) return false;
  const iovec ranges[] = {{pages, page_bytes()}, {pages + page_bytes(), page_bytes()}};
  const bool works = install_all(ranges, 2) == 2 && does_guard(pages + page_bytes());
  unmap_memory(pages, 2 * page_bytes());
  return works;
}

}  // namespace

std::uint64_t install_guards(char* start, std::size_t distance, std::size_t bytes,
                             std::uint64_t which) noexcept {
  const int saved = errno;
  static const bool works = has_advice() && advice_guards_many();
  iovec ranges[guards_at_once];
  std::size_t count = 0;
  for (std::uint64_t left = works ? which : 0; left != 0; left &= left - 1) {
    ranges[count++] = {start + static_cast<std::size_t>(std::countr_zero(left)) * distance, bytes};
  }
  std::size_t done = count == 0 ? 0 : std::min(count, install_all(ranges, count));
  std::uint64_t guarded = 0;
  for (std::uint64_t left = which; done != 0; left &= left - 1, --done) guarded |= left & -left;
  errno = saved;
  return guarded;
}

void forget_guard(guard kind) noexcept {
  if (kind == guard::split) split_guards.sub_relaxed(1);
}

}  // namespace sley::platform

// ---- the asymmetric barrier of <sley/detail/atomic.hpp> ----

namespace sley::detail {

bool barriers_are_symmetric = true;
constinit static_table<atomic<std::uint32_t>, sleeper_places> lock_sleepers;

namespace {

bool membarrier_works() noexcept {
  using namespace platform;
  if constexpr (membarrier_works_since == kernel_release{}) return true;
  utsname name;
  return uname(&name) == 0 && read_kernel_release(name.release) >= membarrier_works_since;
}

// Decided once, before main() and any thread of ours: after a later change, with threads running,
// neither barrier of a pair might be full.
[[gnu::constructor(101)]] void register_for_membarrier() noexcept {
  const int saved = errno;
  barriers_are_symmetric =
      !membarrier_works() ||
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
  if (barriers_are_symmetric) {
    for (std::size_t i = 0; i < sleeper_places; ++i) lock_sleepers[i].store_relaxed(1);  // LK-2
  }
  errno = saved;
}

}  // namespace

void heavy_barrier_syscall() noexcept {
  if (barriers_are_symmetric) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return;
  }
  const int saved = errno;
  const long result = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  SLEY_CHECK(result == 0, "LK-2: membarrier works once the process is registered");
  errno = saved;
}

}  // namespace sley::detail
