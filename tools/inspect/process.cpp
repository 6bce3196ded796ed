// A process that goes on: its memory is read by process_vm_readv(2), which neither stops nor tells
// it.
#include "inspect/target.hpp"

#include "platform/proc_file.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace sley::inspect {

namespace {

class process final : public target {
 public:
  explicit process(int pid) : pid_(pid), folder_("/proc/" + std::to_string(pid) + '/') {
    std::ifstream maps(folder_ + "maps");
    if (::kill(pid, 0) != 0 && errno == ESRCH) throw failure("there is no process " + name());
    std::vector<file_mapping> mappings;
    for (std::string line; std::getline(maps, line);) add_mapping(line, mappings);
    set_modules(mappings);
    if (modules().empty()) {
      throw failure("process " + name() + " can't be read: it has ended, or it is not yours");
    }
    look_whether_readable();
  }

  bool read(std::span<const memory_part> parts) const override {
    std::vector<iovec> here;
    std::vector<iovec> there;
    std::size_t bytes = 0;
    for (const memory_part& p : parts) {
      here.push_back({p.to, p.size});
      there.push_back({reinterpret_cast<void*>(p.address), p.size});
      bytes += p.size;
    }
    const ssize_t n =
        ::process_vm_readv(pid_, here.data(), here.size(), there.data(), there.size(), 0);
    return n == static_cast<ssize_t>(bytes);
  }

  std::optional<platform::frame_registers> registers_of(int) const override { return std::nullopt; }

  bool is_asleep(int thread_id) const override {
    char text[256];
    const std::string path = folder_of(thread_id) + "stat";
    const auto fields = platform::stat_after_name(path.c_str(), text, sizeof text);
    return fields.starts_with('S') || fields.starts_with('D');
  }

  // The number is read after the place. If both are the same twice, the thread sleeps when its
  // place is read for the second time, in the sleep of that number. That sleep had begun before the
  // number was first read, so it has lasted all the time.
  std::optional<thread_sleep> sleep_of(int thread_id) const override {
    const std::string folder = folder_of(thread_id);
    thread_sleep s;
    if (!platform::read_sleeping_place((folder + "syscall").c_str(), s.at)) return std::nullopt;
    const std::string number = line_of_status(folder, "voluntary_ctxt_switches:");
    if (number.empty()) return std::nullopt;
    s.number = std::strtoull(number.c_str(), nullptr, 10);
    return s;
  }

  bool is_running() const noexcept override { return true; }

 private:
  std::string name() const { return std::to_string(pid_); }

  // What is behind the name in a thread's or process's file. Empty if it does not have the name.
  static std::string line_of_status(const std::string& folder, std::string_view name) {
    std::ifstream status(folder + "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(name)) return line.substr(name.size());
    }
    return {};
  }

  // "NSpid:\t4711\t12": the number of a thread or process here, 4711, and that in each namespace
  // down to its own, where it is 12. Empty in old kernels.
  static std::vector<int> numbers_of(const std::string& folder) {
    std::istringstream line(line_of_status(folder, "NSpid:"));
    return {std::istream_iterator<int>(line), {}};
  }

  // The process knows its threads by the numbers that they have in its own namespace.
  std::string folder_of(int thread_id) const {
    if (!is_in_a_namespace_) return folder_of_task(thread_id);
    const auto found = threads_here_.find(thread_id);
    if (found != threads_here_.end() && is_thread(found->second, thread_id)) {
      return folder_of_task(found->second);
    }
    threads_here_.clear();
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(folder_ + "task", error)) {
      const std::vector<int> numbers = numbers_of(task.path().string() + '/');
      if (!numbers.empty()) threads_here_[numbers.back()] = numbers.front();
    }
    return folder_of_task(threads_here_[thread_id]);
  }
  std::string folder_of_task(int number_here) const {
    return folder_ + "task/" + std::to_string(number_here) + '/';
  }
  bool is_thread(int number_here, int thread_id) const {
    const std::vector<int> numbers = numbers_of(folder_of_task(number_here));
    return !numbers.empty() && numbers.back() == thread_id;
  }

  // "55d0c8a00000-55d0c8a21000 r-xp 00021000 fd:00 1234   /usr/bin/app"
  void add_mapping(const std::string& line, std::vector<file_mapping>& to) const {
    std::istringstream words(line);
    std::string addresses;
    std::string rights;
    std::string device;
    file_mapping m;
    std::uint64_t inode = 0;
    words >> addresses >> rights >> std::hex >> m.offset >> device >> std::dec >> inode >> std::ws;
    std::getline(words, m.path);
    const std::size_t dash = addresses.find('-');
    if (!m.path.starts_with('/') || inode == 0 || dash == std::string::npos) return;
    m.begin = std::stoull(addresses.substr(0, dash), nullptr, 16);
    m.end = std::stoull(addresses.substr(dash + 1), nullptr, 16);
    m.file = file_of(addresses, m.path);
    to.push_back(std::move(m));
  }

  // The kernel's link leads to the file that is mapped, whatever is at its path by now, but not for
  // every user.
  std::string file_of(const std::string& addresses, const std::string& path) const {
    const std::string link = folder_ + "map_files/" + addresses;
    return std::ifstream(link) ? link : folder_ + "root" + path;
  }

  void look_whether_readable() const {
    std::byte byte;
    if (target::read(modules().front().begin, &byte, sizeof byte)) return;
    if (errno != EPERM)
      throw failure("process " + name() + " can't be read: " + std::strerror(errno));
    throw failure("process " + name() +
                  " may not be read: that takes its own user and kernel.yama.ptrace_scope = 0, or "
                  "root, or CAP_SYS_PTRACE");
  }

  int pid_;
  std::string folder_;
  bool is_in_a_namespace_ = numbers_of(folder_).size() > 1;
  mutable std::map<int, int> threads_here_;  // by the numbers in the process's own namespace
};

}  // namespace

std::unique_ptr<target> open_process(int pid) { return std::make_unique<process>(pid); }

}  // namespace sley::inspect
