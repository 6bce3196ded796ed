// Runs a command on a machine that is taken away from it: each CPU computes something else, at
// real-time priority, for a part of the time and for some time at once. So does a virtual machine
// whose host has others to serve, and a thread may stop between any two instructions. Needs root,
// or CAP_SYS_NICE.
//
//   starve PERCENT LONGEST_MS COMMAND [ARGUMENTS...]
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using std::chrono::steady_clock;

void complain(const char* what, int error) {
  std::fprintf(stderr, "starve: %s: %s\n", what, std::strerror(error));
  std::_Exit(1);
}

[[noreturn]] void use_cpu(int cpu, int percent, int longest_ms) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(cpu), &only);
  const sched_param priority{.sched_priority = 10};
  int error = ::pthread_setaffinity_np(::pthread_self(), sizeof only, &only);
  if (error == 0) error = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &priority);
  if (error != 0) complain("cannot take a CPU", error);

  std::minstd_rand random(static_cast<unsigned>(cpu) + 1);
  std::uniform_int_distribution<int> some_ms(1, longest_ms);
  for (;;) {
    const std::chrono::milliseconds burst(some_ms(random));
    for (const auto end = steady_clock::now() + burst; steady_clock::now() < end;) {
    }
    std::this_thread::sleep_for(burst * (100 - percent) / percent);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int percent = argc > 3 ? std::atoi(argv[1]) : 0;
  const int longest_ms = argc > 3 ? std::atoi(argv[2]) : 0;
  if (percent < 1 || percent > 90 || longest_ms < 1) {
    std::fputs("usage: starve PERCENT LONGEST_MS COMMAND [ARGUMENTS...]; 1 to 90 percent\n",
               stderr);
    return 2;
  }
  cpu_set_t ours;
  if (::sched_getaffinity(0, sizeof ours, &ours) != 0) complain("which CPUs there are", errno);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[3], nullptr, nullptr, argv + 3, environ);
  if (error != 0) complain(argv[3], error);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &ours)) {
      std::thread(use_cpu, cpu, percent, longest_ms).detach();
    }
  }
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) complain("waiting", errno);
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
