// For models of src/sync: no wait is counted.
#pragma once

namespace sley::sync {

struct lock_wait {
  ~lock_wait() {}
};

}  // namespace sley::sync
