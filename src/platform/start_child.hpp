// How a process starts another program: by a child that shares its memory until then, as vfork(2)
// makes it. posix_spawn(3) does the same, but tells the child's number alone: where SIGCHLD is
// ignored, or another thread waits for all children, a child that ends soon is gone before that
// number can be made a pidfd, and may then name another process.
#pragma once

#include <sys/wait.h>

namespace sley::platform {

// P_PIDFD of waitid(2), which libc has a name for since glibc 2.36.
inline constexpr auto pidfd_id = static_cast<idtype_t>(3);

// Where a standard stream of the child leads.
struct child_stream {
  enum class kind : unsigned char { inherited, null, descriptor, output };  // output: as stream 1
  kind what = kind::inherited;
  int fd = -1;  // of a descriptor; it may be any, also one of the standard streams
};

struct child_plan {
  const char* const* programs;  // paths, tried in turn as PATH is; null at the end
  char* const* arguments;       // null at the end
  char* const* environment;     // likewise
  const char* directory;        // null: the caller's
  child_stream streams[3];
  int* handed_down;  // become descriptors 3, 4 and so on of the child, which overwrites them
  int handed_count;  // how many they are
  char*
      child_number;  // room for the child's number in decimal and a zero byte; null: not asked for
  bool leads_group;
  bool leads_session;
};

// For child_number: an int in decimal, and the zero byte.
inline constexpr int most_number_bytes = 12;

struct child_process {
  int pid = 0;
  int handle = -1;  // a pidfd, closed on exec
};

// Starts the program. Returns 0, or an errno value: then there is no child. The child has no
// blocked signal and no handler; ignored signals stay ignored. It opens and closes descriptors of
// its own only, so this process keeps its record locks (fcntl(2)).
//
// Blocks the thread until the program runs or has failed to. In the kernel's terms the calling
// thread is the child's parent: where the child asks for a signal at its parent's end
// (PR_SET_PDEATHSIG), the child gets the signal when that thread ends.
int start_child(const child_plan& plan, child_process& child) noexcept;

}  // namespace sley::platform
