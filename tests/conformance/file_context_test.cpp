// Aim: a context ends the waits of files that are no regular ones: for the other end of a FIFO, and
// for what comes through it. Method: FIFOs whose other ends come late, or never.
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/os.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>

using sley::context;
using sley::os::file;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::leak_check;
using sley_test::let_others_run;

namespace {

// A FIFO of its own, gone at the end.
class fifo {
 public:
  fifo() {
    static std::atomic<int> count = 0;
    path_ = "/tmp/sley_fifo_" + std::to_string(::getpid()) + '_' + std::to_string(++count);
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0) << path_;
  }
  ~fifo() { ::unlink(path_.c_str()); }
  fifo(const fifo&) = delete;
  fifo& operator=(const fifo&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace

// An open that is given up goes on, in a goroutine of its own, and may not even have begun. It ends
// while the FIFO's other end is open, so a test keeps that until its own leak_check is content.

GO_TEST(file_context, an_open_that_was_given_up_closes_its_descriptor) {
  const fifo f;
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group group;
  group.add(1);
  go_until_parked([&, c = ctx] {
    std::error_code error;
    EXPECT_FALSE(file::open(f.path(), O_RDONLY, c, error).is_open());
    EXPECT_EQ(error, sley::context_errc::canceled);
    group.done();
  });
  cancel();
  group.wait();
  const file writer = file::open(f.path(), O_WRONLY);  // the call that was given up lets it through
  EXPECT_TRUE(eventually([&] {
    std::error_code error;
    writer.write_some("x", error);
    return error == std::errc::broken_pipe;  // its descriptor was the only reader
  }));
}

GO_TEST(file_context, an_open_throws_the_error_of_its_context) {
  const fifo f;
  file reader;
  const leak_check given_up;
  const auto [ctx, cancel] = sley::with_timeout({}, std::chrono::milliseconds(1));
  try {
    file::open(f.path(), O_WRONLY, ctx);
    ADD_FAILURE() << "it is open";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), sley::context_errc::deadline_exceeded);
    EXPECT_NE(std::string(e.what()).find(f.path()), std::string::npos) << e.what();
  }
  reader = file::open(f.path(), O_RDONLY | O_NONBLOCK);
}

GO_TEST(file_context, an_open_succeeds_while_its_context_lives) {
  const fifo f;
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group group;
  group.go([&, c = ctx] {
    const file writer = file::open(f.path(), O_WRONLY, c);
    writer.write_all("hello", c);
  });
  EXPECT_EQ(sley::os::read_file(f.path(), ctx), "hello");
  group.wait();
  std::error_code error;
  EXPECT_FALSE(file::open("/no/such/file", O_RDONLY, ctx, error).is_open());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
}

GO_TEST(file_context, ends_a_read_of_all_that_comes) {
  const fifo f;
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group group;
  group.go([&, c = ctx] {
    std::error_code error;
    EXPECT_EQ(sley::os::read_file(f.path(), c, error), "");
    EXPECT_EQ(error, sley::context_errc::canceled);
  });
  const file writer = file::open(f.path(), O_WRONLY);
  writer.write_all("a beginning");
  let_others_run();
  cancel();
  group.wait();
}

GO_TEST(file_context, ends_a_write_to_a_full_fifo) {
  const fifo f;
  const file reader = file::open(f.path(), O_RDONLY | O_NONBLOCK);
  const leak_check given_up;
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group group;
  for (const bool appends : {false, true}) {
    group.go([&, appends, c = ctx] {
      const std::string more_than_fits(1 << 20, 'x');
      std::error_code error;
      if (appends) {
        sley::os::append(f.path(), more_than_fits, {}, c, error);
      } else {
        sley::os::write_file(f.path(), more_than_fits, {}, c, error);
      }
      EXPECT_EQ(error, sley::context_errc::canceled);
    });
  }
  let_others_run();
  cancel();
  group.wait();
}

// What a thread has set for itself counts: here, the directory that it works in.
GO_TEST(file_context, a_locked_goroutine_opens_on_its_own_thread) {
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group group;
  group.go([c = ctx] {
    sley::this_goroutine::lock_os_thread();  // the thread ends with the goroutine
    ASSERT_EQ(::unshare(CLONE_FS), 0);
    ASSERT_EQ(::chdir("/proc/self"), 0);
    std::error_code error;
    EXPECT_TRUE(file::open("limits", O_RDONLY, c, error).is_open()) << error.message();
  });
  group.wait();
}
