// Misuse that Go calls fatal: it cannot be recovered from, so the process ends and says why. H5 of
// the list of Go's tests (TestMutexMisuse), and what leads into a wait that cannot end.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

using sley_test::run_children;

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

CHILD_MAIN(unlocks_an_unlocked_shared_mutex) {
  return sley::run([] {
    sley::shared_mutex m;
    m.unlock();
    return 4;
  });
}

CHILD_MAIN(unlocks_a_shared_mutex_that_is_locked_shared) {
  return sley::run([] {
    sley::shared_mutex m;
    m.lock_shared();
    m.unlock();
    return 4;
  });
}

CHILD_MAIN(unlocks_shared_an_unlocked_shared_mutex) {
  return sley::run([] {
    sley::shared_mutex m;
    m.lock();
    m.unlock();
    m.unlock_shared();
    return 4;
  });
}

CHILD_MAIN(unlocks_shared_a_shared_mutex_that_is_locked) {
  return sley::run([] {
    sley::shared_mutex m;
    m.lock();
    m.unlock_shared();
    return 4;
  });
}

CHILD_MAIN(unlocks_a_recursive_mutex_of_another) {
  return sley::run([] {
    sley::recursive_mutex m;
    m.lock();
    sley::wait_group group;
    group.go([&m] { m.unlock(); });
    group.wait();
    return 4;
  });
}

CHILD_MAIN(unlocks_an_unlocked_recursive_mutex) {
  sley::recursive_mutex m;
  m.lock();
  m.unlock();
  m.unlock();
  return 4;
}

#ifdef SLEY_DEBUG_CHECKS
CHILD_MAIN(destroys_a_locked_shared_mutex) {
  return sley::run([] {
    sley::shared_mutex m;
    m.lock_shared();
    return 4;
  });
}

CHILD_MAIN(destroys_a_locked_recursive_mutex) {
  sley::recursive_mutex m;
  m.lock();
  return 4;
}

TEST(misuse, destroying_a_locked_mutex_is_fatal_in_debug_builds) {
  for (const auto& child :
       run_children({"destroys_a_locked_shared_mutex", "destroys_a_locked_recursive_mutex"})) {
    EXPECT_TRUE(child.failed()) << child;
    EXPECT_NE(child.err.find("destroyed while it is locked"), std::string::npos) << child;
  }
}
#endif

TEST(misuse, unlocking_an_unlocked_mutex_is_fatal) {
  const std::vector<std::string> names = {"unlocks_an_unlocked_mutex",
                                          "unlocks_twice",
                                          "unlocks_in_a_thread",
                                          "unlocks_twice_after_contention",
                                          "unlocks_an_unlocked_shared_mutex",
                                          "unlocks_a_shared_mutex_that_is_locked_shared",
                                          "unlocks_shared_an_unlocked_shared_mutex",
                                          "unlocks_shared_a_shared_mutex_that_is_locked",
                                          "unlocks_a_recursive_mutex_of_another",
                                          "unlocks_an_unlocked_recursive_mutex"};
  const auto children = run_children(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& child = children[i];
    EXPECT_TRUE(child.failed()) << names[i] << ": " << child;
    EXPECT_NE(child.status, 3) << names[i] << ": " << child;
    EXPECT_NE(child.status, 4) << names[i] << ": " << child;
    EXPECT_NE(child.err.find("unlocked"), std::string::npos) << names[i] << ": " << child;
  }
}
