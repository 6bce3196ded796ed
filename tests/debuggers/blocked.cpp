// A program whose goroutines block their threads in the kernel, below functions of its own. For
// each it prints its name, the number of its system call, and an argument that no other such call
// has, behind its place from 1. Others compute, take naps or wait in a select. The program goes on
// when it gets a line, and then prints how many calls have returned, which is none.
#include <sley/debug.hpp>
#include <sley/sley.hpp>

#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::array<int, 2> open_pipe() {
  std::array<int, 2> ends;
  if (::pipe(ends.data()) != 0) std::abort();
  return ends;
}

const int read_end = open_pipe()[0];
const int announced_read_end = open_pipe()[0];
const int locked_read_end = open_pipe()[0];
pollfd polled = {.fd = open_pipe()[0], .events = POLLIN, .revents = 0};
timespec long_time = {.tv_sec = 3600, .tv_nsec = 0};
std::atomic<int> returned{0};

void use(volatile char* memory) { asm volatile("" : : "r"(memory) : "memory"); }

void read_byte(int fd) {
  char byte;
  static_cast<void>(::read(fd, &byte, 1));
}

// Leaves the return addresses of calls in the memory that the next call's frames take.
[[gnu::noinline]] void leave_rests(int depth) {
  volatile char buffer[64];
  use(buffer);
  if (depth > 0) leave_rests(depth - 1);
  use(buffer);
}

}  // namespace

// ---- ways to block ----

[[gnu::noinline]] void blocks_in_read() {
  read_byte(read_end);
  asm volatile("");  // no call here is the last one
}
[[gnu::noinline]] void blocks_in_announced_read() {
  sley::blocking([] { read_byte(announced_read_end); });
  asm volatile("");
}
[[gnu::noinline]] void blocks_on_locked_thread() {
  sley::os_thread_lock lock;
  read_byte(locked_read_end);
  asm volatile("");
}
[[gnu::noinline]] void blocks_in_poll() {
  ::ppoll(&polled, 1, nullptr, nullptr);
  asm volatile("");
}
[[gnu::noinline]] void blocks_in_nanosleep() {
  ::nanosleep(&long_time, nullptr);
  asm volatile("");
}
[[gnu::noinline]] void takes_naps() {
  for (unsigned n = 0;; ++n) {
    leave_rests(static_cast<int>(n % 8));
    ::usleep(n % 64 * 10);
  }
}
[[gnu::noinline]] void computes() {
  for (volatile unsigned n = 0;;) n = n + 1;
}
[[gnu::noinline]] void chooses() {
  const sley::chan<int> one;
  const sley::chan<int> other;
  sley::select(sley::on_receive(one), sley::on_send(other, 1));
}

// ---- frames above them ----

[[gnu::noinline]] void plain(void (*block)()) {
  block();
  asm volatile("");
}
[[gnu::noinline]] void with_a_buffer(void (*block)()) {
  volatile char buffer[3000];
  use(buffer);
  plain(block);
  use(buffer);
}
[[gnu::noinline]] void with_arguments_on_the_stack(void (*block)(), int, int, int, int, int, int,
                                                   int, int last) {
  with_a_buffer(block);
  asm volatile("" : : "r"(last));
}
[[gnu::noinline]] void outermost(void (*block)()) {
  with_arguments_on_the_stack(block, 1, 2, 3, 4, 5, 6, 7, 8);
  asm volatile("");
}

namespace {

void start(const char* name, void (*block)()) {
  sley::go({.name = name}, [block] {
    leave_rests(40);
    outermost(block);
    ++returned;
  });
}

struct blocked_call {
  long number;
  int place;
  std::uint64_t argument;
};

void print(const char* name, const blocked_call& call) {
  std::printf("%s %ld %d 0x%jx\n", name, call.number, call.place,
              static_cast<std::uintmax_t>(call.argument));
}

void start_blocked(const char* name, void (*block)(), const blocked_call& call) {
  print(name, call);
  start(name, block);
}

bool is_there_a_select() {
  return std::ranges::any_of(sley::debug::goroutines(),
                             [](const auto& g) { return g.state == "select"; });
}

blocked_call call_of_read(int fd) { return {SYS_read, 1, static_cast<std::uint64_t>(fd)}; }

std::uint64_t address(const void* of) { return reinterpret_cast<std::uint64_t>(of); }

}  // namespace

int main() {
  return sley::run([] {
    start("chooses", &chooses);
    while (!is_there_a_select()) sley::this_goroutine::yield();
    start("naps", &takes_naps);
    start_blocked("read", &blocks_in_read, call_of_read(read_end));
    start_blocked("announced", &blocks_in_announced_read, call_of_read(announced_read_end));
    start_blocked("locked", &blocks_on_locked_thread, call_of_read(locked_read_end));
    start_blocked("poll", &blocks_in_poll, {SYS_ppoll, 1, address(&polled)});
    start_blocked("nanosleep", &blocks_in_nanosleep, {SYS_clock_nanosleep, 3, address(&long_time)});
    print("main", call_of_read(0));
    std::printf("\n");
    std::fflush(stdout);
    start("computes", &computes);
    sley::blocking([] { read_byte(0); });
    std::printf("%d\n", returned.load());
  });
}
