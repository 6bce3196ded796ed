// From LLVM's sanitizer_stoptheworld_linux_libcdep.cpp.
//
// The helper has the thread-local storage of the thread that waits for it. So it makes system calls
// without libc, which set no errno.
#include "platform/stopped_process.hpp"

#include <sley/detail/atomic.hpp>

#include "platform/os.hpp"
#include "platform/proc_file.hpp"
#include "platform/system_call.hpp"

#include <elf.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <new>
#include <string_view>

namespace sley::platform {

namespace {

constexpr std::size_t helper_stack_bytes = 256 * 1024;
constexpr long mask_bytes = 8;

std::int64_t clock_ns() noexcept {
  timespec t{};
  bare_call(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

void pause_ns(long ns) noexcept {
  const timespec t{0, ns};
  bare_call(SYS_nanosleep, &t, nullptr);
}

// As the kernel has it.
struct folder_entry {
  std::uint64_t number;
  std::int64_t offset;
  unsigned short bytes;
  unsigned char kind;

  const char* name() const noexcept { return reinterpret_cast<const char*>(&kind + 1); }
};

int number_of(const char* name) noexcept {
  int number = 0;
  for (; *name >= '0' && *name <= '9'; ++name) number = number * 10 + (*name - '0');
  return *name == '\0' ? number : 0;
}

}  // namespace

struct process_stopper {
  void (*f)(void*, stopped_threads&) noexcept;
  void* arg;
  stopped_threads& threads;
  int task_folder;  // a descriptor of /proc/self/task
  detail::atomic<bool> may_begin;
  int error = 0;

  bool is_known(int id) const noexcept {
    for (std::size_t i = 0; i < threads.count; ++i) {
      if (threads.threads[i].id == id) return true;
    }
    return false;
  }

  // A thread that has ended stays in the list for a moment, and the first one of the process as
  // long as others live. The kernel allows no process to trace it.
  bool has_ended(int id) const noexcept {
    char path[32];
    char* const end = std::to_chars(path, path + sizeof path, id).ptr;
    std::memcpy(end, "/stat", sizeof "/stat");
    const long file = bare_call(SYS_openat, task_folder, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return file == -ENOENT;
    char text[256];
    const long bytes = bare_call(SYS_read, file, text, sizeof text);
    bare_call(SYS_close, file);
    if (bytes < 0) return bytes == -ESRCH;
    const std::string_view state = after_name({text, static_cast<std::size_t>(bytes)});
    return state.starts_with('Z') || state.starts_with('X');
  }

  // False: the thread has ended, or there is an error.
  bool wait_for_stop(stopped_threads::one& t) noexcept {
    constexpr std::int64_t limit_ns = 1'000'000'000;
    const std::int64_t begin_ns = clock_ns();
    for (;;) {  // ends at the limit
      int status = 0;
      const long result = bare_call(SYS_wait4, t.id, &status, __WALL | WNOHANG, nullptr);
      if (result == t.id && WIFSTOPPED(status)) {
        const bool is_signal = status >> 16 == 0;
        t.signal = is_signal ? WSTOPSIG(status) : 0;
        return true;
      }
      if (result != 0 || has_ended(t.id)) return false;
      if (clock_ns() - begin_ns > limit_ns) {
        error = ETIMEDOUT;
        return false;
      }
      pause_ns(20'000);
    }
  }

  // False: the thread has ended, or there is an error.
  bool stop(int id) noexcept {
    const long seized = bare_call(SYS_ptrace, PTRACE_SEIZE, id, nullptr, nullptr);
    if (seized == -ESRCH || (seized == -EPERM && has_ended(id))) return false;
    if (seized < 0 || threads.count == stopped_threads::most) {
      error = seized < 0 ? static_cast<int>(-seized) : EAGAIN;
      return false;
    }
    stopped_threads::one& t = threads.threads[threads.count++];  // it is let go whatever comes
    t = {.id = id};
    if (bare_call(SYS_ptrace, PTRACE_INTERRUPT, id, nullptr, nullptr) >= 0 && wait_for_stop(t)) {
      return true;
    }
    if (error == 0) --threads.count;
    return false;
  }

  // Has it stopped a thread that was not stopped before?
  bool stop_listed() noexcept {
    bool is_any_new = false;
    alignas(folder_entry) char buffer[4096];
    bare_call(SYS_lseek, task_folder, 0, SEEK_SET);
    for (;;) {  // ends with the folder
      const long bytes = bare_call(SYS_getdents64, task_folder, buffer, sizeof buffer);
      if (bytes < 0) error = static_cast<int>(-bytes);
      if (bytes <= 0) return is_any_new;
      for (long at = 0; at < bytes;) {
        const auto* entry = reinterpret_cast<const folder_entry*>(buffer + at);
        at += entry->bytes;
        const int id = number_of(entry->name());
        if (id != 0 && !is_known(id)) is_any_new = stop(id) || is_any_new;
        if (error != 0) return false;
      }
    }
  }

  void let_all_go() noexcept {
    for (std::size_t i = 0; i < threads.count; ++i) {
      const stopped_threads::one& t = threads.threads[i];
      bare_call(SYS_ptrace, PTRACE_DETACH, t.id, nullptr, static_cast<long>(t.signal));
    }
  }

  // Threads that are stopped start no others: when none is new, there is none else.
  [[noreturn]] static void main(void* arg) noexcept {
    auto& self = *static_cast<process_stopper*>(arg);
    while (!self.may_begin.load_acquire("SP-1")) pause_ns(10'000);
    while (self.stop_listed()) {
    }
    if (self.error == 0) self.f(self.arg, self.threads);
    self.let_all_go();
    for (;;) bare_call(SYS_exit, 0);
  }

  // On `memory`, without any handler of a signal in the helper. Waits for its end. It sends no
  // SIGCHLD, and no other wait of this process gets it.
  //   SP-1  The helper begins when it may trace this process: store_release in run <-> load_acquire
  //         in main.
  int run(std::byte* stack_end) noexcept {
    constexpr long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED;
    const std::uint64_t all = ~std::uint64_t{0};
    std::uint64_t before = 0;
    bare_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, mask_bytes);
    int handle = -1;
    const long helper = raw_clone(stack_end, flags, &handle, &process_stopper::main, this);
    if (helper < 0) {
      error = static_cast<int>(-helper);
    } else {
      bare_call(SYS_prctl, PR_SET_PTRACER, helper, 0, 0, 0);  // an error says that none is needed
      may_begin.store_release(true, "SP-1");
      int status = 0;
      while (bare_call(SYS_wait4, helper, &status, __WALL, nullptr) == -EINTR) {
      }
      bare_call(SYS_prctl, PR_SET_PTRACER, 0, 0, 0, 0);
      if (!WIFEXITED(status) && error == 0) error = ECHILD;
    }
    bare_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, mask_bytes);
    return error;
  }
};

bool stopped_threads::visit_each(void (*visit)(void*, const stopped_thread&) noexcept,
                                 void* arg) noexcept {
  constexpr long state_of_vectors = 0x202;  // NT_X86_XSTATE, of one CPU
  for (std::size_t i = 0; i < count; ++i) {
    const int id = threads[i].id;
    std::size_t used = 0;
    for (const long set : {long{NT_PRSTATUS}, long{NT_PRFPREG}, state_of_vectors}) {
      iovec room{reinterpret_cast<char*>(words) + used, sizeof words - used};
      const long result = bare_call(SYS_ptrace, PTRACE_GETREGSET, id, set, &room);
      if (result < 0 && set == NT_PRSTATUS) return false;
      if (result >= 0) used += (room.iov_len + 7) / 8 * 8;
    }
    ptrace_syscall_info info{};
    if (bare_call(SYS_ptrace, PTRACE_GET_SYSCALL_INFO, id, sizeof info, &info) < 0) return false;
    visit(arg, {id == process,
                static_cast<std::uintptr_t>(info.stack_pointer),
                {words, used / sizeof words[0]}});
  }
  return true;
}

int with_process_stopped(void (*f)(void*, stopped_threads&) noexcept, void* arg) noexcept {
  if constexpr (!can_stop_process) return ENOTSUP;
  const long folder =
      bare_call(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) return static_cast<int>(-folder);
  constexpr std::size_t bytes = helper_stack_bytes + sizeof(stopped_threads);
  auto* memory = static_cast<std::byte*>(map_memory(bytes, true));
  int error = ENOMEM;
  if (memory != nullptr) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const auto process = static_cast<int>(bare_call(SYS_getpid));
    auto* threads =
        ::new (memory + helper_stack_bytes) stopped_threads(process, {begin, begin + bytes});
    process_stopper stopper{f, arg, *threads, static_cast<int>(folder), {}};
    error = stopper.run(memory + helper_stack_bytes);
    unmap_memory(memory, bytes);
  }
  bare_call(SYS_close, folder);
  return error;
}

}  // namespace sley::platform
