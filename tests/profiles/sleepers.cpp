// A program whose goroutines sleep in system calls until it ends, for strace_test.py: in each of
// the calls below one with an announcement and one without. Another goroutine computes. When all of
// this is so, it prints each one's thread and name, and then where its pages are. It ends when its
// input does.
#include <sley/debug.hpp>
#include <sley/http/debug.hpp>
#include <sley/sley.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <list>
#include <string>

namespace {

int must(int result) {
  if (result < 0) std::abort();
  return result;
}

// ---- the calls ----

void in_read() {
  int ends[2];
  must(::pipe(ends));
  char byte = 0;
  [[maybe_unused]] const ssize_t n = ::read(ends[0], &byte, 1);
}
void in_accept() {
  sockaddr_in any_port = {};
  any_port.sin_family = AF_INET;
  any_port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listener = must(::socket(AF_INET, SOCK_STREAM, 0));
  must(::bind(listener, reinterpret_cast<sockaddr*>(&any_port), sizeof any_port));
  must(::listen(listener, 1));
  ::accept4(listener, nullptr, nullptr, 0);
}
void in_ppoll() {
  pollfd none = {.fd = -1, .events = 0, .revents = 0};
  ::ppoll(&none, 1, nullptr, nullptr);
}
void in_epoll() {
  epoll_event event = {};
  ::epoll_pwait(must(::epoll_create1(0)), &event, 1, -1, nullptr);
}
void in_nanosleep() {
  const timespec day = {.tv_sec = 86'400, .tv_nsec = 0};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &day, nullptr);
}

struct call {
  const char* name;
  long number;
  void (*make)();
};
constexpr call calls[] = {{"read", SYS_read, &in_read},
                          {"accept4", SYS_accept4, &in_accept},
                          {"ppoll", SYS_ppoll, &in_ppoll},
                          {"epoll_pwait", SYS_epoll_pwait, &in_epoll},
                          {"clock_nanosleep", SYS_clock_nanosleep, &in_nanosleep}};

// ---- the goroutines ----

struct goroutine {
  std::string name;
  std::atomic<pid_t> thread = 0;
};

}  // namespace

[[gnu::noinline]] void sleeps_in(const call& c, goroutine& g) {
  g.thread = ::gettid();
  for (;;) c.make();
}

[[gnu::noinline]] void computes(goroutine& g) {
  g.thread = ::gettid();
  for (;;) asm volatile("");
}

namespace {

// 'S' if it sleeps: see proc(5).
char state_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end_of_name = line.rfind(')');
  return end_of_name == line.npos ? '?' : line.at(end_of_name + 2);
}

// The number of the system call that it is in; -1 if there is none.
long call_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  long number;
  return file >> number ? number : -1;
}

// The call is asked for first: a thread that strace has stopped at the beginning of its call has
// that call already, and sleeps a moment later.
bool sleeps(pid_t thread, const call& c) {
  return thread != 0 && call_of(thread) == c.number && state_of(thread) == 'S';
}

void wait_until(auto condition) {
  while (!condition()) sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
}

// The goroutine that computes is started last, because it keeps a processor from then on.
std::list<goroutine> start_all() {
  std::list<goroutine> all;
  for (const call& c : calls) {
    goroutine& announced = all.emplace_back(std::string("announced ") + c.name);
    sley::go({.name = announced.name}, [&] { sley::blocking([&] { sleeps_in(c, announced); }); });
    goroutine& unannounced = all.emplace_back(std::string("unannounced ") + c.name);
    sley::go({.name = unannounced.name}, [&] { sleeps_in(c, unannounced); });
    wait_until([&] { return sleeps(announced.thread, c) && sleeps(unannounced.thread, c); });
  }
  goroutine& hog = all.emplace_back("computes");
  sley::go({.name = hog.name}, [&hog] { computes(hog); });
  wait_until([&] { return hog.thread != 0; });
  return all;
}

}  // namespace

int main() {
  return sley::run([] {
    sley::debug::set_thread_block_profile(true);
    const std::list<goroutine> all = start_all();
    const std::string address = sley::debug::serve("127.0.0.1:0").to_string();
    for (const goroutine& g : all) std::printf("%d %s\n", g.thread.load(), g.name.c_str());
    std::printf("pages %s\n", address.c_str());
    std::fflush(stdout);
    char byte = 0;
    sley::blocking([&] { return ::read(0, &byte, 1); });
  });
}
