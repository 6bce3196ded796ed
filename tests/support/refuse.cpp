#include "support/refuse.hpp"

#include <cstddef>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sley_test {
namespace {

// For each: goes on behind it if it is about another call or another argument.
void add(const refusal& r, std::vector<sock_filter>& filter) {
  const bool looks_at_argument = r.bits != 0;
  const unsigned argument_at = offsetof(seccomp_data, args) + r.argument * 8;
  const unsigned error = SECCOMP_RET_ERRNO | static_cast<unsigned>(r.error);
  const unsigned char to_next = looks_at_argument ? 4 : 1;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  const unsigned short compare = r.with_all_above ? BPF_JGE : BPF_JEQ;
  filter.push_back(
      BPF_JUMP(BPF_JMP | compare | BPF_K, static_cast<unsigned>(r.number), 0, to_next));
  if (looks_at_argument) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at));
    filter.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, r.bits));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r.value, 0, 1));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, error));
}

}  // namespace

bool refuse(const std::vector<refusal>& refusals) {
  std::vector<sock_filter> filter;
  for (const refusal& r : refusals) add(r, filter);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace sley_test
