// Aim: ps, top, gdb and perf tell the library's threads apart, and the program's threads keep their
// names. Method: the kernel's list of this process's threads.
#include "support/harness.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>
#include <sley/os.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

using sley_test::matches;

namespace {

std::string name_of_thread(const std::string& id) {
  std::ifstream file("/proc/self/task/" + id + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::string name_of_this_thread() { return name_of_thread(std::to_string(::gettid())); }

std::vector<std::string> names_of_all_threads() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    names.push_back(name_of_thread(task.path().filename()));
  }
  return names;
}

std::ptrdiff_t count_of(std::string_view name) {
  return std::ranges::count(names_of_all_threads(), name);
}

// A new thread has the name of the thread that made it until it has run.
bool is_there_once(std::string_view name) {
  return sley_test::eventually([name] { return count_of(name) == 1; });
}

}  // namespace

GO_TEST(thread_names, the_librarys_threads_say_what_they_are) {
  EXPECT_TRUE(is_there_once("sley sysmon"));
  EXPECT_TRUE(is_there_once("sley template"));
  sley::blocking([] { EXPECT_TRUE(matches(name_of_this_thread(), "sley m[0-9]+")); });
  sley::os::run({.program = "true"});
  EXPECT_TRUE(is_there_once("sley lasting"));
  sley::debug::trace::start("/dev/null");
  EXPECT_TRUE(is_there_once("sley tracer"));
  sley::debug::trace::stop();
}

GO_TEST(thread_names, each_machine_has_its_own) {
  sley::wait_group all;
  sley::latch locked(3);
  for (int i = 0; i < 3; ++i) {
    all.go([&locked] {
      const sley::os_thread_lock lock;
      const std::string name = name_of_this_thread();
      locked.arrive_and_wait();
      EXPECT_EQ(count_of(name), 1) << name;
    });
  }
  all.wait();
}

GO_TEST(thread_names, the_programs_threads_keep_theirs) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").filename();
  EXPECT_EQ(name_of_thread(std::to_string(::getpid())), program.substr(0, 15));
  std::thread own([] {
    ::pthread_setname_np(::pthread_self(), "my thread");
    sley::chan<int>(1).send(1);
    EXPECT_EQ(name_of_this_thread(), "my thread");
  });
  sley::blocking([&own] { own.join(); });
}

TEST(thread_names, the_thread_of_a_main_goroutine_keeps_its_own) {
  const std::string before = name_of_this_thread();
  sley::run(sley_test::on_this_thread, [&before] {
    sley::this_goroutine::yield();
    EXPECT_EQ(name_of_this_thread(), before);
  });
}
