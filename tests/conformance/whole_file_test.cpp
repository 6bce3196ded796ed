// os::read_file, write_file and append. The rows of Go's tests stand beside the tests.
#include "support/harness.hpp"
#include "support/temporary_folder.hpp"

#include <sley/os.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

using sley::os::append;
using sley::os::read_file;
using sley::os::write_file;
using namespace std::string_literals;

namespace {

class directory {
 public:
  std::string operator/(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      found.push_back(entry.path().filename());
    }
    return found;
  }

 private:
  sley_test::temporary_folder folder_;
};

unsigned mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777U;
}

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const std::system_error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

std::string large_text() {
  std::string text;
  for (int i = 0; text.size() < 3'000'000; ++i) text += std::to_string(i);
  return text;
}

}  // namespace

// TestReadFile, TestWriteFile
GO_TEST(whole_file, comes_back_as_it_was_written) {
  const directory d;
  for (const std::string& text : {""s, "x"s, "zero \0 inside\n"s, std::string(4096, 'p'),
                                  std::string(4097, 'q'), large_text()}) {
    for (const bool atomic : {false, true}) {
      for (const bool sync : {false, true}) {
        write_file(d / "file", text, {.atomic = atomic, .sync = sync});
        EXPECT_EQ(read_file(d / "file"), text);
      }
    }
  }
  EXPECT_EQ(d.names(), std::vector<std::string>{"file"}) << "nothing is left beside it";
}

GO_TEST(whole_file, a_shorter_text_replaces_all_of_a_longer_one) {
  const directory d;
  for (const bool atomic : {false, true}) {
    write_file(d / "file", "a long text", {.atomic = atomic});
    write_file(d / "file", "short", {.atomic = atomic});
    EXPECT_EQ(read_file(d / "file"), "short");
  }
}

// TestReadFileProc
GO_TEST(whole_file, files_without_a_size_are_read_to_their_end) {
  EXPECT_NE(read_file("/proc/self/status").find("Pid:"), std::string::npos);
  EXPECT_EQ(read_file("/dev/null"), "");
  const directory d;
  ASSERT_EQ(::mkfifo((d / "fifo").c_str(), 0600), 0);
  sley::wait_group group;
  const std::string text = large_text();
  group.go([&] { write_file(d / "fifo", text); });
  EXPECT_EQ(read_file(d / "fifo"), text);
  group.wait();
}

GO_TEST(whole_file, errors_name_the_file) {
  const directory d;
  EXPECT_EQ(message_of([&] { read_file(d / "none"); }),
            "sley: read \"" + d / "none" + "\": No such file or directory");
  EXPECT_EQ(message_of([&] { write_file(d / "none/file", "x"); }),
            "sley: write \"" + d / "none/file" + "\": No such file or directory");
  EXPECT_EQ(message_of([&] { write_file(d / "none/file", "x", {.atomic = true}); }),
            "sley: write \"" + d / "none/file" + "\": No such file or directory");
  EXPECT_EQ(message_of([&] { append(d / "none/file", "x"); }),
            "sley: append to \"" + d / "none/file" + "\": No such file or directory");
  std::error_code error;
  for (const std::string& path : {"/tmp"s, "/"s, d / ""s}) {
    read_file(path, error);
    EXPECT_EQ(error, std::errc::is_a_directory) << path;
    write_file(path, "x", {}, error);
    EXPECT_EQ(error, std::errc::is_a_directory) << path;
    write_file(path, "x", {.atomic = true}, error);
    EXPECT_EQ(error, std::errc::not_supported) << path;
  }
  for (const auto& write :
       {+[](std::string_view p, std::error_code& e) { write_file(p, "x", {}, e); },
        +[](std::string_view p, std::error_code& e) { write_file(p, "x", {.atomic = true}, e); },
        +[](std::string_view p, std::error_code& e) { append(p, "x", {}, e); },
        +[](std::string_view p, std::error_code& e) { read_file(p, e); }}) {
    write((d / "a\0b"s), error);
    EXPECT_EQ(error, std::errc::invalid_argument);
    write("", error);
    EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  }
  EXPECT_EQ(d.names(), std::vector<std::string>());
}

// ---- what atomic means ----

GO_TEST(whole_file, readers_of_an_atomic_file_see_one_text_or_the_other) {
  const directory d;
  const std::string a(100'000, 'a'), b(200'000, 'b');
  write_file(d / "file", a);
  std::atomic<bool> is_over = false;
  sley::wait_group group;
  group.go([&] {
    for (int i = 0; i < sley_test::rounds(200); ++i) {
      write_file(d / "file", i % 2 == 0 ? b : a, {.atomic = true});
    }
    is_over = true;
  });
  while (!is_over) {
    const std::string seen = read_file(d / "file");
    ASSERT_TRUE(seen == a || seen == b) << seen.size();
  }
  group.wait();
  EXPECT_EQ(d.names().size(), 1U);
}

GO_TEST(whole_file, an_atomic_write_that_fails_leaves_the_old_text_and_nothing_beside_it) {
  const directory d;
  write_file(d / "file", "old", {.atomic = true});
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {100'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::error_code error;
  write_file(d / "file", large_text(), {.atomic = true}, error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, std::errc::file_too_large);
  EXPECT_EQ(read_file(d / "file"), "old");
  EXPECT_EQ(d.names(), std::vector<std::string>{"file"});
}

GO_TEST(whole_file, an_atomic_write_keeps_permissions_and_links) {
  const directory d;
  write_file(d / "file", "old");
  ::chmod((d / "file").c_str(), 0640);
  ASSERT_EQ(::symlink("file", (d / "link").c_str()), 0);
  ASSERT_EQ(::symlink((d / "new").c_str(), (d / "leads to nothing").c_str()), 0);
  write_file(d / "link", "new", {.mode = 0666, .atomic = true});
  EXPECT_EQ(read_file(d / "file"), "new");
  EXPECT_EQ(mode_of(d / "file"), 0640U);
  write_file(d / "leads to nothing", "made", {.atomic = true});
  EXPECT_EQ(read_file(d / "new"), "made");
  struct stat status = {};
  for (const char* name : {"link", "leads to nothing"}) {
    EXPECT_EQ(::lstat((d / name).c_str(), &status), 0);
    EXPECT_TRUE(S_ISLNK(status.st_mode)) << name;
  }
  ASSERT_EQ(::symlink("loop", (d / "loop").c_str()), 0);
  std::error_code error;
  write_file(d / "loop", "x", {.atomic = true}, error);
  EXPECT_EQ(error, std::errc::too_many_symbolic_link_levels);
}

GO_TEST(whole_file, a_new_file_gets_its_mode_less_the_umask) {
  const directory d;
  const mode_t mask = ::umask(027);
  write_file(d / "plain", "x", {.mode = 0666});
  write_file(d / "atomic", "x", {.mode = 0600, .atomic = true});
  append(d / "appended", "x", {.mode = 0777});
  ::umask(mask);
  EXPECT_EQ(mode_of(d / "plain"), 0640U);
  EXPECT_EQ(mode_of(d / "atomic"), 0600U);
  EXPECT_EQ(mode_of(d / "appended"), 0750U);
}

GO_TEST(whole_file, devices_are_never_replaced) {
  std::error_code error;
  write_file("/dev/null", "x", {.atomic = true}, error);
  EXPECT_EQ(error, std::errc::not_supported);
  struct stat status = {};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  write_file("/dev/null", "x");
}

GO_TEST(whole_file, a_name_of_the_longest_kind_can_be_replaced) {
  const directory d;
  const std::string path = d / std::string(255, 'n');
  write_file(path, "one", {.atomic = true});
  write_file(path, "two", {.atomic = true});
  EXPECT_EQ(read_file(path), "two");
}

// ---- appending ----

GO_TEST(whole_file, lines_that_many_append_do_not_mix) {
  const directory d;
  constexpr int writers = 8;
  const int count = sley_test::rounds(300);
  sley::wait_group group;
  for (int w = 0; w < writers; ++w) {
    group.go([&, w] {
      const std::string line(static_cast<std::size_t>(50 + w), static_cast<char>('a' + w));
      for (int i = 0; i < count; ++i) append(d / "log", line + '\n', {.sync = i == 0});
    });
  }
  group.wait();
  std::vector<int> seen(writers);
  const std::string all = read_file(d / "log");
  for (std::size_t at = 0; at < all.size();) {
    const int w = all[at] - 'a';
    const std::size_t end = all.find('\n', at);
    ASSERT_EQ(end - at, static_cast<std::size_t>(50 + w));
    ASSERT_EQ(all.find_first_not_of(all[at], at), end);
    ++seen[static_cast<std::size_t>(w)];
    at = end + 1;
  }
  EXPECT_EQ(seen, std::vector<int>(writers, count));
}
