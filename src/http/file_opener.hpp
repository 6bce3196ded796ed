// Opens files below a folder, and nothing else.
#pragma once

#include <sley/os.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <system_error>

struct stat;  // of <sys/stat.h>

namespace sley::http::detail {

// A folder that names are looked up from, whatever becomes of its path.
class opened_folder {
 public:
  explicit opened_folder(int fd) noexcept : fd_(fd) {}
  ~opened_folder();
  opened_folder(const opened_folder&) = delete;
  opened_folder& operator=(const opened_folder&) = delete;
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

// Throws std::system_error that names it.
int open_folder(std::string_view path);

// A regular file, or nothing; then why.
class opened_file {
 public:
  opened_file() noexcept = default;
  explicit opened_file(int fd) : file_(std::in_place, fd) {}
  explicit opened_file(std::error_code why) noexcept : error_(why) {}
  explicit operator bool() const noexcept { return file_.has_value(); }
  const os::file& get() const noexcept { return *file_; }
  // Empty if there is no such file; std::errc::permission_denied; else the system could not tell.
  const std::error_code& error() const noexcept { return error_; }

 private:
  std::optional<os::file> file_;
  std::error_code error_;
};

// `name` has no empty, "." or ".." components. `status` describes the file: st_mode is 0 if it was
// not opened. What lies outside the folder does not exist. Blocks as an announced call at most.
opened_file open_below(const opened_folder& root, const std::string& name, struct stat& status);

}  // namespace sley::http::detail
