// How many CPUs' worth of time the process may use: its affinity, and the CPU limit of its cgroups.
// Unlike Go, which asks the process's own cgroup, this asks all its ancestors as well: the kernel
// stops a group as soon as one of them has used up its quota.
//
// Nothing here allocates. A file that cannot be read or understood sets no limit: with too many
// processors a program wastes some time, with too few it is slow for no visible reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sley::platform {

// At most this many processors are made unless the program asks for more.
inline constexpr std::uint32_t max_automatic_procs = 256;

// A cgroup's right to `quota_us` of CPU time in each period.
struct cpu_quota {
  std::int64_t quota_us = 0;
  std::int64_t period_us = 0;

  bool is_limited() const noexcept { return quota_us > 0 && period_us > 0; }
  bool operator==(const cpu_quota&) const noexcept = default;
};

// How many processors the process should have now, by the affinity of this thread of it, 0: the
// calling one. The first call looks for the cgroup file systems; each call reads a few files of one
// line, some 10 us for each level of cgroups, so it sees changes at once. Any thread may call it,
// on a stack of its own: it needs 32 KB at first and 12 KB later, which a goroutine may not have.
std::uint32_t automatic_procs(std::int32_t thread_id) noexcept;

// Go's rule: min(affinity, max(2, limit rounded up)), from 1 to max_automatic_procs. A limit alone
// never leads to a single processor, where one goroutine that computes would hold up all others.
std::uint32_t procs_for(std::uint32_t affinity_cpus, cpu_quota quota) noexcept;

// A path in a buffer of the kernel's greatest length. Text that does not fit is not taken.
class path_text {
 public:
  std::string_view view() const noexcept { return {text_, size_}; }
  const char* c_str() const noexcept { return text_; }
  std::size_t size() const noexcept { return size_; }

  bool append(std::string_view text) noexcept;
  void cut(std::size_t size) noexcept;

 private:
  static constexpr std::size_t path_max = 4096;  // of <linux/limits.h>, with the final 0

  char text_[path_max] = {};
  std::size_t size_ = 0;
};

// Reads the quota of the process's cgroups.
class cpu_limit {
 public:
  // Finds the cgroup file systems. All paths are taken below `root`, which must live as long: empty
  // for this system, or a directory that has the files of another one.
  explicit cpu_limit(std::string_view root = {}) noexcept;

  // The smallest quota of the process's cgroup and those ancestors that can be seen. The process's
  // place among the cgroups is looked up each time, because it may be moved.
  cpu_quota read() const noexcept;

 private:
  // One file system that shows the process's cgroup.
  struct mount {
    path_text top;    // the cgroup that its root directory is; empty if there is no such mount
    path_text point;  // that directory
  };

  void consider_mount(std::string_view line) noexcept;

  std::string_view root_;  // [const]
  mount v1_;               // [const] the hierarchy with the CPU controller
  mount v2_;               // [const] may have the CPU controller or not
};

}  // namespace sley::platform
