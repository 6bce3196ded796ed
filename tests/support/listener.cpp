#include "support/listener.hpp"

#include "support/harness.hpp"

#include <sley/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include <unistd.h>

namespace sley_test {
namespace {

// A stress test that is asked to run for long may do so.
std::chrono::seconds time_limit() {
  constexpr std::chrono::seconds usual = 2 * patience;
  return std::getenv("SLEY_STRESS_SECONDS") == nullptr ? usual : usual + stress_duration();
}

std::string program_name;
std::atomic<std::uint64_t> noted_seed{0};
std::atomic<bool> has_seed{false};
std::atomic<int> noted_processors{0};

// The settings of the environment, the program and the filter.
std::string replay_command(const std::string& test) {
  std::string command;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "SLEY_", 5) == 0 && std::strncmp(*entry, "SLEY_TEST_SEED=", 15) != 0) {
      command += std::string(*entry) + " ";
    }
  }
  if (std::getenv("SLEY_MAXPROCS") == nullptr && noted_processors.load() != 0) {
    command += "SLEY_MAXPROCS=" + std::to_string(noted_processors.load()) + " ";
  }
  if (has_seed) command += "SLEY_TEST_SEED=" + std::to_string(noted_seed.load()) + " ";
  return command + program_name + " --gtest_filter=" + test;
}

// A thread that the runtime knows nothing of.
class watchdog {
 public:
  watchdog() {
    std::thread([this] { watch(); }).detach();
  }

  void arm(std::string test) {
    std::lock_guard guard(mutex_);
    test_ = std::move(test);
    deadline_ = std::chrono::steady_clock::now() + time_limit_;
    changed_.notify_one();
  }
  void disarm() { arm({}); }

 private:
  void watch() {
    std::unique_lock guard(mutex_);
    for (;;) {
      if (test_.empty()) {
        changed_.wait(guard);
      } else if (changed_.wait_until(guard, deadline_) == std::cv_status::timeout &&
                 !test_.empty() && std::chrono::steady_clock::now() >= deadline_) {
        bark();
      }
    }
  }

  [[noreturn]] void bark() {
    std::fprintf(stderr, "\nwatchdog: %s did not end within %lld s\n", test_.c_str(),
                 static_cast<long long>(time_limit_.count()));
    // The figures may help, or hang if the runtime is broken: hence the alarm.
    ::alarm(5);
    const auto s = sley::runtime::read_stats();
    std::fprintf(stderr,
                 "goroutines %llu, Ps %llu (idle %llu), threads %llu (idle %llu, spinning %llu), "
                 "queued %llu global, %llu local, parks %llu, spawned %llu\n",
                 number(s.goroutines), number(s.procs), number(s.idle_procs), number(s.threads),
                 number(s.idle_threads), number(s.spinning_threads), number(s.global_queue),
                 number(s.local_queues), number(s.parks), number(s.spawned));
    std::fprintf(stderr, "replay: %s\n", replay_command(test_).c_str());
    std::abort();
  }

  static unsigned long long number(std::uint64_t n) { return n; }

  const std::chrono::seconds time_limit_ = time_limit();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string test_;
  std::chrono::steady_clock::time_point deadline_;
};

class listener : public testing::EmptyTestEventListener {
 public:
  listener() : watchdog_(new watchdog) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    has_seed = false;
    noted_processors = 0;
    watchdog_->arm(full_name(test));
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    watchdog_->disarm();
    if (!test.result()->Failed()) return;
    std::printf("replay: %s\n", replay_command(full_name(test)).c_str());
    std::fflush(stdout);
  }

  static std::string full_name(const testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + "." + test.name();
  }

  watchdog* watchdog_;  // never deleted: its thread runs until the process ends
};

}  // namespace

void note_seed(std::uint64_t seed) {
  noted_seed = seed;
  has_seed = true;
}

void note_processors(int count) { noted_processors = count; }

void install_listener(const char* program) {
  program_name = program;
  testing::UnitTest::GetInstance()->listeners().Append(new listener);
}

}  // namespace sley_test
