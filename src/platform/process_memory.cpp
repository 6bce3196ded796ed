#include "platform/process_memory.hpp"

#include "platform/os.hpp"
#include "platform/system_call.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace sley::platform {

namespace {

constexpr std::size_t text_bytes = 16 * 1024;

int open_file(const char* path) noexcept {
  return static_cast<int>(bare_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
}

// ---- the list of mappings ----

std::uintptr_t take_number(std::string_view& text) noexcept {
  std::uintptr_t number = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      number = number * 16 + static_cast<std::uintptr_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      number = number * 16 + static_cast<std::uintptr_t>(c - 'a') + 10;
    } else {
      break;
    }
  }
  text.remove_prefix(std::min(i + 1, text.size()));  // what is behind it, too
  return number;
}

// "7f0c5a000000-7f0c5a021000 rw-p 00000000 00:00 0    [stack]"
struct listed_mapping {
  explicit listed_mapping(std::string_view line) noexcept {
    m.begin = take_number(line);
    m.end = take_number(line);
    if (line.size() < 5) return;
    is_readable = line[0] == 'r';
    m.is_shared = line[3] == 's';
    line.remove_prefix(5);
    for (int i = 0; i < 3; ++i) {
      line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
    }
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    name = line;
    m.is_main_stack = name == "[stack]";
  }

  // Reading a device's memory may have an effect, and the kernel's own pages hold no pointers of
  // the program.
  bool is_wanted() const noexcept {
    const bool is_device = name.starts_with("/dev/") && !name.starts_with("/dev/zero") &&
                           !name.starts_with("/dev/shm/");
    return is_readable && !is_device && !name.starts_with("[v");
  }

  memory_mapping m;
  bool is_readable = false;
  std::string_view name;
};

// ---- pages ----

constexpr std::uint64_t is_in_memory = std::uint64_t{1} << 63;
constexpr std::uint64_t is_swapped = std::uint64_t{1} << 62;
constexpr std::uint64_t is_of_file = std::uint64_t{1} << 61;

// May the process have written to that page of a private mapping?
bool may_be_written(std::uint64_t page) noexcept {
  return (page & is_swapped) != 0 || (page & (is_in_memory | is_of_file)) == is_in_memory;
}

}  // namespace

process_memory::process_memory(std::span<std::byte> room) noexcept
    : text_(reinterpret_cast<char*>(room.data()), text_bytes),
      words_(reinterpret_cast<std::uintptr_t*>(room.data() + text_bytes),
             (room.size() - text_bytes) / sizeof(std::uintptr_t)),
      maps_(open_file("/proc/self/maps")),
      memory_(open_file("/proc/self/mem")),
      pages_(open_file("/proc/self/pagemap")),
      page_bytes_(page_bytes()) {
  error_ = -std::min({maps_, memory_, 0});
}

process_memory::~process_memory() {
  for (const int file : {maps_, memory_, pages_}) {
    if (file >= 0) bare_call(SYS_close, file);
  }
}

int process_memory::visit_mappings(void (*visit)(void*, const memory_mapping&) noexcept,
                                   void* arg) noexcept {
  bare_call(SYS_lseek, maps_, 0, 0);
  std::size_t have = 0;
  for (;;) {  // ends with the list
    const long bytes = bare_call(SYS_read, maps_, text_.data() + have, text_.size() - have);
    if (bytes < 0) return static_cast<int>(-bytes);
    if (bytes == 0) return have == 0 ? 0 : EIO;
    have += static_cast<std::size_t>(bytes);
    std::string_view left(text_.data(), have);
    for (std::size_t end; (end = left.find('\n')) != left.npos; left.remove_prefix(end + 1)) {
      const listed_mapping listed(left.substr(0, end));
      if (listed.is_wanted()) visit(arg, listed.m);
    }
    std::copy(left.begin(), left.end(), text_.begin());
    have = left.size();
    if (have == text_.size()) return EIO;  // no name is that long
  }
}

void process_memory::visit_words(memory_range range, bool is_shared, see_words see,
                                 void* arg) noexcept {
  constexpr std::size_t most_pages = 512;
  std::uint64_t pages[most_pages];
  for (std::uintptr_t at = range.begin; at < range.end;) {  // ends: a block is not empty
    const std::uintptr_t first = at / page_bytes_;
    const std::uintptr_t end = std::min(range.end, (first + most_pages) * page_bytes_);
    const std::size_t count = (end + page_bytes_ - 1) / page_bytes_ - first;
    const auto bytes = static_cast<long>(count * sizeof pages[0]);
    const bool is_known = !is_shared && pages_ >= 0 &&
                          bare_call(SYS_pread64, pages_, pages, bytes,
                                    static_cast<long>(first * sizeof pages[0])) == bytes;
    const auto is_left_out = [&](std::size_t i) { return is_known && !may_be_written(pages[i]); };
    for (std::size_t i = 0; i < count;) {  // runs of pages
      if (is_left_out(i)) {
        ++i;
        continue;
      }
      std::size_t after = i + 1;
      while (after < count && !is_left_out(after)) ++after;
      read_run(
          {std::max(at, (first + i) * page_bytes_), std::min(end, (first + after) * page_bytes_)},
          see, arg);
      i = after;
    }
    at = end;
  }
}

// As much at once as there is room. Where that can't be read, page by page.
void process_memory::read_run(memory_range range, see_words see, void* arg) noexcept {
  for (std::uintptr_t at = range.begin; at < range.end;) {  // ends: at least a page further
    const std::size_t wanted = std::min<std::size_t>(range.end - at, words_.size_bytes());
    const long bytes =
        bare_call(SYS_pread64, memory_, words_.data(), wanted, static_cast<long>(at));
    if (bytes <= 0) {
      at = (at / page_bytes_ + 1) * page_bytes_;
      continue;
    }
    const std::size_t whole = static_cast<std::size_t>(bytes) / sizeof(std::uintptr_t);
    see(arg, words_.first(whole));
    bytes_read_ += static_cast<std::uint64_t>(bytes);
    at += static_cast<std::size_t>(bytes);
  }
}

}  // namespace sley::platform
