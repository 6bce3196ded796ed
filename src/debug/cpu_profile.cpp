// The CPU profile. Each thread of the process has a timer of its own CPU time, whose signal takes
// the stack. The profiler's thread gives timers to threads that have come, and collects what the
// signal handlers have put down. Nothing of it is there while no profile is on, except the handler.
//
// Timers of threads, not one of the process: the kernel sends the signal of that one to whichever
// thread it likes, and no more often than its own clock ticks, however many threads compute.
#include "debug/cpu_samples.hpp"
#include "debug/large_stack.hpp"
#include "debug/profile_message.hpp"
#include "debug/switched.hpp"
#include "platform/cpu_timer.hpp"
#include "platform/os.hpp"
#include "runtime/state/label_set.hpp"

#include <sley/debug.hpp>
#include <sley/runtime.hpp>

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace sley::debug::cpu_profile {

namespace {

constexpr std::int64_t interval_ns = 10'000'000;
constexpr auto between_looks = std::chrono::milliseconds(50);

// The intervals in which a stack was seen, by the name and labels of its goroutine and its frames.
using sample_key = std::tuple<std::string, std::vector<label>, std::vector<std::uintptr_t>>;
using sample_counts = std::map<sample_key, std::uint64_t>;

// ---- the threads ----

// The process's threads at this moment; none if the system does not tell.
std::set<std::int32_t> threads_of_process() {
  std::set<std::int32_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/task"), &::closedir);
  if (folder == nullptr) return threads;
  while (const dirent* entry = ::readdir(folder.get())) {
    const char* name = entry->d_name;
    std::int32_t id = 0;
    if (std::from_chars(name, name + std::strlen(name), id).ec == std::errc()) threads.insert(id);
  }
  return threads;
}

// The threads that are sampled, and threads that may still get a signal from before.
class sampled_threads {
 public:
  // Collects the samples, forgets threads that have ended, and gives each other thread a timer.
  // Returns 0, or an errno value: a thread could have none.
  int look(sample_counts& to) {
    const std::set<std::int32_t> now = threads_of_process();
    collect(to);
    std::erase_if(all_, [&](const auto& t) { return !now.contains(t.first); });
    int error = now.empty() ? ENOENT : 0;
    for (const std::int32_t id : now) {
      std::unique_ptr<sampled_thread>& t = all_[id];
      if (t == nullptr) t = std::make_unique<sampled_thread>(id);
      if (t->is_on()) continue;
      if (const int refused = t->start(interval_ns); refused != 0) error = refused;
    }
    return error;
  }
  bool has_any_timer() const {
    return std::ranges::any_of(all_, [](const auto& t) { return t.second->is_on(); });
  }
  void collect(sample_counts& to) {
    for (const auto& [id, t] : all_) {
      t->drain([&](const cpu_sample& s) {
        const rt::label_ref owned(s.labels);
        const auto labels = rt::labels_in(s.labels);
        to[{std::string(s.name()),
            {labels.begin(), labels.end()},
            {s.stack().begin(), s.stack().end()}}] += s.intervals;
      });
    }
  }
  void stop() noexcept {
    for (const auto& [id, t] : all_) t->stop();
  }

 private:
  std::map<std::int32_t, std::unique_ptr<sampled_thread>> all_;
};

// Never destroyed, because signals may come until the process is gone.
sampled_threads& threads() {
  static sampled_threads& all = *new sampled_threads;
  return all;
}

// ---- the profiler ----

class profiler {
 public:
  profiler() {
    sample_counts before;  // of signals that came after the end of the last profile
    const int error = threads().look(before);
    if (!threads().has_any_timer()) {
      throw std::system_error(error, std::system_category(),
                              "sley::debug::cpu_profile::start: no thread can have a timer");
    }
    try {
      collector_ = std::thread([this] { collect(); });
    } catch (...) {
      threads().stop();
      throw;
    }
  }

  std::string stop() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake_.notify_one();
    blocking([this] { collector_.join(); });
    threads().stop();
    threads().collect(counts_);
    const auto duration = std::chrono::steady_clock::now() - begin_;
    std::string result;
    on_large_stack([&] { result = message(duration); });
    return result;
  }

 private:
  void collect() {
    platform::name_this_thread("sley profiler");
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, between_looks, [this] { return is_over_; })) {
      try {
        threads().look(counts_);
      } catch (const std::bad_alloc&) {
        continue;  // the samples of this look are lost
      }
    }
  }

  std::string message(std::chrono::nanoseconds duration) const {
    constexpr profile_unit cpu = {"cpu", "nanoseconds"};
    profile_message m({{"samples", "count"}, cpu}, cpu, interval_ns);
    m.set_duration(duration);
    for (const auto& [of, count] : counts_) {
      const auto& [name, labels, stack] = of;
      const std::array<std::uint64_t, 2> values = {count, count * interval_ns};
      m.add_sample(stack, values, {{"name", name}}, labels);
    }
    return m.complete();
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  sample_counts counts_;  // the collector's, until it has ended
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
  std::thread collector_;
};

switched<profiler>& the_profile() { return switched<profiler>::of_program(); }

}  // namespace

void start() {
  const std::lock_guard lock(the_profile().lock);
  if (the_profile().running != nullptr) {
    throw std::logic_error("sley::debug::cpu_profile::start: a profile is on already");
  }
  if (!platform::take_cpu_timer_signal(&sampled_thread::take)) {
    throw std::system_error(EBUSY, std::system_category(),
                            "sley::debug::cpu_profile::start: the program handles SIGPROF");
  }
  the_profile().running = std::make_unique<profiler>();
}

std::string stop() {
  const std::lock_guard lock(the_profile().lock);
  const auto ended = std::exchange(the_profile().running, nullptr);
  return ended == nullptr ? std::string() : ended->stop();
}

}  // namespace sley::debug::cpu_profile
