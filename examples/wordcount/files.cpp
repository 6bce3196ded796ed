#include "files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace wordcount {

namespace {

std::error_code last_error() { return {errno, std::generic_category()}; }

// A path as the *at() calls want it: a directory, and the way on from there.
struct place {
  descriptor directory;
  const char* rest = nullptr;
  int at() const { return directory ? directory.get() : AT_FDCWD; }
};

// One system call takes a path of less than PATH_MAX bytes, but a tree may be deeper. Goes down as
// far as needed for the rest to be short enough; each turn makes it shorter.
std::error_code find_place(const std::string& path, place& out) {
  out.rest = path.c_str();
  while (std::strlen(out.rest) >= PATH_MAX) {
    const std::string_view rest = out.rest;
    const std::size_t slash = rest.rfind('/', PATH_MAX - 2);
    if (slash == std::string_view::npos || slash == 0) {
      return std::make_error_code(std::errc::filename_too_long);
    }
    const std::string head(rest.substr(0, slash));
    descriptor next(openat(out.at(), head.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!next) return last_error();
    out.directory = std::move(next);
    out.rest += slash;
    out.rest += std::strspn(out.rest, "/");
  }
  return {};
}

std::error_code open_at(const std::string& path, int flags, descriptor& out) {
  place where;
  if (const std::error_code error = find_place(path, where)) return error;
  out = descriptor(openat(where.at(), where.rest, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags));
  return out ? std::error_code() : last_error();
}

entry_kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return entry_kind::file;
  if (S_ISDIR(mode)) return entry_kind::directory;
  if (S_ISLNK(mode)) return entry_kind::symlink;
  return entry_kind::special;
}

// Most file systems say in the listing what an entry is; the others have to be asked.
entry_kind kind_of(int directory, const dirent& found) {
  switch (found.d_type) {
    case DT_REG: return entry_kind::file;
    case DT_DIR: return entry_kind::directory;
    case DT_LNK: return entry_kind::symlink;
    case DT_UNKNOWN: break;
    default: return entry_kind::special;
  }
  struct stat status;
  // An entry that is gone already passes for a file: opening it will tell.
  if (fstatat(directory, found.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return entry_kind::file;
  return kind_of(status.st_mode);
}

struct close_directory {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

descriptor::~descriptor() {
  if (fd_ >= 0) close(fd_);
}

std::error_code list_directory(const std::string& path, listing& out) {
  descriptor fd;
  if (const std::error_code error = open_at(path, O_DIRECTORY, fd)) return error;
  struct stat status;
  if (fstat(fd.get(), &status) != 0) return last_error();
  out.id = {status.st_dev, status.st_ino};
  const std::unique_ptr<DIR, close_directory> directory(fdopendir(fd.get()));
  if (!directory) return last_error();
  fd.release();  // the stream closes it from now on
  while (true) {
    errno = 0;
    const dirent* found = readdir(directory.get());
    if (found == nullptr) return last_error();  // no error at the end
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    out.entries.push_back({std::string(name), kind_of(dirfd(directory.get()), *found)});
  }
}

std::error_code open_file(const std::string& path, descriptor& out) {
  return open_at(path, O_NONBLOCK | O_NOCTTY, out);
}

bool is_regular(const descriptor& file) {
  struct stat status;
  return fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
}

std::error_code read_some(const descriptor& file, std::span<unsigned char> buffer,
                          std::size_t& length) {
  ssize_t n;
  do {
    n = read(file.get(), buffer.data(), buffer.size());
  } while (n < 0 && errno == EINTR);
  if (n < 0) return last_error();
  length = static_cast<std::size_t>(n);
  return {};
}

std::error_code follow(const std::string& path, target& out) {
  place where;
  if (const std::error_code error = find_place(path, where)) return error;
  struct stat status;
  if (fstatat(where.at(), where.rest, &status, 0) != 0) return last_error();
  out = {kind_of(status.st_mode), {status.st_dev, status.st_ino}};
  return {};
}

std::size_t open_files_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace wordcount
