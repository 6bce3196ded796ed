// A program whose profiles are known, for pprof_test.py. It prints where its pages are and how many
// milliseconds of CPU time its two functions have used, and runs until its input ends.
#include <sley/debug.hpp>
#include <sley/http/debug.hpp>
#include <sley/os.hpp>
#include <sley/sley.hpp>

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string>

namespace {

constexpr int waiting = 7;

long cpu_ms() {
  timespec t;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1'000'000;
}

// Computes until the calling thread has used that much CPU time. Returns how much it has used.
long burn(long ms) {
  const long begin = cpu_ms();
  while (cpu_ms() < begin + ms) asm volatile("");
  return cpu_ms() - begin;
}

void write(const char* path, const std::string& profile) { sley::os::write_file(path, profile); }

}  // namespace

[[gnu::noinline]] void waits_for_work(const sley::chan<int>& work) {
  while (work.receive()) asm volatile("");
}

[[gnu::noinline]] long burns_seven_parts() {
  const long used = burn(7 * 100);
  asm volatile("");
  return used;
}
[[gnu::noinline]] long burns_three_parts() {
  const long used = burn(3 * 100);
  asm volatile("");
  return used;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return sley::run([file = argv[1], cpu_file = argv[2]] {
    const sley::chan<int> work;
    sley::wait_group workers;
    workers.add(waiting);
    for (int i = 0; i < waiting; ++i) {
      sley::go({.name = "known"}, [work, &workers] {
        waits_for_work(work);
        workers.done();
      });
    }
    const std::string address = sley::debug::serve("127.0.0.1:0").to_string();
    // The last of them has parked once all are counted at one place.
    const auto parked = [] {
      for (const auto& g : sley::debug::goroutine_profile()) {
        if (g.count == waiting && g.state == "chan receive") return true;
      }
      return false;
    };
    while (!parked()) sley::this_goroutine::yield();
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
