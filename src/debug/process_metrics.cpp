// The names and the meaning are the same in all of Prometheus' clients:
// https://prometheus.io/docs/instrumenting/writing_clientlibs/#standard-and-runtime-collectors
#include "debug/process_metrics.hpp"

#include "platform/proc_file.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>

namespace sley::debug {

namespace {

double seconds_of(clockid_t clock) {
  timespec t = {};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

double ticks_per_second() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

// Fields of /proc/self/stat, by their numbers in proc_pid_stat(5).
class process_status {
 public:
  enum field : std::size_t { threads = 20, start_ticks = 22, virtual_bytes = 23, pages = 24 };

  process_status() {
    char text[1024];
    const std::string_view fields =
        platform::stat_after_name("/proc/self/stat", text, sizeof(text));
    constexpr std::size_t state = 2;  // "S "
    if (fields.size() > state) read(fields.substr(state));
  }

  bool is_known() const { return is_known_; }
  double operator[](field f) const { return static_cast<double>(values_[f - first]); }

 private:
  static constexpr std::size_t first = 4;  // the fields before are no numbers
  static constexpr std::size_t last = pages;

  void read(std::string_view numbers) {
    const char* at = numbers.data();
    const char* const end = at + numbers.size();
    for (std::int64_t& value : values_) {
      if (at >= end) return;
      const auto [stop, error] = std::from_chars(at, end, value);
      if (error != std::errc()) return;
      at = stop + 1;
    }
    is_known_ = true;
  }

  std::array<std::int64_t, last - first + 1> values_ = {};
  bool is_known_ = false;
};

std::optional<double> open_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
  if (folder == nullptr) return std::nullopt;
  double count = -1;  // the folder's own
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count;
}

}  // namespace

void append_process_metrics(std::vector<metric>& all) {
  using enum metric::kind;
  all.push_back({"process_cpu_seconds_total", "CPU time of the process.", counter,
                 seconds_of(CLOCK_PROCESS_CPUTIME_ID)});
  if (const process_status status; status.is_known()) {
    // Computed once: the two clocks are not read at the same moment.
    static const double start = seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME) +
                                status[process_status::start_ticks] / ticks_per_second();
    all.push_back(
        {"process_start_time_seconds", "When the process began, since 1970.", gauge, start});
    all.push_back({"process_virtual_memory_bytes", "Address space of the process.", gauge,
                   status[process_status::virtual_bytes]});
    all.push_back({"process_resident_memory_bytes", "Memory of the process.", gauge,
                   status[process_status::pages] * static_cast<double>(::sysconf(_SC_PAGESIZE))});
    all.push_back(
        {"process_threads", "Threads of the process.", gauge, status[process_status::threads]});
  }
  if (const std::optional<double> count = open_descriptors()) {
    all.push_back({"process_open_fds", "Open descriptors.", gauge, *count});
  }
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    all.push_back({"process_max_fds", "The most descriptors that may be open.", gauge,
                   static_cast<double>(limit.rlim_cur)});
  }
}

}  // namespace sley::debug
