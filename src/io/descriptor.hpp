// Writing to descriptors of all kinds.
#pragma once

#include <sley/detail/descriptor.hpp>

#include "runtime/scheduler.hpp"

#include <span>

namespace sley::io {

// While it lives, a SIGPIPE of this thread does nothing, once expect_broken_pipes() was called: an
// error is enough. Nothing that may change the thread is to be done meanwhile.
class broken_pipe_expected {
 public:
  broken_pipe_expected() noexcept { m_->writes_to_pipe.store_relaxed(true); }
  ~broken_pipe_expected() { m_->writes_to_pipe.store_relaxed(false); }
  broken_pipe_expected(const broken_pipe_expected&) = delete;
  broken_pipe_expected& operator=(const broken_pipe_expected&) = delete;

 private:
  rt::machine* m_ = rt::this_machine();
};

// One system call that writes, without SIGPIPE; its result.
long put(int fd, std::span<const iovec> buffers, detail::io_kind kind) noexcept;

}  // namespace sley::io
