// Misuse that Go calls fatal: it cannot be recovered from, so the process ends and says why. H5 of
// the list of Go's tests (TestMutexMisuse), and what leads into a wait that cannot end.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <cstdlib>
#include <exception>
#include <string>

using sley_test::run_child;

CHILD_MAIN(unlocks_an_unlocked_mutex) {
  return sley::run([] {
    sley::mutex m;
    try {
      m.unlock();
    } catch (...) {
      return 3;
    }
    return 4;
  });
}

CHILD_MAIN(unlocks_twice) {
  return sley::run([] {
    sley::mutex m;
    m.lock();
    m.unlock();
    m.unlock();
    return 4;
  });
}

CHILD_MAIN(unlocks_in_a_thread) {
  sley::mutex m;
  m.unlock();
  return 4;
}

// One that has been fought for has another state inside.
CHILD_MAIN(unlocks_twice_after_contention) {
  return sley::run([] {
    sley::mutex m;
    m.lock();
    sley::wait_group group;
    for (int i = 0; i < 4; ++i) {
      group.go([&m] {
        m.lock();
        m.unlock();
      });
    }
    sley_test::let_others_run();
    m.unlock();
    group.wait();
    m.unlock();
    return 4;
  });
}

TEST(misuse, unlocking_an_unlocked_mutex_is_fatal) {
  for (const char* name : {"unlocks_an_unlocked_mutex", "unlocks_twice", "unlocks_in_a_thread",
                           "unlocks_twice_after_contention"}) {
    const auto child = run_child(name);
    EXPECT_TRUE(child.failed()) << name << ": " << child;
    EXPECT_NE(child.status, 3) << name << ": " << child;
    EXPECT_NE(child.status, 4) << name << ": " << child;
    EXPECT_NE(child.err.find("unlocked"), std::string::npos) << name << ": " << child;
  }
}
