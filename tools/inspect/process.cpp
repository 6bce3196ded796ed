// A process that goes on: its memory is read by process_vm_readv(2), which neither stops nor tells
// it.
#include "inspect/target.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
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
    std::ifstream stat(folder_ + "task/" + std::to_string(thread_id) + "/stat");
    std::string line;
    std::getline(stat, line);
    const std::size_t end_of_name = line.rfind(") ");
    return end_of_name != std::string::npos && line.size() > end_of_name + 2 &&
           (line[end_of_name + 2] == 'S' || line[end_of_name + 2] == 'D');
  }

  bool is_running() const noexcept override { return true; }

 private:
  std::string name() const { return std::to_string(pid_); }

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
};

}  // namespace

std::unique_ptr<target> open_process(int pid) { return std::make_unique<process>(pid); }

}  // namespace sley::inspect
