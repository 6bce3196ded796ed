// Time, futexes and threads of os.hpp, by the kernel. platform/simulated plays them instead.
#include "platform/cpu_clock.hpp"
#include "platform/cpu_limit.hpp"
#include "platform/os.hpp"

#include <sley/detail/atomic.hpp>

#include "platform/placement.hpp"
#include "platform/proc_file.hpp"
#include "platform/sanitizer.hpp"
#include "platform/timespec.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <string_view>

namespace sley::platform {

// ---- time ----

std::int64_t monotonic_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return to_ns(t);
}

void sleep_until_ns(std::int64_t when_ns) noexcept {
  const timespec until = to_timespec(when_ns);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void sleep_ns(std::int64_t ns) noexcept { sleep_until_ns(monotonic_ns() + ns); }

void yield_thread() noexcept { sched_yield(); }

// ---- futex ----

void futex_wait(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) noexcept {
  const int saved = errno;
  const timespec deadline = to_timespec(deadline_ns);
  begin_sleep();
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
          deadline_ns == INT64_MAX ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
  end_sleep();
  errno = saved;
}

void futex_wake(std::uint32_t* word, int count) noexcept {
  const int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
  errno = saved;
}

// ---- threads ----

int available_cpus(std::int32_t thread_id) noexcept {
  cpu_set allowed;
  allowed_cpus(thread_id, allowed);
  return std::max(allowed.size(), 1);
}

std::uint32_t automatic_procs(std::int32_t thread_id) noexcept {
  static const cpu_limit limit;
  return procs_for(static_cast<std::uint32_t>(available_cpus(thread_id)), limit.read());
}

namespace {

constexpr std::size_t thread_name_bytes = 16;  // the kernel's, with a zero at the end

struct thread_start {
  void (*entry)(void*);
  void* arg;
  sigset_t mask;
  char name[thread_name_bytes];
};

void copy_name(std::string_view name, char (&to)[thread_name_bytes]) noexcept {
  to[name.copy(to, thread_name_bytes - 1)] = '\0';
}

// The part of a thread's stack below start_thread's frame, which it is in.
class own_stack_part {
 public:
  explicit own_stack_part(const void* end) noexcept : end_(reinterpret_cast<std::uintptr_t>(end)) {
    pthread_attr_t attributes;
    void* low = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      if (pthread_attr_getstack(&attributes, &low, &bytes) != 0) low = nullptr;
      pthread_attr_destroy(&attributes);
    }
    begin_ = low == nullptr ? end_ : reinterpret_cast<std::uintptr_t>(low);
    const change guard;
    next_ = first;
    if (next_ != nullptr) next_->link_ = &next_;
    first = this;
    link_ = &first;
  }
  ~own_stack_part() {
    const change guard;
    *link_ = next_;
    if (next_ != nullptr) next_->link_ = link_;
  }
  own_stack_part(const own_stack_part&) = delete;
  own_stack_part& operator=(const own_stack_part&) = delete;

  // While all threads are stopped.
  template <class Visit>
  static bool visit_each(const Visit& visit) noexcept {
    if (is_changing.load_relaxed()) return false;  // the thread that has set it does not run
    for (const own_stack_part* p = first; p != nullptr; p = p->next_) visit(p->begin_, p->end_);
    return true;
  }

 private:
  struct change {
    change() noexcept {
      pthread_mutex_lock(&mutex);
      is_changing.store_relaxed(true);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~change() {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      is_changing.store_relaxed(false);
      pthread_mutex_unlock(&mutex);
    }
    change(const change&) = delete;
    change& operator=(const change&) = delete;
  };

  static inline pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static inline own_stack_part* first = nullptr;  // [lock: mutex]
  // Relaxed: the reader has stopped the writer between two of its instructions, and the kernel
  // shows it all stores before. The fences keep the compiler from moving changes of the list out.
  static inline detail::atomic<bool> is_changing;

  std::uintptr_t begin_;   // [const]
  std::uintptr_t end_;     // [const]
  own_stack_part* next_;   // [lock: mutex]
  own_stack_part** link_;  // [lock: mutex]
};

// With all signals blocked as little as possible is done: a system call that a filter traps (as
// sandboxes do, by SIGSYS) would end the process.
void* start_thread(void* arg) {
  const std::unique_ptr<thread_start> start(static_cast<thread_start*>(arg));
  name_this_thread(start->name);
  pthread_sigmask(SIG_SETMASK, &start->mask, nullptr);
  const own_stack_part part(__builtin_frame_address(0));
  start->entry(start->arg);
  return nullptr;
}

}  // namespace

void name_this_thread(std::string_view name) noexcept {
  char terminated[thread_name_bytes];
  copy_name(name, terminated);
  const int saved = errno;
  prctl(PR_SET_NAME, terminated);
  errno = saved;
}

int create_thread(void (*entry)(void*), void* arg, std::string_view name) noexcept {
  std::unique_ptr<thread_start> start(new (std::nothrow) thread_start{entry, arg, {}, {}});
  if (!start) return ENOMEM;
  copy_name(name, start->name);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &start->mask);
  const sigset_t mask = start->mask;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, &start_thread, start.get());
  pthread_attr_destroy(&attributes);
  if (error == 0) static_cast<void>(start.release());  // the thread owns it now
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return error;
}

bool visit_own_stacks(void (*visit)(void*, std::uintptr_t, std::uintptr_t) noexcept,
                      void* arg) noexcept {
  return own_stack_part::visit_each(
      [&](std::uintptr_t begin, std::uintptr_t end) { visit(arg, begin, end); });
}

std::int32_t current_thread_id() noexcept { return gettid(); }

// glibc registers threads with rseq(2) since 2.35; before, a thread's CPU is not known.
const std::uint32_t* place_of_this_thread() noexcept {
#if __has_include(<sys/rseq.h>)
  if (__rseq_size == 0) return nullptr;
  auto* thread = static_cast<std::byte*>(__builtin_thread_pointer());
  return &reinterpret_cast<const rseq*>(thread + __rseq_offset)->cpu_id;
#else
  return nullptr;
#endif
}

std::int64_t thread_cpu_ns(std::int32_t thread_id) noexcept {
  const int saved = errno;
  timespec t;
  const bool known = clock_gettime(cpu_clock_of(thread_id), &t) == 0;
  errno = saved;
  return known ? to_ns(t) : -1;
}

namespace {

// The name of a file of /proc about a thread of this process.
struct task_path {
  task_path(std::int32_t thread_id, std::string_view file) noexcept {
    char* end = text + std::strlen(text);
    end = std::to_chars(end, text + sizeof(text), thread_id).ptr;
    std::memcpy(end, file.data(), file.size());
  }
  char text[64] = "/proc/self/task/";
};

}  // namespace

thread_state state_of_thread(std::int32_t thread_id) noexcept {
  const task_path path(thread_id, "/stat");
  char text[256];
  const std::string_view fields = stat_after_name(path.text, text, sizeof(text));
  if (fields.empty()) return thread_state::unknown;
  return fields.front() == 'R' ? thread_state::runs : thread_state::sleeps;
}

cpu_times thread_cpu_times(std::int32_t thread_id) noexcept {
  const task_path path(thread_id, "/schedstat");
  char text[64];  // "ran waited slices\n", proc(5)
  const char* const end = text + read_start(path.text, text, sizeof(text));
  cpu_times t;
  const auto [space, error] = std::from_chars(text, end, t.ran_ns);
  if (error != std::errc() || space == end) return {};
  if (std::from_chars(space + 1, end, t.waited_ns).ec != std::errc()) return {};
  return t;
}

bool where_thread_sleeps(std::int32_t thread_id, sleeping_place& at) noexcept {
  return read_sleeping_place(task_path(thread_id, "/syscall").text, at);
}

namespace {

// 0 if it can't be read.
std::uint32_t number_of_threads() noexcept {
  char text[512];
  std::string_view fields = stat_after_name("/proc/self/stat", text, sizeof(text));
  constexpr int before = 17;  // fields between the name and num_threads, proc_pid_stat(5)
  for (int i = 0; i < before; ++i) {
    const std::size_t space = fields.find(' ');
    if (space == std::string_view::npos) return 0;
    fields.remove_prefix(space + 1);
  }
  std::uint32_t n = 0;
  std::from_chars(fields.data(), fields.data() + fields.size(), n);
  return n;
}

// A process may not ask for the CPU clocks of other processes' threads.
bool is_own_thread(std::int32_t thread_id) noexcept {
  timespec resolution;
  return syscall(SYS_clock_getres, cpu_clock_of(thread_id), &resolution) == 0;
}

// Some threads that the last search found. Mostly they still run, and are more than enough.
// [sysmon]
class known_threads {
 public:
  void clear() noexcept { size_ = 0; }
  void add(std::int32_t thread_id) noexcept {
    if (size_ < std::size(ids_)) ids_[size_++] = thread_id;
  }
  std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(std::count_if(ids_, ids_ + size_, &is_own_thread));
  }

 private:
  std::int32_t ids_[64];
  std::size_t size_ = 0;
};

// Begins at the process's own number, because its threads' numbers mostly follow it.
std::uint32_t search_threads(std::uint32_t enough, bool (*goes_on)() noexcept) noexcept {
  constexpr std::int32_t most_ids = 4 * 1024 * 1024;  // PID_MAX_LIMIT in the kernel
  constexpr std::int32_t at_once = 8192;
  static known_threads known;
  if (!is_own_thread(gettid())) return 0;  // the system does not tell
  if (const std::uint32_t count = known.count(); count > enough) return count;
  known.clear();
  const std::int32_t first = getpid();
  std::uint32_t count = 0;
  for (std::int32_t i = 0; i < most_ids && count <= enough; ++i) {
    if (i % at_once == 0 && !goes_on()) return 0;
    const std::int32_t thread_id = (first + i) % most_ids;
    if (thread_id == 0 || !is_own_thread(thread_id)) continue;  // 0 is the calling thread again
    known.add(thread_id);
    ++count;
  }
  return count;
}

}  // namespace

std::uint32_t count_threads(std::uint32_t enough, bool (*goes_on)() noexcept) noexcept {
  if (const std::uint32_t count = number_of_threads(); count != 0) return count;
  const int saved = errno;
  const std::uint32_t count = search_threads(enough, goes_on);
  errno = saved;
  return count;
}

void ask_for_short_slices() noexcept {
  // struct sched_attr of <linux/sched/types.h>, first version; the runtime of a thread with the
  // normal policy is the slice that it asks for, 0.1 ms at least.
  struct attributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;
    std::uint64_t deadline;
    std::uint64_t period;
  };
  attributes a = {};
  const int saved = errno;
  if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) == 0 && a.policy == SCHED_OTHER) {
    a.size = sizeof(a);
    a.runtime = 100'000;
    syscall(SYS_sched_setattr, 0, &a, 0);
  }
  errno = saved;
}

namespace {

void set_timer_slack(std::int64_t ns) noexcept {
  const int saved = errno;
  prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(ns), 0UL, 0UL, 0UL);
  errno = saved;
}

// Below 0 if the system does not tell.
std::int64_t timer_slack_ns() noexcept {
  const int saved = errno;
  const std::int64_t ns = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
  errno = saved;
  return ns;
}

}  // namespace

void set_exact_timers() noexcept { set_timer_slack(1); }

exact_timers::exact_timers() noexcept : slack_before_ns_(timer_slack_ns()) {
  if (slack_before_ns_ > 1) set_timer_slack(1);
}
exact_timers::~exact_timers() {
  if (slack_before_ns_ > 1) set_timer_slack(slack_before_ns_);
}

}  // namespace sley::platform
