// Reads the memory of this process, all of it that may have been written. It makes system calls
// without libc: see stopped_process.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

struct memory_range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

struct memory_mapping : memory_range {
  bool is_shared = false;      // with other processes, or a file
  bool is_main_stack = false;  // of the process's first thread
};

class process_memory {
 public:
  // `room` is for what is read. May be used by one thread at a time.
  explicit process_memory(std::span<std::byte> room) noexcept;
  ~process_memory();
  process_memory(const process_memory&) = delete;
  process_memory& operator=(const process_memory&) = delete;

  // 0, or why nothing can be read.
  int error() const noexcept { return error_; }

  // Calls visit(arg, mapping) for each mapping that may hold what the program has written there.
  // Returns 0 or an error. The visitor may call visit_words().
  int visit_mappings(void (*visit)(void* arg, const memory_mapping& m) noexcept,
                     void* arg) noexcept;

  using see_words = void (*)(void* arg, std::span<const std::uintptr_t> words) noexcept;
  // Calls see(arg, words) for the words of the range, which begins at a word. Left out are pages
  // that can't be read, guards for example, and pages of a private mapping that were never written.
  void visit_words(memory_range range, bool is_shared, see_words see, void* arg) noexcept;

  // The bytes read so far.
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  void read_run(memory_range range, see_words see, void* arg) noexcept;

  std::span<char> text_;             // of the list of mappings
  std::span<std::uintptr_t> words_;  // of memory
  int maps_ = -1;
  int memory_ = -1;
  int pages_ = -1;  // which pages there are; below 0: not known
  std::size_t page_bytes_;
  int error_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace sley::platform
