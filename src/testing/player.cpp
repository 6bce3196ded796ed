// A child process plays one schedule. It leaves the outcome in memory that it shares with its
// parent, and its output in a file.
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/work.hpp"
#include "testing/player.hpp"

#include <sley/go.hpp>
#include <sley/runtime.hpp>
#include <sley/time.hpp>

#include "base/check.hpp"
#include "base/peek.hpp"
#include "base/print.hpp"
#include "platform/os.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>

namespace sley::testing {

using platform::simulated::ending;

struct shared_memory {
  platform::simulated::journal journal;
  failure kind = failure::none;
  bool has_ended = false;  // the function has ended, and nothing was left behind
};

namespace {

shared_memory* own = nullptr;  // in a child

[[noreturn]] void fail(failure kind, std::string_view what) noexcept {
  own->kind = kind;
  base::fatal(what);
}

// Is any other goroutine runnable?
bool can_any_run() noexcept {
  if (rt::is_anything_queued()) return true;
  for (const rt::machine* m : rt::sched.machines) {
    const bool is_other = m != rt::this_machine() && base::peek(m->g) != nullptr;
    if (is_other && !platform::is_thread_asleep(m->thread_id.load_relaxed())) return true;
  }
  return false;
}

// The clock may jump although a goroutine can run: that goroutine gets some more time. Ten rounds
// of the longest pause stay within what the clock can show, so that no pause is for ever.
void wait_for_others(time_span grace) {
  constexpr int most = 10;
  constexpr std::chrono::nanoseconds longest_pause = std::chrono::years(20);
  const auto pause = std::min<std::chrono::nanoseconds>(grace, longest_pause);
  for (int i = 0; i < most && runtime::num_goroutines() > 1; ++i) {
    this_goroutine::sleep_for(pause);
    if (!can_any_run()) break;
  }
  if (runtime::num_goroutines() > 1) fail(failure::leak, "goroutines are left");
}

void play_main(const std::function<void()>& f, time_span grace) {
  platform::simulated::start();
  try {
    f();
  } catch (const std::exception& e) {
    fail(failure::exception,
         base::line_writer().text("uncaught exception: ").text(e.what()).view());
  }
  wait_for_others(grace);
  platform::simulated::stop();
  own->has_ended = true;
}

// Rounded up. What alarm(2) can't count is no limit.
unsigned alarm_seconds(time_span d) noexcept {
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(d).count();
  return seconds > INT_MAX ? 0 : static_cast<unsigned>(seconds);
}

[[noreturn]] void throw_system_error(const char* what) {
  throw std::system_error(errno, std::generic_category(),
                          std::string("sley::testing::explore: ") + what);
}

failure kind_of(const shared_memory& s, int status, std::string_view output) noexcept {
  if (s.kind != failure::none) return s.kind;
  if (s.journal.ending == ending::all_asleep) return failure::deadlock;
  if (s.journal.ending == ending::too_many_steps) return failure::live_lock;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return failure::timeout;
  if (output.find("ThreadSanitizer: data race") != std::string_view::npos) {
    return failure::data_race;
  }
  if (output.find("- deadlock!") != std::string_view::npos) return failure::deadlock;
  if (output.find("terminate called") != std::string_view::npos) return failure::exception;
  if (output.find("fatal error: ") != std::string_view::npos) return failure::fatal;
  return s.has_ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? failure::none
                                                                      : failure::crash;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("ended by signal ") + strsignal(WTERMSIG(status)) + "\n";
  }
  const int code = WEXITSTATUS(status);
  return code == 0 ? std::string() : "ended with status " + std::to_string(code) + "\n";
}

}  // namespace

player::player(const std::function<void()>& f, const options& o) : f_(f), options_(o) {
  void* memory = mmap(nullptr, sizeof(shared_memory), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_system_error("mmap");
  shared_ = new (memory) shared_memory;
  output_ = memfd_create("sley-testing", MFD_CLOEXEC);
  if (output_ < 0) {
    munmap(memory, sizeof(shared_memory));
    throw_system_error("memfd_create");
  }
}

player::~player() {
  ::close(output_);
  munmap(shared_, sizeof(shared_memory));
}

platform::simulated::journal& player::journal() noexcept { return shared_->journal; }

outcome player::play(const platform::simulated::plan& p) {
  platform::simulated::journal& j = shared_->journal;
  j.steps = j.points = j.switches = j.hash = j.sight_count = 0;
  j.is_bounded = false;
  j.choice_count = 0;
  j.ending = ending::unknown;
  shared_->kind = failure::none;
  shared_->has_ended = false;
  if (ftruncate(output_, 0) != 0) throw_system_error("ftruncate");
  std::fflush(nullptr);  // or the child would write the buffered output as well
  const pid_t child = fork();
  if (child < 0) throw_system_error("fork");
  if (child == 0) be_child(p);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw_system_error("waitpid");
  }
  outcome end;
  end.message = read_output();
  end.kind = kind_of(*shared_, status, end.message);
  if (end.kind == failure::none) {
    end.message.clear();
  } else {
    end.message += describe_end(status);
  }
  return end;
}

void player::be_child(const platform::simulated::plan& p) noexcept {
  own = shared_;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGALRM, SIG_DFL);
  alarm(alarm_seconds(options_.patience));
  lseek(output_, 0, SEEK_SET);
  dup2(output_, STDOUT_FILENO);
  dup2(output_, STDERR_FILENO);
  setvbuf(stdout, nullptr, _IONBF, 0);  // the process may end at any point
  setenv("SLEY_MAXPROCS", std::to_string(options_.procs).c_str(), 1);
  platform::simulated::begin(p, shared_->journal);
  sley::run([this] { play_main(f_, options_.grace); });
  // Not _exit, which the thread sanitizer takes a second for.
  syscall(SYS_exit_group, 0);
  __builtin_unreachable();
}

std::string player::read_output() const {
  constexpr std::size_t most = std::size_t{64} * 1024;
  const off_t end = lseek(output_, 0, SEEK_END);
  std::string text(std::min(static_cast<std::size_t>(std::max<off_t>(end, 0)), most), '\0');
  const ssize_t n = pread(output_, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

void check(bool holds, std::string_view what, std::source_location where) {
  if (holds) return;
  base::line_writer line;
  line.text("check failed: ").text(what).text(" (").text(where.file_name()).text(":");
  line.dec(where.line()).text(")");
  if (own == nullptr) base::fatal(line.view());
  fail(failure::check, line.view());
}

}  // namespace sley::testing
