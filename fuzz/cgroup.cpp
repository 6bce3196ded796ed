// Whatever the files of cgroups hold, the limit that is read from them is none or a sane one, it is
// the same when it is read again, and no descriptor is left open. Run by `./dev fuzz cgroup
// SECONDS`. The input: mountinfo, cgroup, cpu.max, cpu.cfs_quota_us and cpu.cfs_period_us, with
// zero bytes between them.
#include "expect.hpp"
#include "platform/cpu_limit.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using sley::platform::cpu_limit;
using sley::platform::cpu_quota;
using sley::platform::max_automatic_procs;
using sley_fuzz::expect;

// A system's files, below a folder of its own in memory.
class fake_system {
 public:
  fake_system() : root_(make_folder()) {
    fs::create_directories(root_ + "/proc/self");
    fs::create_directories(root_ + "/cg/a/b");
    fs::create_directories(root_ + "/v1/a/b");
  }
  ~fake_system() { fs::remove_all(root_); }

  const std::string& root() const { return root_; }
  void write(const char* path, std::string_view text) const {
    const int fd = ::open((root_ + path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    expect(fd >= 0, "the file can be written", path);
    expect(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "all of it");
    ::close(fd);
  }

 private:
  static std::string make_folder() {
    char name[] = "/dev/shm/sley_fuzz_XXXXXX";
    expect(::mkdtemp(name) != nullptr, "there is a folder for files");
    return name;
  }
  std::string root_;
};

int next_descriptor() {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(fd);
  return fd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fake_system system;
  sley_fuzz::parts input(data, size);
  const int next = next_descriptor();
  system.write("/proc/self/mountinfo", input.next());
  system.write("/proc/self/cgroup", input.next());
  const std::string_view max = input.next();
  system.write("/cg/cpu.max", max);
  system.write("/cg/a/cpu.max", input.empty() ? max : input.rest());
  const std::string_view quota = input.next();
  const std::string_view period = input.next();
  system.write("/v1/cpu.cfs_quota_us", quota);
  system.write("/v1/cpu.cfs_period_us", period);
  system.write("/v1/a/b/cpu.cfs_quota_us", quota);
  system.write("/v1/a/b/cpu.cfs_period_us", period);
  const cpu_limit limit(system.root());
  const cpu_quota found = limit.read();
  expect(found.is_limited() || found == cpu_quota(), "it is a limit or none");
  expect(found == limit.read() && found == cpu_limit(system.root()).read(), "the same again");
  for (const std::uint32_t cpus : {0U, 1U, 2U, 64U, UINT32_MAX}) {
    const std::uint32_t procs = sley::platform::procs_for(cpus, found);
    expect(procs >= 1 && procs <= max_automatic_procs, "a sane number of processors");
  }
  expect(next_descriptor() == next, "no descriptor is left open");
  return 0;
}
