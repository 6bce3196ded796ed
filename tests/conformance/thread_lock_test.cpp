// Goroutines locked to their threads: lock_os_thread and os_thread_lock. Which thread one is on,
// gettid(2) says; whether others get onto it, they see themselves.
#include "support/harness.hpp"
#include "support/owned_threads.hpp"
#include "support/threads.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using sley::chan;
using sley::os_thread_lock;
using sley_test::end_locked;
using sley_test::eventually;
using sley_test::is_gone;
using sley_test::owner;
using sley_test::rounds;
using sley_test::spin_until;
using sley_test::strangers;
using sley_test::threads_of_process;
using sley_test::wait_a_little;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

// --- which thread --------------------------------------------------------------------------------

GO_TEST(thread_lock, a_locked_goroutine_stays_on_its_thread_in_every_wait) {
  const strangers others;
  const os_thread_lock lock;
  const owner here;
  const chan<int> there;
  const chan<int> back;
  const chan<int> buffered(2);
  sley::mutex m;
  sley::go([=] {
    for (const int value : there) back.send(value);
  });
  const std::pair<const char*, std::function<void()>> steps[] = {
      {"a yield", [] { this_goroutine::yield(); }},
      {"a sleep", [] { this_goroutine::sleep_for(200us); }},
      {"a send", [&] { there.send(1); }},
      {"a receive", [&] { EXPECT_EQ(back.receive(), 1); }},
      {"a buffered send", [&] { buffered.send(2); }},
      {"a buffered receive", [&] { EXPECT_EQ(buffered.receive(), 2); }},
      {"a select", [&] { sley::select(sley::on_receive(back), sley::on_timeout(200us)); }},
      {"a timer", [] { EXPECT_TRUE(sley::after(100us).receive()); }},
      {"a future", [] { EXPECT_EQ(sley::async([] { return 3; }).get(), 3); }},
      {"a lock",
       [&] {
         sley::chan<void> is_locked;
         sley::go([&m, is_locked] {
           m.lock();
           is_locked.send();
           this_goroutine::yield();
           m.unlock();
         });
         is_locked.receive();
         m.lock();
         m.unlock();
       }},
      {"an announced block", [] { sley::blocking([] { usleep(300); }); }},
      {"a system call", [] { EXPECT_EQ(sley::syscall(SYS_gettid), gettid()); }},
  };
  for (int i = 0; i < rounds(30); ++i) {
    for (const auto& [name, step] : steps) {
      step();
      here.expect_here(name);
    }
  }
  there.close();
}

GO_TEST(thread_lock, a_locked_goroutine_stays_on_its_thread_while_it_computes_or_blocks) {
  const strangers others;
  const os_thread_lock lock;
  const owner here;
  for (int i = 0; i < 5; ++i) {
    // At one processor this needs more than one end of a time slice.
    const int before = others.looks();
    EXPECT_TRUE(spin_until([&] { return others.looks() > before + 50; }))
        << "no other goroutine runs";
    here.expect_here("computing");
    usleep(30'000);
    here.expect_here("an unannounced block");
    EXPECT_EQ(sley::runtime::set_max_procs(sley::runtime::max_procs()), sley::runtime::max_procs());
    here.expect_here("a change of the number of processors");
  }
}

GO_TEST(thread_lock, others_run_while_a_locked_goroutine_blocks_its_thread) {
  for (int i = 0; i < 5; ++i) {
    std::atomic<bool> stop{false};
    std::atomic<int> laps{0};
    sley::wait_group group;
    group.go([&] {
      while (!stop) {
        ++laps;
        this_goroutine::yield();
      }
    });
    {
      const os_thread_lock lock;
      const owner here;
      EXPECT_TRUE(eventually([&] { return laps > 0; }));
      const int before = laps;
      sley::blocking([&] {
        while (laps == before) usleep(1000);  // the watchdog ends it
      });
    }
    stop = true;
    group.wait();
  }
}

// C2, TestYieldLocked
GO_TEST(thread_lock, a_locked_goroutine_yields_and_sleeps_and_may_end_locked) {
  const chan<void> done;
  const pid_t tid = end_locked([done] {
    const pid_t mine = gettid();
    for (int i = 0; i < 10; ++i) {
      this_goroutine::yield();
      EXPECT_EQ(gettid(), mine);
      this_goroutine::sleep_for(1ms);
      EXPECT_EQ(gettid(), mine);
    }
    done.send();
  });
  done.receive();
  EXPECT_TRUE(is_gone(tid));
}

// C1, TestYieldLockedProgress
GO_TEST(thread_lock, a_locked_goroutine_that_only_yields_lets_others_send_to_it) {
  const chan<void> c;
  const chan<void> acknowledged;
  std::atomic<int> yields{0};
  sley::go([&, c, acknowledged] {
    const os_thread_lock lock;
    while (sley::select(sley::on_receive(c), sley::otherwise()) == 1) {
      ++yields;
      this_goroutine::yield();
    }
    acknowledged.send();
  });
  EXPECT_TRUE(eventually([&] { return yields > 100; }));
  c.send();
  acknowledged.receive();
}

namespace {

// Values there and back between two goroutines, of which each may be locked.
void play_ping_pong(bool first_locked, bool second_locked) {
  const chan<int> ping;
  const chan<int> pong;
  const int turns = rounds(2000);
  sley::wait_group group;
  group.go([=] {
    if (second_locked) this_goroutine::lock_os_thread();
    const pid_t tid = gettid();
    for (const int value : ping) {
      EXPECT_TRUE(!second_locked || gettid() == tid);
      pong.send(value + 1);
    }
    if (second_locked) this_goroutine::unlock_os_thread();
  });
  group.go([=] {
    if (first_locked) this_goroutine::lock_os_thread();
    const pid_t tid = gettid();
    for (int i = 0; i < turns; ++i) {
      ping.send(i);
      EXPECT_EQ(pong.receive(), i + 1);
      EXPECT_TRUE(!first_locked || gettid() == tid);
    }
    if (first_locked) this_goroutine::unlock_os_thread();
    ping.close();
  });
  group.wait();
}

}  // namespace

GO_TEST(thread_lock, locked_and_free_goroutines_play_ping_pong) {
  const strangers others(2);
  play_ping_pong(true, false);
  play_ping_pong(false, true);
  play_ping_pong(true, true);
}

// At one processor, too, in one of this program's runs.
GO_TEST(thread_lock, a_hundred_locked_goroutines_all_advance) {
  constexpr int count = 100;
  const int laps = rounds(50);
  std::vector<chan<int>> ring(count);
  std::atomic<int> finished{0};
  sley::wait_group group;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    group.go([&, i] {
      const os_thread_lock lock;
      const owner here;
      for (int lap = 0; lap < laps; ++lap) {
        const auto token = ring[i].receive();
        this_goroutine::yield();
        here.expect_here("a yield");
        EXPECT_EQ(*token, lap * count + static_cast<int>(i));
        const bool is_last = i + 1 == ring.size() && lap + 1 == laps;
        if (!is_last) ring[(i + 1) % ring.size()].send(*token + 1);
      }
      ++finished;
    });
  }
  ring[0].send(0);
  group.wait();
  EXPECT_EQ(finished, count);
}

GO_TEST(thread_lock, locking_and_unlocking_makes_no_threads) {
  const int before = threads_of_process();
  for (int i = 0; i < rounds(10'000); ++i) {
    const os_thread_lock lock;
    if (i % 100 == 0) this_goroutine::yield();
  }
  EXPECT_LE(threads_of_process(), before + sley::runtime::max_procs() + 5);
}

// --- nesting and owners --------------------------------------------------------------------------

namespace {

// Whether the calling goroutine's thread is for others, too: a goroutine that it starts and waits
// for then runs on the same thread, if not always.
[[nodiscard]] bool shares_its_thread() {
  return eventually([] {
    const pid_t mine = gettid();
    return sley::async([] { return gettid(); }).get() == mine;
  });
}

}  // namespace

// D1, TestLockOSThreadNesting: one unlock too few.
GO_TEST(thread_lock, locks_nest) {
  const strangers others;
  const chan<void> done;
  const pid_t tid = end_locked([done] {
    this_goroutine::lock_os_thread();
    this_goroutine::lock_os_thread();
    for (int unlocks = 0; unlocks < 2; ++unlocks) {
      this_goroutine::unlock_os_thread();
      const pid_t mine = gettid();
      this_goroutine::sleep_for(1ms);
      EXPECT_EQ(gettid(), mine) << "after " << unlocks + 1 << " of 3 unlocks";
    }
    done.send();
  });
  done.receive();
  EXPECT_TRUE(is_gone(tid)) << "it ended locked";
}

// D1: as many.
GO_TEST(thread_lock, as_many_unlocks_as_locks_make_the_thread_everybodys_again) {
  for (int locks = 1; locks <= 3; ++locks) {
    for (int i = 0; i < locks; ++i) this_goroutine::lock_os_thread();
    wait_a_little();
    for (int i = 0; i < locks; ++i) this_goroutine::unlock_os_thread();
    EXPECT_TRUE(shares_its_thread()) << locks;
  }
}

// D1: too many.
GO_TEST(thread_lock, an_unlock_without_a_lock_is_nothing) {
  for (int i = 0; i < 3; ++i) this_goroutine::unlock_os_thread();
  EXPECT_TRUE(shares_its_thread());
  const strangers others;
  this_goroutine::lock_os_thread();
  wait_a_little();
  this_goroutine::unlock_os_thread();
  EXPECT_TRUE(shares_its_thread());
}

GO_TEST(thread_lock, the_raii_form_unlocks_at_the_end_of_its_scope_however_that_is_left) {
  {
    const os_thread_lock outer;
    {
      const os_thread_lock inner;
      wait_a_little();
    }
    const strangers others;
    wait_a_little();
  }
  EXPECT_TRUE(shares_its_thread());
  try {
    const os_thread_lock lock;
    wait_a_little();
    throw std::runtime_error("out of the scope");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(shares_its_thread());
}

GO_TEST(thread_lock, exceptions_and_parks_in_their_handlers_keep_the_thread) {
  const strangers others;
  const os_thread_lock lock;
  const owner here;
  for (int i = 0; i < rounds(100); ++i) {
    try {
      throw i;
    } catch (const int caught) {
      this_goroutine::yield();
      here.expect_here("a yield in a handler");
      EXPECT_EQ(caught, i);
    }
  }
}

FOREIGN_TEST(thread_lock, on_a_foreign_thread_locks_are_nothing) {
  const auto use = [] {
    const pid_t tid = gettid();
    this_goroutine::unlock_os_thread();
    this_goroutine::lock_os_thread();
    this_goroutine::lock_os_thread();
    const os_thread_lock lock;
    chan<int> c;
    sley::go([c] { c.send(4); });
    EXPECT_EQ(c.receive(), 4);
    EXPECT_EQ(gettid(), tid);
    EXPECT_EQ(this_goroutine::id(), 0u);
    this_goroutine::unlock_os_thread();
  };
  use();
  std::thread(use).join();  // which ends with a lock too many
  use();
}
