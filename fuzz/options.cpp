// Whatever the environment holds, the settings are sane, and a value that is refused is one line of
// printable characters on stderr. Run by `./dev fuzz options SECONDS`. The input: SLEYDEBUG,
// SLEY_MAXPROCS and SLEY_STACK_SIZE, with zero bytes between them.
#include "expect.hpp"
#include "parts/stack_pool.hpp"
#include "platform/os.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace {

namespace rt = sley::rt;
using sley_fuzz::expect;

// What is written to stderr while it lives goes to a file in memory.
class captured {
 public:
  captured() : file_(::memfd_create("stderr", MFD_CLOEXEC)), before_(::dup(2)) { ::dup2(file_, 2); }
  ~captured() { end(); }

  std::string end() {
    if (before_ < 0) return {};
    ::dup2(before_, 2);
    ::close(before_);
    before_ = -1;
    std::string text(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)), '\0');
    const ssize_t n = ::pread(file_, text.data(), text.size(), 0);
    ::close(file_);
    expect(n == static_cast<ssize_t>(text.size()), "all is read");
    return text;
  }

 private:
  int file_;
  int before_;
};

void check_lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    expect(end != std::string_view::npos, "a line has an end", text);
    const std::string_view line = text.substr(0, end);
    // 100 bytes of the value, each shown as four, and what is expected.
    expect(line.starts_with("sley: SLEY") && line.size() < 700, "it says what it is about", line);
    const bool is_printable = std::ranges::all_of(
        line, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
    expect(is_printable, "a terminal shows it as it is", line);
    text.remove_prefix(end + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sley_fuzz::parts input(data, size);
  ::setenv("SLEYDEBUG", std::string(input.next()).c_str(), 1);
  ::setenv("SLEY_MAXPROCS", std::string(input.next()).c_str(), 1);
  ::setenv("SLEY_STACK_SIZE", std::string(input.next()).c_str(), 1);
  captured errors;
  rt::read_debug_settings();
  const rt::procs_setting procs = rt::procs_option();
  const std::size_t stack = rt::stack_bytes_option();
  check_lines(errors.end());
  const rt::debug_settings& debug = rt::debug_options();
  expect(debug.slice_ns >= 1'000'000 && debug.slice_ns <= 100'000'000, "a sane slice");
  expect(debug.page_out_s == 0 || (debug.page_out_s >= 5 && debug.page_out_s <= 86'400),
         "a sane wait before paging out");
  expect(std::string_view(debug.flight).size() < rt::debug_settings::flight_bytes, "a sane path");
  expect(debug.schedtrace_ns >= 0 && debug.schedtrace_ns <= 3'600'000'000'000, "a sane trace");
  expect(procs.procs >= 1 && procs.procs <= rt::max_processors, "a sane number of processors");
  expect(stack >= sley::parts::stack_pool::min_bytes &&
             stack <= sley::parts::stack_pool::max_bytes + sley::platform::page_bytes(),
         "a sane stack");
  expect(stack % sley::platform::page_bytes() == 0, "of whole pages");
  return 0;
}
