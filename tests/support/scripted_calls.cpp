#include "support/scripted_calls.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "support/test_cpu.hpp"

// The CPU's pass_on.S: the one place from which the filters let calls pass.
extern "C" long sley_test_pass_on(const sley_test::system_call* call);
extern "C" const char sley_test_passed_on[];

namespace sley_test {
namespace {

// Old scripts are kept, because a thread may be about to answer by one.
struct script {
  std::vector<call_pattern> patterns;
  scripted_calls::answer how;

  bool is_about(const system_call& call) const {
    return std::ranges::any_of(patterns, [&](const call_pattern& p) {
      const auto value = static_cast<unsigned>(call.arguments[p.argument]);
      return p.number == call.number && (value & p.bits) == p.value;
    });
  }
};
std::atomic<const script*> current{nullptr};

// Never destroyed: threads make calls to the end of the process.
std::deque<script>& scripts() {
  static auto& all = *new std::deque<script>;
  return all;
}

// Filters of older scripts are still there.
long answer(const system_call& call) {
  const script* s = current;
  return s != nullptr && s->is_about(call) ? s->how(call) : call.pass_on();
}

void handle(int, siginfo_t*, void* arg) {
  auto& context = *static_cast<ucontext_t*>(arg);
  give_result(context, answer(call_in(context)));
}

// For each: goes on behind it if it is about another call or another argument.
void add(const call_pattern& p, std::vector<sock_filter>& filter) {
  const bool looks_at_argument = p.bits != 0;
  const unsigned char to_next = looks_at_argument ? 4 : 1;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  filter.push_back(
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(p.number), 0, to_next));
  if (looks_at_argument) {
    const unsigned argument_at = offsetof(seccomp_data, args) + p.argument * 8;
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at));
    filter.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, p.bits));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, p.value, 0, 1));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
}

// A call that is passed on goes through.
void begin(std::vector<sock_filter>& filter) {
  const auto from = reinterpret_cast<std::uintptr_t>(&sley_test_passed_on);
  constexpr unsigned at = offsetof(seccomp_data, instruction_pointer);
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(from), 0, 3));
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at + 4));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(from >> 32), 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

bool install(std::initializer_list<call_pattern> which) {
  struct sigaction action = {};
  action.sa_sigaction = &handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return false;
  std::vector<sock_filter> filter;
  begin(filter);
  for (const call_pattern& p : which) add(p, filter);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace

// The leak checker asks. The thread that it looks for leaks with has all signals blocked, so the
// filters would end it, and the checker would wait for it for ever.
extern "C" int __lsan_is_turned_off() { return scripts().empty() ? 0 : 1; }

long system_call::pass_on() const { return sley_test_pass_on(this); }

scripted_calls::scripted_calls(std::initializer_list<call_pattern> which, answer how)
    : works_(install(which)) {
  current = &scripts().emplace_back(which, how);
}

scripted_calls::~scripted_calls() { current = nullptr; }

}  // namespace sley_test
