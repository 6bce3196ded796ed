// Sandboxes that refuse system calls of the library: it does without, or says what it lacks. Calls
// that are refused from the first instruction on, and have a way around, are in
// death/fallback_test.cpp.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/refuse.hpp"
#include "support/temporary_folder.hpp"
#include "support/use_everything.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using sley_test::refusal;
using sley_test::run_child;
using sley_test::skipped;
using namespace std::chrono_literals;

namespace {

// Runs everything, and the system calls of the network, with these refused from now on.
int work_without(std::initializer_list<refusal> refusals) {
  if (!sley_test::refuse(refusals)) return skipped;
  return sley::run([] {
    sley_test::use_everything();
    const auto [one, other] = sley::net::unix_stream::pair();
    one.set_read_deadline(std::chrono::steady_clock::now() + 1ms);
    std::array<std::byte, 1> byte;
    std::error_code error;
    one.read_some(byte, error);
    EXPECT_EQ(error, std::errc::timed_out);
    return sley_test::verdict();
  });
}

void expect_works(const char* child_name, const sley_test::environment& additions = {}) {
  const auto child = run_child(child_name, additions);
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

}  // namespace

CHILD_MAIN(works_without_io_uring) {
  return work_without(
      {{SYS_io_uring_setup, EPERM}, {SYS_io_uring_enter, EPERM}, {SYS_io_uring_register, EPERM}});
}
// Batches are open before the kernel takes none.
CHILD_MAIN(works_without_batches) {
  return sley::run([] {
    if (!sley_test::refuse({{SYS_io_uring_enter, ENOMEM}})) return skipped;
    sley::wait_group group;
    for (int i = 0; i < 16; ++i) {
      group.go([] {
        const auto [one, other] = sley::net::unix_stream::pair();
        for (int round = 0; round < 100; ++round) {
          one.write_all(sley_test::bytes_of("stream"));
          EXPECT_EQ(sley_test::read_exactly(other, 6), "stream");
        }
      });
    }
    group.wait();
    return sley_test::verdict();
  });
}
// Advice to the scheduler of the kernel.
CHILD_MAIN(works_without_advice) {
  return work_without({{SYS_sched_setattr, EPERM},
                       {SYS_sched_getattr, EPERM},
                       {.number = SYS_prctl,
                        .error = EPERM,
                        .argument = 0,
                        .bits = ~0U,
                        .value = PR_SET_TIMERSLACK}});
}
// Memory that is given back stays then.
CHILD_MAIN(works_without_madvise) { return work_without({{SYS_madvise, EINVAL}}); }
CHILD_MAIN(works_without_affinity) { return work_without({{SYS_sched_getaffinity, EPERM}}); }

TEST(sandbox, without_io_uring_nothing_changes) { expect_works("works_without_io_uring"); }
TEST(sandbox, without_io_uring_calls_are_made_alone) {
  const auto child = run_child("works_without_io_uring", {{"SLEYDEBUG", "uring=1"}});
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  sley_test::expect_one_line(child,
                             "SLEYDEBUG=uring=1 ignored: io_uring_setup: Operation not permitted");
}
TEST(sandbox, without_io_uring_enter_calls_are_made_alone) {
  expect_works("works_without_batches", {{"SLEYDEBUG", "uring=1"}});
}
TEST(sandbox, without_advice_to_the_kernel_everything_works) {
  expect_works("works_without_advice");
  expect_works("works_without_affinity");
}
TEST(sandbox, without_madvise_everything_works) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "the sanitizer insists on it";
  expect_works("works_without_madvise");
}

// By way of the process's memory then.
CHILD_MAIN(copies_without_sendfile_and_splice) {
  if (!sley_test::refuse({{SYS_sendfile, EPERM}, {SYS_splice, EPERM}})) return skipped;
  return sley::run([] {
    const auto [source, from] = sley::net::unix_stream::pair();
    const auto [to, sink] = sley::net::unix_stream::pair();
    source.write_all(sley_test::bytes_of("stream"));
    source.shutdown_write();
    EXPECT_EQ(sley::net::copy(from, to), 6U);
    const auto program = sley::os::file::open("/proc/self/exe", O_RDONLY);
    EXPECT_EQ(sley::net::copy(program, to, 4), 4U);
    to.shutdown_write();
    EXPECT_EQ(sley_test::read_to_end(sink), "stream\177ELF");
    return sley_test::verdict();
  });
}

TEST(sandbox, copies_need_neither_sendfile_nor_splice) {
  expect_works("copies_without_sendfile_and_splice");
}

// The new file's name is numbered then, and another writer may have the first number.
CHILD_MAIN(replaces_a_file_without_getrandom) {
  if (!sley_test::refuse({{SYS_getrandom, EPERM}})) return skipped;
  return sley::run([] {
    const sley_test::temporary_folder folder;
    sley::os::write_file((folder / ".sley-0000000000000000").string(), "another's");
    const std::string path = (folder / "file").string();
    sley::os::write_file(path, "old");
    sley::os::write_file(path, "new", {.atomic = true});
    EXPECT_EQ(sley::os::read_file(path), "new");
    return sley_test::verdict();
  });
}

TEST(sandbox, files_are_replaced_without_random_names) {
  expect_works("replaces_a_file_without_getrandom");
}

// --- without a way around ------------------------------------------------------------------------

CHILD_MAIN(starts_without_threads) {
  if (!sley_test::refuse({{SYS_clone, EAGAIN}, {SYS_clone3, EAGAIN}})) return skipped;
  return sley::run([] { return 7; });
}
CHILD_MAIN(starts_without_epoll) {
  if (!sley_test::refuse({{SYS_epoll_create1, EPERM}})) return skipped;
  return sley::run([] { return 7; });
}
CHILD_MAIN(starts_without_eventfd) {
  if (!sley_test::refuse({{SYS_eventfd2, EPERM}})) return skipped;
  return sley::run([] { return 7; });
}
CHILD_MAIN(waits_without_ppoll) {
  if (!sley_test::refuse({{SYS_ppoll, EPERM}})) return skipped;
  return sley::run([] {
    sley_test::use_everything();
    return 7;
  });
}
// The filter of a program that locks itself up once it has started.
CHILD_MAIN(forbids_membarrier_later) {
  return sley::run([] {
    sley_test::use_channels();
    if (!sley_test::refuse({{SYS_membarrier, EPERM}})) return skipped;
    for (int i = 0; i < 100; ++i) sley_test::use_everything();
    return 7;
  });
}

TEST(sandbox, a_missing_necessity_is_a_fatal_error_that_names_it) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers make threads of their own";
  for (const auto& [name, words] : {std::pair("starts_without_threads", "RLIMIT_NPROC"),
                                    {"starts_without_epoll", "epoll or eventfd is refused"},
                                    {"starts_without_eventfd", "epoll or eventfd is refused"},
                                    {"waits_without_ppoll", "ppoll(2) is refused"},
                                    {"forbids_membarrier_later", "membarrier"}}) {
    const auto child = run_child(name);
    if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
    EXPECT_TRUE(child.failed()) << name << ": " << child;
    EXPECT_NE(child.err.find(words), std::string::npos) << name << ": " << child;
  }
}

// --- processes -----------------------------------------------------------------------------------

CHILD_MAIN(starts_processes_without_pidfd_open) {
  if (!sley_test::refuse({{SYS_pidfd_open, ENOSYS}})) return skipped;
  return sley::run([] {
    sley_test::use_everything();
    EXPECT_EQ(sley::os::run({.program = "echo", .arguments = {"x"}}).output, "x\n");
    return sley_test::verdict();
  });
}

TEST(sandbox, processes_need_no_pidfd_open) { expect_works("starts_processes_without_pidfd_open"); }

// As a kernel before 5.4 does.
CHILD_MAIN(starts_processes_without_waiting_by_pidfd) {
  if (!sley_test::refuse(
          {{.number = SYS_waitid, .error = EINVAL, .argument = 0, .bits = ~0U, .value = 3}})) {
    return skipped;
  }
  return sley::run([] {
    std::error_code error;
    const auto process = sley::os::process::start({.program = "true"}, error);
    EXPECT_FALSE(error) << error.message();
    process.wait(error);
    EXPECT_EQ(error, std::errc::invalid_argument);
    return sley_test::verdict();
  });
}

TEST(sandbox, without_waits_by_pidfd_the_end_of_a_process_is_an_error) {
  expect_works("starts_processes_without_waiting_by_pidfd");
}

CHILD_MAIN(starts_processes_without_clone) {
  return sley::run([] {
    sley_test::use_everything();  // the threads are there
    if (!sley_test::refuse({{SYS_clone, EAGAIN}, {SYS_clone3, EAGAIN}})) {
      return skipped;
    }
    std::error_code error;
    const auto process = sley::os::process::start({.program = "cat"}, error);
    EXPECT_EQ(error, std::errc::resource_unavailable_try_again);
    return sley_test::verdict();
  });
}

TEST(sandbox, a_process_that_cannot_be_started_is_an_error) {
  if (sley_test::under_asan) GTEST_SKIP() << "its leak checker makes a thread";
  const auto child = run_child("starts_processes_without_clone");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
}

// --- daemon(3) -----------------------------------------------------------------------------------

CHILD_MAIN(becomes_a_daemon_before) {
  if (::daemon(1, 1) != 0) return 3;
  return sley::run([] {
    sley_test::use_everything();
    return sley_test::verdict();
  });
}
CHILD_MAIN(becomes_a_daemon_after) {
  sley::run([] { sley_test::use_channels(); });
  if (::daemon(1, 1) != 0) return 3;
  return sley::run([] { return 7; });
}

// The parent has status 0; what the daemon itself says comes by stderr, until it ends.
TEST(sandbox, daemons_are_made_before_the_library_is_used) {
  const auto before = run_child("becomes_a_daemon_before");
  EXPECT_EQ(before.err, "") << before;
  if (sley_test::under_tsan) return;  // it has its own rules for forks
  const auto after = run_child("becomes_a_daemon_after");
  EXPECT_TRUE(after.err.find("used after fork()") != std::string::npos) << after;
}
