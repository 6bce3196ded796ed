// What is looked at: a process, or a core.
#pragma once

#include "inspect/elf_file.hpp"
#include "platform/os.hpp"
#include "platform/unwind/frame.hpp"
#include "platform/unwind/walk.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sley::inspect {

// What the user is told, and the end.
struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A program or library that the target has loaded.
struct module {
  std::string path;  // as the target knows it
  std::string file;  // where it can be read
  std::shared_ptr<const elf_file> elf;
  std::uint64_t bias = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// A part of the target's memory and where it goes.
struct memory_part {
  std::uint64_t address;
  void* to;
  std::size_t size;
};

// A thread that sleeps in the kernel. If the same is seen again, the thread has slept all the time
// between.
struct thread_sleep {
  platform::sleeping_place at;
  std::uint64_t number = 0;  // how often the thread has gone to sleep

  bool operator==(const thread_sleep&) const noexcept = default;
};

class target {
 public:
  virtual ~target() = default;

  // Reads the parts one after the other. False: not all of it can be read.
  virtual bool read(std::span<const memory_part> parts) const = 0;
  // The registers of a thread that does not run any more; nothing in a process.
  virtual std::optional<platform::frame_registers> registers_of(int thread_id) const = 0;
  virtual bool is_asleep(int thread_id) const = 0;
  // Nothing if the thread runs, or the system does not tell; and in a core.
  virtual std::optional<thread_sleep> sleep_of(int thread_id) const = 0;
  // Does it change while it is looked at?
  virtual bool is_running() const noexcept = 0;

  const std::vector<module>& modules() const noexcept { return modules_; }
  const module* module_of(std::uint64_t address) const noexcept;
  // As its files have it. `bottom_return`: as in sley's layout. Valid while this object lives.
  platform::process_code code(const void* bottom_return) const noexcept;

  bool read(std::uint64_t address, void* to, std::size_t size) const {
    const memory_part part{address, to, size};
    return read(std::span(&part, 1));
  }
  // Throws failure if it can't be read.
  template <class T>
  T get(std::uint64_t address) const {
    T value;
    if (!read(address, &value, sizeof value))
      throw failure("the memory of the target can't be read");
    return value;
  }

 protected:
  // A part of a file that the target has in its memory.
  struct file_mapping {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t offset;
    std::string path;
    std::string file;
  };
  // In the order of their addresses.
  void set_modules(const std::vector<file_mapping>& mappings);

 private:
  std::vector<module> modules_;
};

// Throws failure.
std::unique_ptr<target> open_process(int pid);
std::unique_ptr<target> open_core(const std::string& path);

}  // namespace sley::inspect
