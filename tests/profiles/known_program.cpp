// A program whose profiles are known, for pprof_test.py. It prints where its pages are, and runs
// until its input ends.
#include <sley/debug.hpp>
#include <sley/http/debug.hpp>
#include <sley/os.hpp>
#include <sley/sley.hpp>

#include <unistd.h>

#include <cstdio>

namespace {

constexpr int waiting = 7;

void write(const char* path, const std::string& profile) { sley::os::write_file(path, profile); }

}  // namespace

[[gnu::noinline]] void waits_for_work(const sley::chan<int>& work) {
  while (work.receive()) asm volatile("");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  return sley::run([file = argv[1]] {
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
    std::printf("%s\n", address.c_str());
    std::fflush(stdout);
    char byte = 0;
    sley::blocking([&] { return ::read(0, &byte, 1); });
    work.close();
    workers.wait();
  });
}
