// A program whose profiles are known, for pprof_test.py. It prints where its pages are and how many
// milliseconds of CPU time its two functions have used, and runs until its input ends. A goroutine
// of it has waited once for a mutex, which another one has held for some milliseconds, and one has
// slept in a read for some milliseconds.
#include "support/burn.hpp"

#include <sley/debug.hpp>
#include <sley/http/debug.hpp>
#include <sley/os.hpp>
#include <sley/sley.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t waiting = 7;

// Returns how many milliseconds of CPU time the calling thread has used.
long burn_ms(int ms) {
  return sley_test::burn(std::chrono::milliseconds(ms)) / std::chrono::milliseconds(1);
}

// Have that many goroutines parked at one place?
bool waits(std::string_view state, std::size_t count) {
  return std::ranges::any_of(sley::debug::goroutine_profile(),
                             [&](const auto& g) { return g.count == count && g.state == state; });
}

void write(const char* path, const std::string& profile) { sley::os::write_file(path, profile); }

}  // namespace

[[gnu::noinline]] void waits_for_work(const sley::chan<int>& work) {
  while (work.receive()) asm volatile("");
}

[[gnu::noinline]] long burns_seven_parts() {
  const long used = burn_ms(7 * 100);
  asm volatile("");
  return used;
}
[[gnu::noinline]] long burns_three_parts() {
  const long used = burn_ms(3 * 100);
  asm volatile("");
  return used;
}

[[gnu::noinline]] void waits_for_the_mutex(sley::mutex& m) {
  m.lock();
  m.unlock();
  asm volatile("");
}
[[gnu::noinline]] void holds_the_mutex(sley::mutex& m) {
  sley::this_goroutine::sleep_for(std::chrono::milliseconds(5));
  m.unlock();
  asm volatile("");
}

namespace {

void contend() {
  sley::debug::set_block_profile_rate(std::chrono::nanoseconds(1));
  sley::debug::set_mutex_profile_fraction(1);
  sley::mutex m;
  sley::wait_group end;
  m.lock();
  end.go([&m] { waits_for_the_mutex(m); });
  while (!waits("sync.Mutex.Lock", 1)) sley::this_goroutine::yield();
  holds_the_mutex(m);
  end.wait();
  sley::debug::set_block_profile_rate(std::chrono::nanoseconds(0));
  sley::debug::set_mutex_profile_fraction(0);
}

}  // namespace

[[gnu::noinline]] void blocks_its_thread(int pipe_end) {
  char byte = 0;
  while (::read(pipe_end, &byte, 1) != 1) asm volatile("");
}

namespace {

bool has_block_in(std::string_view function) {
  const auto is_in_it = [&](std::uintptr_t return_address) {
    return sley::debug::function_name(return_address - 1).starts_with(function);
  };
  return std::ranges::any_of(sley::debug::thread_blocks(), [&](const auto& block) {
    return std::ranges::any_of(block.stack, is_in_it);
  });
}

// A goroutine sleeps in a read until that is in the profile, and some milliseconds more.
void block_a_thread() {
  sley::debug::set_thread_block_profile(true);
  int ends[2];
  if (::pipe(ends) != 0) return;
  sley::wait_group end;
  end.go([&] { blocks_its_thread(ends[0]); });
  while (!has_block_in("blocks_its_thread")) sley::this_goroutine::yield();
  sley::this_goroutine::sleep_for(std::chrono::milliseconds(5));
  sley::blocking([&] { return ::write(ends[1], "x", 1); });
  end.wait();
  sley::debug::set_thread_block_profile(false);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return sley::run([file = argv[1], cpu_file = argv[2]] {
    const sley::chan<int> work;
    sley::wait_group workers;
    workers.add(waiting);
    for (std::size_t i = 0; i < waiting; ++i) {
      sley::go({.name = "known"}, [work, &workers] {
        waits_for_work(work);
        workers.done();
      });
    }
    const std::string address = sley::debug::serve("127.0.0.1:0").to_string();
    while (!waits("chan receive", waiting)) sley::this_goroutine::yield();
    contend();
    block_a_thread();
    write(file, sley::debug::profile(sley::debug::profile_kind::goroutine));
    sley::debug::cpu_profile::start();
    long seven = 0;
    long three = 0;
    {
      const sley::os_thread_lock lock;
      seven = burns_seven_parts();
      three = burns_three_parts();
    }
    write(cpu_file, sley::debug::cpu_profile::stop());
    std::printf("%s %ld %ld\n", address.c_str(), seven, three);
    std::fflush(stdout);
    char byte = 0;
    sley::blocking([&] { return ::read(0, &byte, 1); });
    work.close();
    workers.wait();
  });
}
