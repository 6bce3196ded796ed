// The system calls of wordcount, with errors as values.
//
// Nothing in here parks, and nothing outside looks at errno: a goroutine may go on in another
// thread after it has parked, so a function that parks and uses errno could read the wrong one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace wordcount {

// An open file, closed by the destructor.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor();

  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

enum class entry_kind { file, directory, symlink, special };

struct entry {
  std::string name;
  entry_kind kind;
};

// Names a directory whatever path led to it.
struct file_id {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const file_id&) const = default;
};

struct listing {
  file_id id;
  std::vector<entry> entries;  // without . and ..
};

// What a path leads to if symbolic links are followed.
struct target {
  entry_kind kind;
  file_id id;
};

// Paths may be longer than PATH_MAX in all of these.

// Fails if the path is a symbolic link, unless it ends with a slash. If reading fails half way,
// the entries found so far are in the listing.
std::error_code list_directory(const std::string& path, listing& out);

// Opens a file that was regular when listed. Never waits, even if it has become a fifo since.
std::error_code open_file(const std::string& path, descriptor& out);

bool is_regular(const descriptor& file);

// Reads some bytes; 0 at the end of the file.
std::error_code read_some(const descriptor& file, std::span<unsigned char> buffer,
                          std::size_t& length);

std::error_code follow(const std::string& path, target& out);

// How many files the process may hold open (ulimit -n).
std::size_t open_files_limit();

}  // namespace wordcount
