#include "support/kernels.hpp"

#include <algorithm>
#include <cerrno>

#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace sley_test {
namespace {

// Since Linux 5.1 a new system call has the same number on every CPU, and the next one is higher.
// Headers may be older than these calls.
constexpr long number_of_clone3 = 435;                   // Linux 5.3
constexpr long number_of_process_madvise = 440;          // 5.10
constexpr long number_of_epoll_pwait2 = 441;             // 5.11, the newest of gVisor's list
constexpr long number_of_process_mrelease = 448;         // 5.15
constexpr long number_of_set_mempolicy_home_node = 450;  // 5.17, the newest of 6.1
constexpr long number_of_mseal = 462;                    // 6.10, the newest of 6.12
constexpr long number_of_removexattrat = 466;            // 6.13, the newest of Docker's list

constexpr refusal every_call_after(long newest) {
  return {.number = newest + 1, .error = ENOSYS, .with_all_above = true};
}

// MADV_GUARD_INSTALL and MADV_GUARD_REMOVE, 102 and 103, of Linux 6.13.
constexpr refusal no_guards_by_advice = {
    .number = SYS_madvise, .error = EINVAL, .argument = 2, .bits = ~1U, .value = 102};
constexpr refusal no_guards_of_many = {
    .number = SYS_process_madvise, .error = EINVAL, .argument = 3, .bits = ~1U, .value = 102};

// Before Linux 6.12 the slice that a thread asks for is taken and not heeded.
constexpr refusal no_short_slices = {.number = SYS_sched_setattr, .error = 0};

std::vector<refusal> linux_before_6_12(long newest) {
  return {every_call_after(newest), no_guards_by_advice, no_guards_of_many, no_short_slices};
}

// Linux 6.12 refuses the calling thread's own number (PIDFD_SELF_THREAD) and that advice.
std::vector<refusal> linux_6_12() {
  return {every_call_after(number_of_mseal), no_guards_by_advice, no_guards_of_many};
}

// Docker's default profile for a container without capabilities of its own. Calls that hardly a
// program makes are missing, and calls that it allows with certain arguments alone (socket,
// personality) are allowed here.
// clang-format off
constexpr long forbidden_by_docker[] = {
    SYS_acct, SYS_add_key, SYS_bpf, SYS_clock_settime, SYS_delete_module, SYS_fanotify_init,
    SYS_finit_module, SYS_fsconfig, SYS_fsmount, SYS_fsopen, SYS_fspick, SYS_get_mempolicy,
    SYS_init_module, SYS_io_uring_enter, SYS_io_uring_register, SYS_io_uring_setup, SYS_kcmp,
    SYS_kexec_load, SYS_keyctl, SYS_lookup_dcookie, SYS_mbind, SYS_migrate_pages, SYS_mount,
    SYS_move_mount, SYS_move_pages, SYS_nfsservctl, SYS_open_by_handle_at, SYS_open_tree,
    SYS_perf_event_open, SYS_pidfd_getfd, SYS_pivot_root, SYS_process_madvise, SYS_quotactl,
    SYS_reboot, SYS_request_key, SYS_set_mempolicy, SYS_setdomainname, SYS_sethostname, SYS_setns,
    SYS_settimeofday, SYS_swapoff, SYS_swapon, SYS_syslog, SYS_umount2, SYS_unshare,
    SYS_userfaultfd, SYS_vhangup
};
// clang-format on

std::vector<refusal> docker() {
  std::vector<refusal> all = {{SYS_clone3, ENOSYS}, every_call_after(number_of_removexattrat)};
  constexpr unsigned last_of_namespaces = 0x40000000;  // CLONE_NEWNET
  constexpr unsigned namespaces = 0x7e020000;
  // No new namespace.
  for (unsigned flag = 1; flag <= last_of_namespaces; flag <<= 1) {
    if ((namespaces & flag) == 0) continue;
    all.push_back(
        {.number = SYS_clone, .error = EPERM, .argument = 0, .bits = flag, .value = flag});
  }
  for (const long number : forbidden_by_docker) all.push_back({number, EPERM});
  return all;
}

// What the list of system calls that gVisor publishes says it has not, on a platform that has
// neither membarrier nor rseq.
std::vector<refusal> gvisor() {
  return {{SYS_copy_file_range, ENOSYS},
          {SYS_fanotify_init, ENOSYS},
          {SYS_fspick, ENOSYS},
          {SYS_io_pgetevents, ENOSYS},
          {SYS_io_uring_register, ENOSYS},
          {SYS_membarrier, ENOSYS},
          {SYS_mq_timedreceive, ENOSYS},
          {SYS_mq_timedsend, ENOSYS},
          {SYS_perf_event_open, ENODEV},
          {SYS_pkey_alloc, ENOSYS},
          {SYS_pkey_free, ENOSYS},
          {SYS_pkey_mprotect, ENOSYS},
          {SYS_process_madvise, ENOSYS},
          {SYS_remap_file_pages, ENOSYS},
          {SYS_rseq, ENOSYS},
          {SYS_userfaultfd, ENOSYS},
          {SYS_vmsplice, ENOSYS},
          {.number = SYS_prctl,
           .error = EINVAL,
           .argument = 0,
           .bits = ~0U,
           .value = PR_SET_TIMERSLACK},
          {.number = SYS_prctl,
           .error = EINVAL,
           .argument = 0,
           .bits = ~0U,
           .value = PR_GET_TIMERSLACK},
          {SYS_sched_setaffinity, 0},
          {SYS_sched_setattr, 0},
          no_guards_by_advice,
          every_call_after(number_of_epoll_pwait2)};
}

// Without all that sley does without. Processes and affinity stay, because the tests need them.
std::vector<refusal> least() {
  constexpr unsigned all_bits = ~0U;
  std::vector<refusal> all = {
      // The CPU clocks of other threads and processes have negative numbers.
      {SYS_clock_gettime, EPERM, 0, 1U << 31, 1U << 31},
      {SYS_getsockopt, ENOPROTOOPT, 2, all_bits, SO_INCOMING_CPU},
      {SYS_prctl, EINVAL, 0, all_bits, PR_GET_TIMERSLACK},
      {SYS_prctl, EINVAL, 0, all_bits, PR_SET_TIMERSLACK},
      {SYS_setsockopt, ENOPROTOOPT, 2, all_bits, TCP_INQ},
      {SYS_setsockopt, ENOPROTOOPT, 2, all_bits, TCP_NOTSENT_LOWAT}};
  for (const long number :
       {SYS_getrandom, SYS_madvise, SYS_membarrier, SYS_memfd_create, SYS_mincore, SYS_openat2,
        SYS_process_madvise, SYS_process_vm_readv, SYS_ptrace, SYS_rseq, SYS_sched_getattr,
        SYS_sched_setaffinity, SYS_sched_setattr, SYS_sendfile, SYS_splice, SYS_timer_create}) {
    all.push_back({number, EPERM});
  }
  return all;
}

}  // namespace

const std::vector<kernel_profile>& kernel_profiles() {
  static const std::vector<kernel_profile> all = {
      {"linux-5.4", linux_before_6_12(number_of_clone3)},
      {"linux-5.10", linux_before_6_12(number_of_process_madvise)},
      {"linux-5.15", linux_before_6_12(number_of_process_mrelease)},
      {"linux-6.1", linux_before_6_12(number_of_set_mempolicy_home_node)},
      {"linux-6.12", linux_6_12()},
      {"docker", docker()},
      {"gvisor", gvisor()},
      {"least", least()},
  };
  return all;
}

const kernel_profile* find_kernel_profile(std::string_view name) {
  const auto found = std::ranges::find(kernel_profiles(), name, &kernel_profile::name);
  return found == kernel_profiles().end() ? nullptr : &*found;
}

}  // namespace sley_test
