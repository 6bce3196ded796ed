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
  static cpu_set of(std::uint32_t cpu) noexcept {
    cpu_set one;
    one.add(cpu);
    return one;
  }

  void add(std::uint32_t cpu) noexcept {
    if (cpu < most_cpus) words_[cpu / word_bits] |= 1UL << cpu % word_bits;
  }
  bool has(std::uint32_t cpu) const noexcept {
    return cpu < most_cpus && (words_[cpu / word_bits] >> cpu % word_bits & 1) != 0;
  }
  int size() const noexcept;
  // Counted from 0; there are more than `n`.
  std::uint32_t nth(int n) const noexcept;
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

// Moves the calling thread to a CPU where the thread `like` may run (0: itself), and afterwards
// lets it run wherever `like` may. In between it may run on that CPU alone, which threads and
// processes that it makes would inherit: so no user code runs meanwhile, and signals wait. A change
// of its CPUs by another thread is heeded, except between two system calls. False: the thread may
// not run there, or the system refuses. Some 10 microseconds.
bool move_this_thread(std::uint32_t cpu, std::int32_t like = 0) noexcept;

}  // namespace sley::platform
