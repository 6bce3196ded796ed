// shared_mutex and recursive_mutex: the conditions of [thread.sharedmutex] and [thread.mutex], and
// what Go's sync/rwmutex_test.go asserts (H7, H9 and HammerRWMutex). Readers go another way once
// many have come without a writer, so most tests let readers meet first.
#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <unordered_map>
#include <vector>

using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

static_assert(!std::is_copy_constructible_v<sley::shared_mutex>);
static_assert(!std::is_copy_constructible_v<sley::recursive_mutex>);

// Lets readers meet until they use slots from then on.
static void let_readers_meet(sley::shared_mutex& m) {
  sley::wait_group group;
  for (int g = 0; g < 4; ++g) {
    group.go([&m] {
      for (int i = 0; i < rounds(2000); ++i) {
        m.lock_shared();
        m.unlock_shared();
      }
    });
  }
  group.wait();
}

// H7, TestParallelReaders
GO_TEST(shared_mutex, several_readers_hold_it_at_once) {
  for (const bool meet : {false, true}) {
    sley::shared_mutex m;
    if (meet) let_readers_meet(m);
    constexpr int readers = 3;
    sley::chan<bool> locked(readers);
    sley::chan<bool> go_on(readers);
    sley::wait_group group;
    for (int i = 0; i < readers; ++i) {
      group.go([&, locked, go_on] {
        m.lock_shared();
        locked.send(true);
        go_on.receive();
        m.unlock_shared();
      });
    }
    for (int i = 0; i < readers; ++i) locked.receive();
    EXPECT_FALSE(m.try_lock());
    EXPECT_FALSE(m.try_lock_for(1ms));
    EXPECT_TRUE(m.try_lock_shared());
    m.unlock_shared();
    for (int i = 0; i < readers; ++i) go_on.send(true);
    group.wait();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
  }
}

// H9, TestRLocker: writer preference, and readers before the next writer.
GO_TEST(shared_mutex, a_waiting_writer_holds_off_new_readers_that_precede_the_next_writer) {
  for (const bool meet : {false, true}) {
    sley::shared_mutex m;
    if (meet) let_readers_meet(m);
    sley::chan<char> order(3);
    sley::wait_group group;
    group.add(3);
    m.lock_shared();
    go_until_parked([&, order] {
      m.lock();
      order.send('w');
      m.unlock();
      group.done();
    });
    EXPECT_FALSE(m.try_lock_shared()) << "a writer waits";
    EXPECT_FALSE(m.try_lock_shared_for(1ms));
    go_until_parked([&, order] {
      const std::shared_lock lock(m);
      order.send('r');
      group.done();
    });
    go_until_parked([&, order] {
      m.lock();
      order.send('W');
      m.unlock();
      group.done();
    });
    EXPECT_EQ(order.size(), 0U);
    m.unlock_shared();
    group.wait();
    EXPECT_EQ(order.receive(), 'w');
    EXPECT_EQ(order.receive(), 'r');
    EXPECT_EQ(order.receive(), 'W');
  }
}

// A writer is inside alone; writers and readers that give up leave nothing behind.
template <class Group>
void hammer(Group& group, int goroutines, int laps, unsigned writes_in) {
  sley::shared_mutex m;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  std::int64_t value = 0;  // guarded by m
  std::atomic<std::int64_t> written{0};
  for (int g = 0; g < goroutines; ++g) {
    group.go([&, g] {
      sley_test::random_source random(static_cast<std::uint64_t>(g));
      for (int i = 0; i < laps; ++i) {
        const bool is_timed = random.one_in(8);
        const bool is_try = !is_timed && random.one_in(8);
        const auto limit = std::chrono::nanoseconds(random.below(20'000));
        const bool pauses = random.one_in(20);
        if (random.one_in(writes_in)) {
          if (is_timed ? !m.try_lock_for(limit) : is_try && !m.try_lock()) continue;
          if (!is_timed && !is_try) m.lock();
          EXPECT_EQ(++writers, 1);
          EXPECT_EQ(readers, 0);
          ++value;
          ++written;
          if (pauses) sley::this_goroutine::yield();
          --writers;
          m.unlock();
        } else {
          if (is_timed ? !m.try_lock_shared_for(limit) : is_try && !m.try_lock_shared()) continue;
          if (!is_timed && !is_try) m.lock_shared();
          ++readers;
          EXPECT_EQ(writers, 0);
          const std::int64_t before = value;
          if (pauses) sley::this_goroutine::yield();
          EXPECT_EQ(value, before);
          --readers;
          m.unlock_shared();
        }
      }
    });
  }
  group.wait();
  EXPECT_EQ(value, written);
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

// TestRWMutex
GO_TEST(shared_mutex, many_writers_exclude_each_other_and_readers) {
  sley::wait_group group;
  hammer(group, 10, rounds(2000), 3);
}

GO_TEST(shared_mutex, a_rare_writer_excludes_readers_that_do_not_write_to_the_lock) {
  sley::wait_group group;
  hammer(group, 10, rounds(10000), 500);
}

// Readers leave marks with processors, some of which are gone when they unlock.
GO_TEST(shared_mutex, readers_are_seen_while_processors_come_and_go) {
  const sley_test::processors as_before;
  std::atomic<bool> ends = false;
  sley::wait_group changes;
  changes.go([&] {
    for (int i = 0; !ends; ++i) {
      sley::runtime::set_max_procs(1 + i % 8);
      sley::this_goroutine::yield();
    }
  });
  sley::wait_group group;
  hammer(group, 10, rounds(3000), 500);
  ends = true;
  changes.wait();
}

FOREIGN_TEST(shared_mutex, threads_exclude_each_other) {
  sley_test::thread_group group;
  hammer(group, 4, rounds(4000), 100);
}

GO_TEST(shared_mutex, a_writer_that_gives_up_lets_readers_in) {
  for (const bool meet : {false, true}) {
    sley::shared_mutex m;
    if (meet) let_readers_meet(m);
    m.lock_shared();
    sley::wait_group group;
    group.add(2);
    sley_test::go_until_parked_or_ended([&] {
      EXPECT_FALSE(m.try_lock_until(steady_clock::now() + 20ms));
      group.done();
    });
    sley::go([&] {
      m.lock_shared();
      m.unlock_shared();
      group.done();
    });
    group.wait();
    EXPECT_TRUE(m.try_lock_shared());
    m.unlock_shared();
    m.unlock_shared();
    EXPECT_TRUE(m.try_lock_until(system_clock::now()));
    EXPECT_FALSE(m.try_lock_shared_until(system_clock::now() + 1ms));
    m.unlock();
    m.lock();
    m.unlock();
  }
}

GO_TEST(shared_mutex, a_read_lock_may_be_held_across_parks_on_any_processor) {
  sley::shared_mutex m;
  let_readers_meet(m);
  sley::wait_group group;
  for (int g = 0; g < 20; ++g) {
    group.go([&, g] {
      for (int i = 0; i < rounds(100); ++i) {
        if (g == 0) {
          const std::lock_guard lock(m);
        } else {
          const std::shared_lock lock(m);
          sley::this_goroutine::yield();
        }
      }
    });
  }
  group.wait();
}

GO_TEST(shared_mutex, many_locks_are_held_at_once) {
  std::vector<sley::shared_mutex> all(300);
  let_readers_meet(all[0]);
  for (auto& m : all) m.lock_shared();
  for (auto& m : all) EXPECT_FALSE(m.try_lock());
  for (auto& m : all) m.unlock_shared();
  for (auto& m : all) {
    EXPECT_TRUE(m.try_lock());
    m.unlock();
  }
}

GO_TEST(recursive_mutex, only_the_owner_may_lock_it_again) {
  sley::recursive_mutex m;
  m.lock();
  EXPECT_TRUE(m.try_lock());
  const auto others = [&] { return sley::async([&] { return m.try_lock(); }).get(); };
  EXPECT_FALSE(others());
  m.unlock();
  EXPECT_FALSE(others());
  m.unlock();
  EXPECT_TRUE(sley::async([&] {
                const bool locked = m.try_lock();
                m.unlock();
                return locked;
              }).get());
}

namespace {

struct unlocked_at_the_end {
  sley::shared_mutex* m = nullptr;
  ~unlocked_at_the_end() {
    if (m != nullptr) m->unlock_shared();
  }
};

}  // namespace

GO_TEST(shared_mutex, a_goroutines_variable_may_unlock_it_as_the_goroutine_ends) {
  sley::shared_mutex m;
  sley::goroutine_local<unlocked_at_the_end> last;
  sley::wait_group group;
  for (int g = 0; g < 5; ++g) {
    group.go([&] {
      unlocked_at_the_end& mine = last.get();
      m.lock_shared();
      mine.m = &m;
    });
  }
  group.wait();
  EXPECT_TRUE(eventually([&] { return m.try_lock(); }));
  m.unlock();
}

namespace {

// What sync.Map is for in Go.
class shared_map {
 public:
  void store(int key, int value) {
    const std::lock_guard writer(guard_);
    all_[key] = value;
  }
  bool erase(int key) {
    const std::lock_guard writer(guard_);
    return all_.erase(key) != 0;
  }
  int load(int key) const {
    const std::shared_lock reader(guard_);
    const auto place = all_.find(key);
    return place == all_.end() ? 0 : place->second;
  }
  template <class F>
  void for_each(F f) const {
    const std::shared_lock reader(guard_);
    for (const auto& [key, value] : all_) f(key, value);
  }

 private:
  mutable sley::shared_mutex guard_;
  std::unordered_map<int, int> all_;  // [lock: guard_]
};

constexpr int keys_each = 50;
constexpr int stable_keys = 20;  // -1, -2, ...

// On keys of one's own it does what a map of one's own does.
void change_at_random(shared_map& map, int self) {
  sley_test::random_source chance(static_cast<std::uint64_t>(self));
  std::unordered_map<int, int> mine;
  for (int i = 1; i <= rounds(3000); ++i) {
    const int key = self * keys_each + chance.index(keys_each);
    switch (chance.below(4)) {
      case 0: EXPECT_EQ(map.erase(key), mine.erase(key) != 0); break;
      case 1: map.store(key, mine[key] = i); break;
      default: EXPECT_EQ(map.load(key), mine.contains(key) ? mine[key] : 0);
    }
    if (chance.one_in(16)) sley::this_goroutine::yield();
  }
  for (int key = self * keys_each; key < (self + 1) * keys_each; ++key) {
    EXPECT_EQ(map.load(key), mine.contains(key) ? mine[key] : 0);
  }
}

// Each key at most once, and all that stay.
void expect_a_sane_range(const shared_map& map) {
  std::unordered_map<int, int> seen;
  map.for_each([&](int key, int value) {
    EXPECT_EQ(seen[key]++, 0);
    EXPECT_EQ(value, key < 0 ? -key : value);
  });
  for (int key = -stable_keys; key < 0; ++key) EXPECT_EQ(seen[key], 1);
}

}  // namespace

// H22, TestMapMatchesRWMutex, TestConcurrentRange
GO_TEST(shared_mutex, a_map_under_it_matches_a_plain_map_and_ranges_see_stable_keys) {
  constexpr int writers = 4;
  shared_map map;
  for (int key = -stable_keys; key < 0; ++key) map.store(key, -key);
  std::atomic<int> writing{writers};
  sley::wait_group group;
  for (int w = 0; w < writers; ++w) {
    group.go([&, w] {
      change_at_random(map, w);
      --writing;
    });
  }
  for (int r = 0; r < 2; ++r) {
    group.go([&] {
      do {
        expect_a_sane_range(map);
        sley::this_goroutine::yield();
      } while (writing > 0);
    });
  }
  group.wait();
}

GO_TEST(recursive_mutex, many_goroutines_exclude_each_other) {
  sley::recursive_mutex m;
  int counter = 0;
  sley::wait_group group;
  for (int g = 0; g < 10; ++g) {
    group.go([&] {
      for (int i = 0; i < rounds(1000); ++i) {
        const std::lock_guard outer(m);
        const std::lock_guard inner(m);
        ++counter;
        if (i % 50 == 0) sley::this_goroutine::yield();
      }
    });
  }
  group.wait();
  EXPECT_EQ(counter, 10 * rounds(1000));
}

FOREIGN_TEST(recursive_mutex, a_thread_may_be_its_owner) {
  sley::recursive_mutex m;
  const std::lock_guard outer(m);
  const std::lock_guard inner(m);
  sley_test::thread_group threads;
  threads.go([&] { EXPECT_FALSE(m.try_lock()); });
  threads.wait();
}
