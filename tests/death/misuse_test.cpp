// Misuse that Go calls fatal: it cannot be recovered from, so the process ends and says why. H5 of
// the list of Go's tests (TestMutexMisuse), and objects that are destroyed while a goroutine needs
// them.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <shared_mutex>
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

CHILD_MAIN(destroys_a_condition_variable_that_is_waited_for) {
  return sley::run([] {
    sley::mutex m;
    {
      sley::condition_variable changed;
      sley_test::go_until_parked([&] {
        std::unique_lock lock(m);
        changed.wait(lock);
      });
    }
    return 4;
  });
}

TEST(misuse, destroying_a_condition_variable_that_is_waited_for_is_fatal) {
  const auto child = sley_test::run_child("destroys_a_condition_variable_that_is_waited_for");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_NE(child.err.find("destroyed while a goroutine or thread waits for it"), std::string::npos)
      << child;
}

namespace {

// A program that ends while goroutines hold its static objects or wait for them.
struct shared_things {
  sley::mutex m;
  sley::recursive_mutex recursive;
  sley::shared_mutex shared;
  sley::condition_variable changed;
  sley::wait_group group;
  sley::binary_semaphore semaphore{0};
  sley::latch latch{1};
  sley::once_flag once;
};

}  // namespace

CHILD_MAIN(ends_with_goroutines_at_static_objects) {
  static shared_things all;
  return sley::run([] {
    all.group.add(1);
    for (int i = 0; i < 2; ++i) sley_test::go_until_parked([] { all.group.wait(); });
    sley_test::go_until_parked([] { all.semaphore.acquire(); });
    sley_test::go_until_parked([] { all.latch.wait(); });
    sley_test::go_until_parked([] {
      const std::lock_guard guard(all.recursive);
      const std::shared_lock shared(all.shared);
      std::unique_lock lock(all.m);
      all.changed.wait(lock);
    });
    sley_test::go_until_parked([] { sley::call_once(all.once, [] { sley::block_forever(); }); });
    sley_test::go_until_parked([] { sley::call_once(all.once, [] {}); });
    sley_test::go_until_parked([] { all.shared.lock(); });
    sley_test::go_until_parked([] {
      all.m.lock();
      sley::block_forever();
    });
    sley_test::go_until_parked([] { all.m.lock(); });
    return 7;
  });
}

TEST(misuse, a_program_may_end_while_goroutines_wait_at_its_static_objects) {
  const auto child = sley_test::run_child("ends_with_goroutines_at_static_objects");
  EXPECT_EQ(child.status, 7) << child;
}

#ifdef SLEY_DEBUG_CHECKS
CHILD_MAIN(destroys_a_locked_mutex) {
  return sley::run([] {
    sley::mutex m;
    m.lock();
    return 4;
  });
}

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
       run_children({"destroys_a_locked_mutex", "destroys_a_locked_shared_mutex",
                     "destroys_a_locked_recursive_mutex"})) {
    EXPECT_EQ(child.status, 2) << child;
    EXPECT_NE(child.err.find("destroyed while it is locked"), std::string::npos) << child;
  }
}

namespace {

// Destroys a T, made from the arguments, while a goroutine waits in wait(T&).
template <class T, class F, class... Args>
int destroy_under(F wait, Args... args) {
  return sley::run([&] {
    T object(args...);
    sley_test::go_until_parked([&] { wait(object); });
    return 4;
  });
}

}  // namespace

CHILD_MAIN(destroys_a_semaphore_that_is_waited_for_with_a_deadline) {
  return destroy_under<sley::binary_semaphore>(
      [](auto& s) { (void)s.try_acquire_for(std::chrono::hours(1)); }, 0);
}
CHILD_MAIN(destroys_a_latch_that_is_waited_for) {
  return destroy_under<sley::latch>([](auto& l) { l.wait(); }, 1);
}
CHILD_MAIN(destroys_a_barrier_that_is_waited_for) {
  return destroy_under<sley::barrier<>>([](auto& b) { b.arrive_and_wait(); }, 2);
}
CHILD_MAIN(destroys_a_once_flag_that_is_waited_for) {
  return sley::run([] {
    sley::once_flag flag;
    sley_test::go_until_parked([&] { sley::call_once(flag, [] { sley::block_forever(); }); });
    sley_test::go_until_parked([&] { sley::call_once(flag, [] {}); });
    return 4;
  });
}
TEST(misuse, destroying_an_object_with_waiters_is_fatal_in_debug_builds) {
  for (const auto& child :
       run_children({"destroys_a_semaphore_that_is_waited_for_with_a_deadline",
                     "destroys_a_latch_that_is_waited_for", "destroys_a_barrier_that_is_waited_for",
                     "destroys_a_once_flag_that_is_waited_for"})) {
    EXPECT_EQ(child.status, 2) << child;
    EXPECT_NE(child.err.find("destroyed while a goroutine or thread waits for it"),
              std::string::npos)
        << child;
  }
}

// With another reader in, the count alone would not show it.
CHILD_MAIN(unlocks_shared_what_another_has_locked) {
  return sley::run([] {
    sley::shared_mutex m;
    m.lock_shared();
    sley::wait_group group;
    group.go([&m] { m.unlock_shared(); });
    group.wait();
    return 4;
  });
}

namespace {

// Another goroutine unlocks what the main one, or a foreign thread, has locked.
template <class Mutex>
int unlock_elsewhere(Mutex& m) {
  m.lock();
  sley::wait_group group;
  group.go([&m] { m.unlock(); });
  group.wait();
  return 4;
}

}  // namespace

CHILD_MAIN(unlocks_a_mutex_of_another) {
  return sley::run([] {
    sley::mutex m;
    return unlock_elsewhere(m);
  });
}

CHILD_MAIN(unlocks_a_mutex_of_a_thread) {
  sley::mutex m;
  return unlock_elsewhere(m);
}

// A mutex that was handed over belongs to its new holder.
CHILD_MAIN(unlocks_a_mutex_that_it_has_handed_over) {
  return sley::run([] {
    sley::mutex m;
    m.lock();
    const sley::chan<void> has_it;
    sley::go([&] {
      m.lock();
      has_it.send();
      sley::block_forever();
    });
    sley_test::let_others_run();
    m.unlock();
    has_it.receive();
    m.unlock();
    return 4;
  });
}

CHILD_MAIN(unlocks_a_shared_mutex_of_another) {
  return sley::run([] {
    sley::shared_mutex m;
    return unlock_elsewhere(m);
  });
}

TEST(misuse, unlocking_another_ones_lock_is_fatal_in_debug_builds) {
  for (const auto& child : run_children(
           {"unlocks_a_mutex_of_another", "unlocks_a_mutex_of_a_thread",
            "unlocks_a_mutex_that_it_has_handed_over", "unlocks_a_shared_mutex_of_another"})) {
    EXPECT_EQ(child.status, 2) << child;
    EXPECT_NE(child.err.find("by a goroutine or thread that has not locked it"), std::string::npos)
        << child;
  }
}

TEST(misuse, unlocking_another_ones_shared_lock_is_fatal_in_debug_builds) {
  const auto child = sley_test::run_child("unlocks_shared_what_another_has_locked");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_NE(child.err.find("by a goroutine or thread that has not locked it"), std::string::npos)
      << child;
}
#endif

CHILD_MAIN(is_done_twice) {
  return sley::run([] {
    sley::wait_group group;
    group.go([&] { group.done(); });
    sley::block_forever();
  });
}

// The second comes from a destructor.
TEST(misuse, a_goroutine_of_a_group_that_is_done_twice_is_fatal) {
  const auto child = sley_test::run_child("is_done_twice");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_EQ(child.err.rfind("fatal error: sley::wait_group: negative counter\n", 0), 0u) << child;
}

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
