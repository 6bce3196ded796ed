// What files share with others.
#pragma once

namespace sley::io {

// From now on SIGPIPE does nothing when a write of ours to a pipe raises it. Any thread.
void expect_broken_pipes() noexcept;

}  // namespace sley::io
