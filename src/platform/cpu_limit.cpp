#include "platform/cpu_limit.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace sley::platform {

std::uint32_t procs_for(std::uint32_t affinity_cpus, cpu_quota quota) noexcept {
  const std::uint32_t most = std::clamp(affinity_cpus, 1U, max_automatic_procs);
  if (!quota.is_limited()) return most;
  const bool has_part = quota.quota_us % quota.period_us != 0;
  const std::int64_t limit = quota.quota_us / quota.period_us + (has_part ? 1 : 0);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(most, std::max<std::int64_t>(2, limit)));
}

// ---- text ----

bool path_text::append(std::string_view text) noexcept {
  if (text.size() >= path_max - size_) return false;
  cut(size_ + text.copy(text_ + size_, text.size()));
  return true;
}

void path_text::cut(std::size_t size) noexcept {
  size_ = size;
  text_[size] = '\0';
}

namespace {

// An open file, or none.
class file {
 public:
  explicit file(const char* path) noexcept : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  ~file() {
    if (fd_ >= 0) close(fd_);
  }

  // Returns the number of bytes read; 0 at the end and if the file cannot be read.
  std::size_t read(char* buffer, std::size_t bytes) const noexcept {
    if (fd_ < 0) return 0;
    ssize_t n = 0;
    do {
      n = ::read(fd_, buffer, bytes);
    } while (n < 0 && errno == EINTR);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }

 private:
  int fd_;
};

// The lines of a file of any length. Lines longer than the buffer are left out.
template <std::size_t buffer_bytes>
class line_reader {
 public:
  explicit line_reader(const path_text& path) noexcept : file_(path.c_str()) {}

  // Returns a line without its newline; good until the next call.
  std::optional<std::string_view> next() noexcept {
    bool lacks_beginning = false;
    for (;;) {  // ends: each round takes something from the buffer or from the file
      const std::string_view unread(buffer_ + begin_, end_ - begin_);
      if (const std::size_t n = unread.find('\n'); n != std::string_view::npos) {
        begin_ += n + 1;
        if (!lacks_beginning) return unread.substr(0, n);
        lacks_beginning = false;
      } else if (unread.size() == buffer_bytes) {
        begin_ = end_ = 0;
        lacks_beginning = true;
      } else if (!read_more()) {
        return std::nullopt;  // a last line without a newline may lack its end
      }
    }
  }

 private:
  bool read_more() noexcept {
    std::memmove(buffer_, buffer_ + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t n = file_.read(buffer_ + end_, buffer_bytes - end_);
    end_ += n;
    return n > 0;
  }

  file file_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  char buffer_[buffer_bytes];  // not zeroed: it is large, and written before it is read
};

// Cuts off the text before the first `separator`, and the separator itself.
std::string_view take_field(std::string_view& rest, char separator) noexcept {
  const std::size_t n = std::min(rest.find(separator), rest.size());
  const std::string_view field = rest.substr(0, n);
  rest.remove_prefix(std::min(n + 1, rest.size()));
  return field;
}

bool lists(std::string_view comma_separated, std::string_view word) noexcept {
  while (!comma_separated.empty()) {
    if (take_field(comma_separated, ',') == word) return true;
  }
  return false;
}

}  // namespace

// ---- the process's place among the cgroups ----

namespace {

// A line of /proc/self/cgroup: "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1.
struct cgroup_line {
  bool is_v2;
  std::string_view path;
};

// Returns only lines of hierarchies that may limit the CPU.
std::optional<cgroup_line> parse_cgroup(std::string_view line) noexcept {
  const std::string_view number = take_field(line, ':');
  const std::string_view controllers = take_field(line, ':');
  const bool is_v2 = number == "0" && controllers.empty();
  if (!is_v2 && !lists(controllers, "cpu")) return std::nullopt;
  if (!line.starts_with('/')) return std::nullopt;
  return cgroup_line{is_v2, line};
}

// Calls visit(const cgroup_line&) with the process's cgroups. `scratch` is free while it does.
template <class Visit>
void for_each_cgroup(std::string_view root, path_text& scratch, Visit visit) noexcept {
  constexpr std::size_t names_of_controllers_bytes = 256;
  scratch.cut(0);
  if (!scratch.append(root) || !scratch.append("/proc/self/cgroup")) return;
  line_reader<sizeof(path_text) + names_of_controllers_bytes> lines(scratch);
  while (const auto line = lines.next()) {
    if (const auto cgroup = parse_cgroup(*line)) visit(*cgroup);
  }
}

// The cgroup's path below `top`, with a leading slash; empty for `top` itself, nothing for a path
// that is not below it. Beyond the root of a cgroup namespace paths begin with "/.."; such a
// directory would be outside of the mount.
std::optional<std::string_view> path_below(std::string_view top, std::string_view cgroup) noexcept {
  if (top == "/") top = {};
  if (!cgroup.starts_with(top)) return std::nullopt;
  cgroup.remove_prefix(top.size());
  if (cgroup.empty() || cgroup == "/") return std::string_view();
  if (cgroup.front() != '/') return std::nullopt;
  if (cgroup.ends_with("/..") || cgroup.find("/../") != cgroup.npos) return std::nullopt;
  return cgroup;
}

}  // namespace

// ---- finding the cgroup file systems ----

namespace {

// A line of /proc/self/mountinfo, see proc(5): "31 23 0:28 /top /point rw,relatime shared:9 - type
// source rw,cpu"; any number of fields comes before the lonely dash.
struct mount_line {
  std::string_view top;
  std::string_view point;
  std::string_view type;
  std::string_view options;
};

std::optional<mount_line> parse_mount(std::string_view line) noexcept {
  for (int i = 0; i < 3; ++i) take_field(line, ' ');
  mount_line m;
  m.top = take_field(line, ' ');
  m.point = take_field(line, ' ');
  const std::size_t dash = line.find(" - ");
  if (dash == line.npos) return std::nullopt;
  line.remove_prefix(dash + 3);
  m.type = take_field(line, ' ');
  take_field(line, ' ');  // the source, which may be empty
  m.options = take_field(line, ' ');
  if (!m.top.starts_with('/') || !m.point.starts_with('/')) return std::nullopt;
  return m;
}

bool is_octal(char c) noexcept { return c >= '0' && c <= '7'; }

// Appends a path in which the kernel wrote some characters as a backslash and three octal digits.
bool append_unescaped(path_text& path, std::string_view text) noexcept {
  while (!text.empty()) {
    char c = text.front();
    std::size_t taken = 1;
    if (c == '\\' && text.size() >= 4 && is_octal(text[1]) && is_octal(text[2]) &&
        is_octal(text[3])) {
      c = static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
      taken = 4;
    }
    if (!path.append({&c, 1})) return false;
    text.remove_prefix(taken);
  }
  return true;
}

}  // namespace

cpu_limit::cpu_limit(std::string_view root) noexcept : root_(root) {
  path_text path;
  if (!path.append(root) || !path.append("/proc/self/mountinfo")) return;
  line_reader<2 * sizeof(path_text)> lines(path);
  while (const auto line = lines.next()) consider_mount(*line);
}

// Takes the mount if it is the best so far. There may be several of one hierarchy: a container that
// watches its host has the host's as well. The best mount shows the process's cgroup and most of
// its ancestors: it has the shortest top. Of equal mounts the later is the best, because it hides
// the earlier if both are at the same point.
void cpu_limit::consider_mount(std::string_view line) noexcept {
  const auto parsed = parse_mount(line);
  if (!parsed) return;
  const bool is_v2 = parsed->type == "cgroup2";
  if (!is_v2 && (parsed->type != "cgroup" || !lists(parsed->options, "cpu"))) return;

  mount found;
  if (!append_unescaped(found.top, parsed->top)) return;
  if (!found.point.append(root_) || !append_unescaped(found.point, parsed->point)) return;
  mount& best = is_v2 ? v2_ : v1_;
  if (best.top.size() != 0 && best.top.size() < found.top.size()) return;

  bool shows_process = false;
  path_text scratch;
  for_each_cgroup(root_, scratch, [&](const cgroup_line& cgroup) {
    if (cgroup.is_v2 == is_v2 && path_below(found.top.view(), cgroup.path)) shows_process = true;
  });
  if (shows_process) best = found;
}

// ---- reading the quota ----

namespace {

// The text of a file in the directory `path`; empty if the file is missing or longer than it should
// be.
template <std::size_t buffer_bytes>
std::string_view contents(path_text& path, std::string_view name,
                          char (&buffer)[buffer_bytes]) noexcept {
  const std::size_t directory_size = path.size();
  if (!path.append(name)) return {};
  const std::size_t n = file(path.c_str()).read(buffer, buffer_bytes);
  path.cut(directory_size);
  return n < buffer_bytes ? std::string_view(buffer, n) : std::string_view();
}

// 0 for a word that is no number, as "max", or too large for one.
std::int64_t take_number(std::string_view& rest) noexcept {
  std::string_view word = take_field(rest, ' ');
  if (word.ends_with('\n')) word.remove_suffix(1);
  std::int64_t number = 0;
  const char* begin = word.data();
  const char* end = begin + word.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end ? number : 0;
}

// The kernel's periods are at most a second. Quotas beyond all machines are no limit; and so the
// products in is_smaller fit.
cpu_quota quota_of(std::int64_t quota_us, std::int64_t period_us) noexcept {
  constexpr std::int64_t max_period_us = 1'000'000;
  constexpr std::int64_t max_cpus = 1'000'000;
  if (quota_us <= 0 || period_us <= 0 || period_us > max_period_us) return {};
  if (quota_us / period_us >= max_cpus) return {};
  return {quota_us, period_us};
}

bool is_smaller(const cpu_quota& a, const cpu_quota& b) noexcept {
  if (!a.is_limited() || !b.is_limited()) return a.is_limited();
  return a.quota_us * b.period_us < b.quota_us * a.period_us;
}

// The quota of the cgroup whose directory is `path`. "150000 100000", or "max 100000" without a
// limit.
cpu_quota quota_v2(path_text& path) noexcept {
  char text[64];
  std::string_view rest = contents(path, "/cpu.max", text);
  const std::int64_t quota_us = take_number(rest);
  return quota_of(quota_us, take_number(rest));
}

// A quota of -1 is no limit.
cpu_quota quota_v1(path_text& path) noexcept {
  char text[64];
  std::string_view rest = contents(path, "/cpu.cfs_quota_us", text);
  const std::int64_t quota_us = take_number(rest);
  if (quota_us <= 0) return {};
  rest = contents(path, "/cpu.cfs_period_us", text);
  return quota_of(quota_us, take_number(rest));
}

// Without its last name.
std::string_view parent(std::string_view path) noexcept { return path.substr(0, path.rfind('/')); }

}  // namespace

cpu_quota cpu_limit::read() const noexcept {
  cpu_quota least;
  path_text path;
  for_each_cgroup(root_, path, [&](const cgroup_line& cgroup) {
    const mount& m = cgroup.is_v2 ? v2_ : v1_;
    if (m.top.size() == 0) return;
    auto below = path_below(m.top.view(), cgroup.path);
    if (!below) return;
    for (;;) {  // ends: `below` loses a name each time
      path.cut(0);
      // A path that is too long for open(2) is left out, like a cgroup that is not there.
      if (path.append(m.point.view()) && path.append(*below)) {
        const cpu_quota quota = cgroup.is_v2 ? quota_v2(path) : quota_v1(path);
        if (is_smaller(quota, least)) least = quota;
      }
      if (below->empty()) return;
      below = parent(*below);
    }
  });
  return least;
}

}  // namespace sley::platform
