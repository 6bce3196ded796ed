// The kernels and sandboxes of support/kernels.hpp refuse what they should, and the library works
// on each of them and says no more than it must. tests/kernels runs more programs on them.
#include "support/kernels.hpp"

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/use_everything.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

using sley_test::run_child;
using sley_test::skipped;

namespace {

// The errors of some system calls, by name; 0: it has not failed. None of them does anything.
std::map<std::string, int> errors_of_calls() {
  constexpr long number_of_futex_waitv = 449;
  constexpr long number_of_cachestat = 451;
  constexpr int guard_install = 102;
  std::map<std::string, int> errors;
  const auto call = [&errors](const char* name, long number, auto... arguments) {
    errors[name] = ::syscall(number, arguments...) < 0 ? errno : 0;
  };
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  call("guard", SYS_madvise, page, bytes, guard_install);
  ::munmap(page, bytes);
  call("guards", SYS_process_madvise, -1, nullptr, 0, guard_install, 0);
  call("clone3", SYS_clone3, nullptr, 0);
  call("close_range", SYS_close_range, ~0U, 0, 0);
  call("openat2", SYS_openat2, -1, nullptr, nullptr, 0);
  call("epoll_pwait2", SYS_epoll_pwait2, -1, nullptr, 0, nullptr, nullptr, 0);
  call("futex_waitv", number_of_futex_waitv, nullptr, 0, 0, nullptr, 0);
  call("cachestat", number_of_cachestat, -1, nullptr, nullptr, 0);
  call("membarrier", SYS_membarrier, 0, 0, 0);
  call("unshare", SYS_unshare, 0);
  call("timerslack", SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);
  return errors;
}

std::map<std::string, int> read_errors(const std::string& text) {
  std::map<std::string, int> errors;
  std::istringstream lines(text);
  std::string name;
  for (int error = 0; lines >> name >> error;) errors[name] = error;
  return errors;
}

const std::map<std::string_view, std::map<std::string, int>> refused = {
    {"linux-5.4",
     {{"guard", EINVAL},
      {"guards", ENOSYS},
      {"close_range", ENOSYS},
      {"openat2", ENOSYS},
      {"epoll_pwait2", ENOSYS},
      {"futex_waitv", ENOSYS},
      {"cachestat", ENOSYS}}},
    {"linux-5.10",
     {{"guard", EINVAL},
      {"guards", EINVAL},
      {"epoll_pwait2", ENOSYS},
      {"futex_waitv", ENOSYS},
      {"cachestat", ENOSYS}}},
    {"linux-5.15",
     {{"guard", EINVAL}, {"guards", EINVAL}, {"futex_waitv", ENOSYS}, {"cachestat", ENOSYS}}},
    {"linux-6.1", {{"guard", EINVAL}, {"guards", EINVAL}, {"cachestat", ENOSYS}}},
    {"linux-6.12", {{"guard", EINVAL}, {"guards", EINVAL}}},
    {"docker", {{"guards", EPERM}, {"clone3", ENOSYS}, {"unshare", EPERM}}},
    {"gvisor",
     {{"guard", EINVAL},
      {"guards", ENOSYS},
      {"futex_waitv", ENOSYS},
      {"cachestat", ENOSYS},
      {"membarrier", ENOSYS},
      {"timerslack", EINVAL}}},
    {"least",
     {{"guard", EPERM},
      {"guards", EPERM},
      {"openat2", EPERM},
      {"membarrier", EPERM},
      {"timerslack", EINVAL}}},
};

// Becomes a child as on the kernel that the test names.
int become_on_kernel(const char* name) {
  if (!sley_test::refuse(
          sley_test::find_kernel_profile(sley_test::setting("SLEY_TEST_KERNEL"))->refusals)) {
    return skipped;
  }
  sley_test::become_child(name);
  return 99;
}

sley_test::child_result run_on(const sley_test::kernel_profile& kernel, const char* name) {
  return run_child(name, {{"SLEY_TEST_KERNEL", std::string(kernel.name)}});
}

}  // namespace

CHILD_MAIN(tells_errors_of_calls) {
  for (const auto& [name, error] : errors_of_calls()) std::printf("%s %d\n", name.c_str(), error);
  return 7;
}
CHILD_MAIN(tells_errors_of_calls_on_kernel) { return become_on_kernel("tells_errors_of_calls"); }

TEST(kernels, refuse_what_they_have_not_and_nothing_else) {
  for (const auto& kernel : sley_test::kernel_profiles()) {
    const auto child = run_on(kernel, "tells_errors_of_calls_on_kernel");
    if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
    auto expected = errors_of_calls();  // of the kernel here
    for (const auto& [name, error] : refused.at(kernel.name)) expected[name] = error;
    EXPECT_EQ(read_errors(child.out), expected) << kernel.name << ": " << child;
  }
}

CHILD_MAIN(uses_everything) {
  return sley::run([] {
    for (int i = 0; i < 3; ++i) sley_test::use_everything();
    return sley_test::verdict();
  });
}
CHILD_MAIN(uses_everything_on_kernel) { return become_on_kernel("uses_everything"); }

TEST(kernels, are_enough_and_only_a_missing_membarrier_is_told_of) {
  for (const auto& kernel : sley_test::kernel_profiles()) {
    const auto child = run_on(kernel, "uses_everything_on_kernel");
    if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
    EXPECT_EQ(child.status, 7) << kernel.name << ": " << child;
    if (refused.at(kernel.name).contains("membarrier")) {
      sley_test::expect_one_line(child, "without membarrier");
    } else {
      EXPECT_EQ(child.err, "") << kernel.name << ": " << child;
    }
  }
}
