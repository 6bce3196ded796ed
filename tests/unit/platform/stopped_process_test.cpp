// All threads stand still while they are looked at, whatever they do, and go on as before.
#include "platform/stopped_process.hpp"

#include "platform/proc_file.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

using sley::platform::memory_range;
using sley::platform::process_memory;
using sley::platform::stopped_thread;
using sley::platform::stopped_threads;
using sley::platform::with_process_stopped;

struct look {
  std::atomic<unsigned long>& counter;
  unsigned long first = 0;
  unsigned long last = 0;
  int threads = 0;
  int first_threads = 0;
};

void look_around(void* arg, stopped_threads& threads) noexcept {
  auto& l = *static_cast<look*>(arg);
  l.first = l.counter.load();
  for (int round = 0; round < 1000; ++round) {
    l.threads = 0;
    l.first_threads = 0;
    threads.visit_each(
        [](void* self, const stopped_thread& t) noexcept {
          ++static_cast<look*>(self)->threads;
          static_cast<look*>(self)->first_threads += t.is_first ? 1 : 0;
          EXPECT_NE(t.stack_pointer, 0U);
          EXPECT_GT(t.words.size(), 20U);
        },
        &l);
  }
  l.last = l.counter.load();
}

TEST(stopped_process, threads_that_run_and_threads_that_sleep_stand_still) {
  if constexpr (!sley::platform::can_stop_process) GTEST_SKIP() << "not under a sanitizer";
  std::atomic<unsigned long> counter{0};
  std::atomic<bool> stop{false};
  std::thread runs([&] {
    while (!stop) ++counter;
  });
  int interrupted = -1;
  std::thread sleeps([&] {
    const timespec t{0, 300'000'000};
    interrupted = nanosleep(&t, nullptr);
  });
  while (counter == 0) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) {
    look l{counter};
    ASSERT_EQ(with_process_stopped(&look_around, &l), 0);
    EXPECT_EQ(l.first, l.last);
    EXPECT_GE(l.threads, 2);
    EXPECT_EQ(l.first_threads, 1);
  }
  const unsigned long now = counter;
  while (counter == now) std::this_thread::yield();  // ends: it goes on
  stop = true;
  runs.join();
  sleeps.join();
  EXPECT_EQ(interrupted, 0);
}

// A thread that has ended can't be stopped, and that is no error of the others.
TEST(stopped_process, threads_may_end_meanwhile) {
  if constexpr (!sley::platform::can_stop_process) GTEST_SKIP() << "not under a sanitizer";
  std::atomic<bool> stop{false};
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&] {
      while (!stop) std::thread([] {}).join();
    });
  }
  int error = 0;
  for (int i = 0; i < 300 && error == 0; ++i) {
    error = with_process_stopped([](void*, stopped_threads&) noexcept {}, nullptr);
  }
  stop = true;
  for (std::thread& t : makers) t.join();
  EXPECT_EQ(error, 0);
}

[[noreturn]] void exit_with_error_of_stop(int first_thread) {
  const std::string path = "/proc/self/task/" + std::to_string(first_thread) + "/stat";
  char text[256];
  while (!sley::platform::stat_after_name(path.c_str(), text, sizeof text).starts_with('Z')) {
    std::this_thread::yield();  // ends: the first thread is on its way to its end
  }
  _exit(with_process_stopped(
      [](void*, stopped_threads& threads) noexcept {
        threads.visit_each(
            [](void*, const stopped_thread& t) noexcept { EXPECT_FALSE(t.is_first); }, nullptr);
      },
      nullptr));
}

// It is in the list of the process's threads as long as the process lives.
TEST(stopped_process, the_first_thread_may_have_ended) {
  if constexpr (!sley::platform::can_stop_process) GTEST_SKIP() << "not under a sanitizer";
  EXPECT_EXIT(
      {
        std::thread(exit_with_error_of_stop, getpid()).detach();
        syscall(SYS_exit, 0);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(process_memory, finds_a_variable_and_the_mappings) {
  std::vector<std::byte> room(64 * 1024);
  process_memory memory(room);
  ASSERT_EQ(memory.error(), 0);
  struct search {
    std::uintptr_t wanted;
    memory_range stack;
    std::size_t mappings = 0;
    bool is_found = false;
  };
  static std::uintptr_t variable = 0;
  variable = reinterpret_cast<std::uintptr_t>(&variable) ^ 0x5555;
  search s{variable, {}};
  const auto at = reinterpret_cast<std::uintptr_t>(&variable);
  memory.visit_words(
      {at, at + sizeof variable}, false,
      [](void* arg, std::span<const std::uintptr_t> words) noexcept {
        auto& found = *static_cast<search*>(arg);
        found.is_found = words.size() == 1 && words[0] == found.wanted;
      },
      &s);
  EXPECT_TRUE(s.is_found);
  EXPECT_EQ(memory.visit_mappings(
                [](void* arg, const sley::platform::memory_mapping& m) noexcept {
                  auto& all = *static_cast<search*>(arg);
                  ++all.mappings;
                  if (m.is_main_stack) all.stack = m;
                  EXPECT_LT(m.begin, m.end);
                },
                &s),
            0);
  EXPECT_GT(s.mappings, 5U);
  EXPECT_LT(s.stack.begin, s.stack.end);
}

}  // namespace
