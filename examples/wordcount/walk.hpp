// The walk: a goroutine for each directory and for each file, and what they find.
#pragma once

#include "count.hpp"
#include "files.hpp"

#include <sley/chan.hpp>
#include <sley/sync.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <system_error>

namespace wordcount {

enum class outcome {
  counted,           // a regular file, read to its end
  directory,         // listed
  symlink,           // leads to something; not followed
  dangling_symlink,  // leads nowhere
  symlink_loop,      // leads back to itself or to a directory that contains it
  special,           // fifo, socket or device; not opened
  unreadable,        // see the error
  vanished,          // listed, but gone before it could be opened
};

struct finding {
  outcome what;
  std::string path;
  counts figures;
  std::error_code error;
};

// A directory on the way down, and the directories that contain it.
struct ancestry {
  file_id id;
  std::shared_ptr<const ancestry> parent;
};

using buffer = std::unique_ptr<unsigned char[]>;
inline constexpr std::size_t buffer_size = 64 * 1024;

// Walks trees, at most `limit` files and directories open at a time, and sends a finding for each
// thing on the way. It must outlive its goroutines: wait() before it goes.
class walker {
 public:
  walker(std::size_t limit, sley::send_chan<finding> findings);

  // Any number of these, then one wait(), which returns when everything has been found.
  void start_directory(std::string path);
  void start_file(std::string path);
  void wait() { group_.wait(); }

 private:
  void walk_directory(const std::string& path, const std::shared_ptr<const ancestry>& parent);
  void spawn_directory(std::string path, std::shared_ptr<const ancestry> parent);
  void spawn_file(std::string path);

  sley::chan<buffer> slots_;  // the holder of such a buffer may keep one thing open
  sley::send_chan<finding> findings_;
  sley::wait_group group_;
};

}  // namespace wordcount
