// Whole files: read, replaced, and added to. From Go's os.ReadFile and os.WriteFile; the atomic
// form is what editors and package managers do.
#include <sley/detail/c_text.hpp>
#include <sley/os.hpp>

#include "io/perform.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace sley::os {

using detail::failed;

namespace {

// ---- reading ----

// A little more than the size, so that the read that finds the end needs no more room.
std::size_t first_room(const file& f) noexcept {
  constexpr std::size_t least = 4096;
  constexpr std::size_t most = 1UL << 30;  // what the size claims is not always there
  std::error_code ignored;
  return std::clamp<std::size_t>(static_cast<std::size_t>(f.size(ignored)), least, most) + 1;
}

}  // namespace

std::string read_file(std::string_view path, const context& ctx, std::error_code& error) {
  const file f = file::open(path, O_RDONLY, ctx, error);
  if (error) return {};
  std::string content;
  std::size_t size = 0;
  for (content.resize(first_room(f));; content.resize(2 * size)) {  // ends at the end of the file
    while (size < content.size()) {
      const std::span<char> room(content.data() + size, content.size() - size);
      const std::size_t n = f.read_some(std::as_writable_bytes(room), ctx, error);
      size += n;
      if (n == 0 || error) {
        content.resize(error ? 0 : size);
        return content;
      }
    }
  }
}
std::string read_file(std::string_view path, std::error_code& error) {
  return read_file(path, context::background(), error);
}
std::string read_file(std::string_view path, const context& ctx) {
  std::error_code error;
  std::string content = read_file(path, ctx, error);
  if (error) throw failed(error, "sley: read", path);
  return content;
}

namespace {

// ---- writing ----

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The name of a new file is on the disk once its directory is.
void sync_directory(const std::string& path, std::error_code& error) {
  const file directory = file::open(directory_of(path), O_RDONLY | O_DIRECTORY, error);
  if (!error) directory.sync(error);
}

// Closes the file in any case. The first error counts.
void write_and_close(file& f, std::string_view content, bool sync, const context& ctx,
                     std::error_code& error) {
  f.write_all(content, ctx, error);
  if (!error && sync) f.sync(error);
  std::error_code closing;
  f.close(closing);
  if (!error) error = closing;
}

void write_in_place(std::string_view path, int how, std::string_view content, unsigned mode,
                    bool sync, const context& ctx, std::error_code& error) {
  file f = file::open(path, O_WRONLY | O_CREAT | how, mode, ctx, error);
  if (error) return;
  write_and_close(f, content, sync, ctx, error);
  if (!error && sync) sync_directory(std::string(path), error);
}

// Where symbolic links lead to, whether there is a file or not.
std::string target_of(std::string_view path, std::error_code& error) {
  constexpr int most_links = 40;  // as the kernel
  std::string name(path);
  for (int links = 0; links < most_links; ++links) {
    char text[4096];
    const long size =
        io::attempt_blocking([&](int) { return ::readlink(name.c_str(), text, sizeof text); }, -1);
    if (size < 0) return name;  // it is no link
    const std::string next(text, static_cast<std::size_t>(size));
    name = next.starts_with('/') ? next : directory_of(name) + '/' + next;
  }
  error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  return {};
}

// The permissions of the file that is to be replaced; nullopt if there is none, or with an error.
std::optional<mode_t> permissions_of(const std::string& path, std::error_code& error) {
  struct stat status = {};
  const long result = io::attempt_blocking([&](int) { return ::stat(path.c_str(), &status); }, -1);
  if (result == -ENOENT) return std::nullopt;
  if (!io::is_success(result, error)) return std::nullopt;
  if (!S_ISREG(status.st_mode)) error = std::make_error_code(std::errc::not_supported);
  return status.st_mode & 0777U;
}

// A new file beside the path, whose name no other caller has. Its name is as short as can be, so
// that it is no longer than a file's name may be.
file open_beside(const std::string& path, unsigned mode, std::string& name,
                 std::error_code& error) {
  constexpr int most_tries = 100;
  file f;
  for (int tries = 0; tries < most_tries; ++tries) {
    auto chance = static_cast<std::uint64_t>(tries);  // stays where a sandbox refuses the call
    // 8 bytes are always there.
    [[maybe_unused]] const ssize_t n = ::getrandom(&chance, sizeof chance, 0);
    char text[32];
    std::snprintf(text, sizeof text, "/.sley-%016llx", static_cast<unsigned long long>(chance));
    name = directory_of(path) + text;
    f = file::open(name, O_WRONLY | O_CREAT | O_EXCL, mode, error);
    if (error != std::errc::file_exists) break;
  }
  return f;
}

void replace(std::string_view path, std::string_view content, const write_options& options,
             const context& ctx, std::error_code& error) {
  const std::string target = target_of(path, error);
  if (error) return;
  const std::optional<mode_t> permissions = permissions_of(target, error);
  if (error) return;
  std::string name;
  file f = open_beside(target, options.mode, name, error);
  if (error) return;
  if (permissions) {
    io::is_success(
        io::attempt([&](int fd) { return ::fchmod(fd, *permissions); }, f.native_handle()), error);
  }
  if (!error) write_and_close(f, content, options.sync, ctx, error);
  if (!error) {
    io::is_success(
        io::attempt_blocking([&](int) { return ::rename(name.c_str(), target.c_str()); }, -1),
        error);
  }
  if (error) {
    blocking([&name] { ::unlink(name.c_str()); });
  } else if (options.sync) {
    sync_directory(target, error);
  }
}

}  // namespace

void write_file(std::string_view path, std::string_view content, const write_options& options,
                const context& ctx, std::error_code& error) {
  if (io::has_ended(error, ctx) || detail::has_zero_byte(path, error)) return;
  if (options.atomic) {
    replace(path, content, options, ctx, error);
  } else {
    write_in_place(path, O_TRUNC, content, options.mode, options.sync, ctx, error);
  }
}
void write_file(std::string_view path, std::string_view content, const write_options& options,
                std::error_code& error) {
  write_file(path, content, options, context::background(), error);
}
void write_file(std::string_view path, std::string_view content, const write_options& options,
                const context& ctx) {
  std::error_code error;
  write_file(path, content, options, ctx, error);
  if (error) throw failed(error, "sley: write", path);
}

void append(std::string_view path, std::string_view content, const append_options& options,
            const context& ctx, std::error_code& error) {
  write_in_place(path, O_APPEND, content, options.mode, options.sync, ctx, error);
}
void append(std::string_view path, std::string_view content, const append_options& options,
            std::error_code& error) {
  append(path, content, options, context::background(), error);
}
void append(std::string_view path, std::string_view content, const append_options& options,
            const context& ctx) {
  std::error_code error;
  append(path, content, options, ctx, error);
  if (error) throw failed(error, "sley: append to", path);
}

}  // namespace sley::os
