#include "platform/system_call_names.hpp"

#include <sys/syscall.h>

namespace sley::platform {

namespace {

struct named_call {
  std::int64_t number;
  std::string_view name;
};

// The calls that may sleep.
constexpr named_call calls[] = {
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_brk, "brk"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_clone, "clone"},
    {SYS_clone3, "clone3"},
    {SYS_close, "close"},
    {SYS_connect, "connect"},
    {SYS_copy_file_range, "copy_file_range"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_epoll_pwait2, "epoll_pwait2"},
    {SYS_execve, "execve"},
    {SYS_exit_group, "exit_group"},
    {SYS_fallocate, "fallocate"},
    {SYS_fchmod, "fchmod"},
    {SYS_fchown, "fchown"},
    {SYS_fcntl, "fcntl"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fsetxattr, "fsetxattr"},
    {SYS_fstatfs, "fstatfs"},
    {SYS_fsync, "fsync"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_futex, "futex"},
    {SYS_getdents64, "getdents64"},
    {SYS_getrandom, "getrandom"},
    {SYS_getxattr, "getxattr"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_io_pgetevents, "io_pgetevents"},
    {SYS_io_uring_enter, "io_uring_enter"},
    {SYS_ioctl, "ioctl"},
    {SYS_linkat, "linkat"},
    {SYS_listxattr, "listxattr"},
    {SYS_lseek, "lseek"},
    {SYS_madvise, "madvise"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_mknodat, "mknodat"},
    {SYS_mlock, "mlock"},
    {SYS_mmap, "mmap"},
    {SYS_mount, "mount"},
    {SYS_mprotect, "mprotect"},
    {SYS_mq_timedreceive, "mq_timedreceive"},
    {SYS_mq_timedsend, "mq_timedsend"},
    {SYS_mremap, "mremap"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_msgsnd, "msgsnd"},
    {SYS_msync, "msync"},
    {SYS_munlock, "munlock"},
    {SYS_munmap, "munmap"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_newfstatat, "newfstatat"},
    {SYS_openat, "openat"},
    {SYS_openat2, "openat2"},
    {SYS_ppoll, "ppoll"},
    {SYS_pread64, "pread64"},
    {SYS_preadv, "preadv"},
    {SYS_preadv2, "preadv2"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_pselect6, "pselect6"},
    {SYS_ptrace, "ptrace"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_pwritev, "pwritev"},
    {SYS_pwritev2, "pwritev2"},
    {SYS_read, "read"},
    {SYS_readahead, "readahead"},
    {SYS_readlinkat, "readlinkat"},
    {SYS_readv, "readv"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_renameat2, "renameat2"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_semop, "semop"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_sendfile, "sendfile"},
    {SYS_sendmmsg, "sendmmsg"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_sendto, "sendto"},
    {SYS_setxattr, "setxattr"},
    {SYS_shutdown, "shutdown"},
    {SYS_splice, "splice"},
    {SYS_statfs, "statfs"},
    {SYS_statx, "statx"},
    {SYS_symlinkat, "symlinkat"},
    {SYS_sync, "sync"},
    {SYS_sync_file_range, "sync_file_range"},
    {SYS_syncfs, "syncfs"},
    {SYS_tee, "tee"},
    {SYS_truncate, "truncate"},
    {SYS_umount2, "umount2"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_utimensat, "utimensat"},
    {SYS_vmsplice, "vmsplice"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
#ifdef SYS_renameat  // the newest CPUs have renameat2 alone
    {SYS_renameat, "renameat"},
#endif
#ifdef SYS_poll  // newer CPUs have none of these
    {SYS_access, "access"},
    {SYS_chmod, "chmod"},
    {SYS_chown, "chown"},
    {SYS_creat, "creat"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_fork, "fork"},
    {SYS_getdents, "getdents"},
    {SYS_link, "link"},
    {SYS_lstat, "lstat"},
    {SYS_mkdir, "mkdir"},
    {SYS_mknod, "mknod"},
    {SYS_open, "open"},
    {SYS_pause, "pause"},
    {SYS_poll, "poll"},
    {SYS_readlink, "readlink"},
    {SYS_rename, "rename"},
    {SYS_rmdir, "rmdir"},
    {SYS_select, "select"},
    {SYS_stat, "stat"},
    {SYS_symlink, "symlink"},
    {SYS_unlink, "unlink"},
    {SYS_vfork, "vfork"},
#endif
};

}  // namespace

std::string_view name_of_system_call(std::int64_t number) noexcept {
  for (const named_call& c : calls) {
    if (c.number == number) return c.name;
  }
  return {};
}

}  // namespace sley::platform
