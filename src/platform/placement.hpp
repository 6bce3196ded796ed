// On which CPU a thread is, and how it gets to another one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::platform {

// As many as the largest kernels have (CONFIG_NR_CPUS).
inline constexpr std::size_t most_cpus = 8192;

class cpu_set {
 public:
  static cpu_set of_all() noexcept;

  void add(std::uint32_t cpu) noexcept {
    if (cpu < most_cpus) words_[cpu / word_bits] |= 1UL << cpu % word_bits;
  }
  bool has(std::uint32_t cpu) const noexcept {
    return cpu < most_cpus && (words_[cpu / word_bits] >> cpu % word_bits & 1) != 0;
  }
  int size() const noexcept;
  bool is_empty() const noexcept { return size() == 0; }
  void remove(const cpu_set& others) noexcept;
  friend bool operator==(const cpu_set&, const cpu_set&) noexcept = default;

  unsigned long* words() noexcept { return words_; }  // as the system calls have it
  const unsigned long* words() const noexcept { return words_; }

 private:
  static constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
  unsigned long words_[most_cpus / word_bits] = {};
};

// Those a thread of this process may run on; 0: the calling one. Returns how many bytes of the set
// the kernel knows of, or -1.
long allowed_cpus(std::int32_t thread_id, cpu_set& allowed) noexcept;

// Where the kernel writes the number of the CPU that the calling thread was last on (rseq(2)),
// readable by all as long as the thread lives. Null: it does not; and in a simulation.
const std::uint32_t* place_of_this_thread() noexcept;

// Moves a thread of this process, 0: the calling one, to a CPU that is not among `taken` and where
// the thread `like` may run, as it may itself afterwards. Who changes its CPUs meanwhile is heeded,
// but for the moments between two system calls. False: there is none, or the system refuses. A few
// microseconds.
bool move_thread(std::int32_t thread_id, const cpu_set& taken, std::int32_t like) noexcept;

}  // namespace sley::platform
