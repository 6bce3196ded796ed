// The ends of threads that the runtime did not make: thousands of short ones, the library in what
// runs when a thread ends, and threads in the library when the process ends.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/memory.hpp"
#include "support/thread_group.hpp"
#include "support/threads.hpp"
#include "support/use_everything.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

using sley::chan;
using sley_test::rounds;
using sley_test::thread_group;
using sley_test::threads_of_process;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

FOREIGN_TEST(foreign_threads, that_come_and_go_by_the_thousand_leave_nothing_behind) {
  constexpr int batch = 20;
  const int batches = rounds(200);
  const chan<int> c;
  std::atomic<std::int64_t> sum{0};
  sley::wait_group receivers;
  receivers.go([&, c] {
    for (const int value : c) sum += value;
  });
  int threads_before = 0;
  std::size_t memory_before = 0;
  std::uint64_t runtime_threads_before = 0;
  for (int b = 0; b < batches; ++b) {
    thread_group threads;
    for (int i = 0; i < batch; ++i) {
      threads.go([=] {
        c.send(1);
        this_goroutine::yield();
        c.send(2);
      });
    }
    threads.wait();
    if (b == batches / 4) {
      threads_before = threads_of_process();
      memory_before = sley_test::resident_memory();
      runtime_threads_before = sley::runtime::read_stats().threads;
    }
  }
  c.close();
  receivers.wait();
  EXPECT_EQ(sum, std::int64_t{3} * batch * batches);
  EXPECT_LE(threads_of_process(), threads_before + 10);
  EXPECT_LE(sley::runtime::read_stats().threads, runtime_threads_before + 10);
  EXPECT_LE(sley_test::resident_memory(), memory_before + (32 << 20));
}

namespace {

// Uses the library in a way that parks.
void exchange(const chan<int>& there, const chan<int>& back) {
  there.send(1);
  EXPECT_EQ(back.receive(), 2);
}

}  // namespace

FOREIGN_TEST(foreign_threads, use_the_library_in_destructors_of_thread_locals) {
  const chan<int> there;
  const chan<int> back;
  sley::go([=] {
    for (const int value : there) back.send(value + 1);
  });
  for (const bool used_before : {false, true}) {
    for (int i = 0; i < rounds(100); ++i) {
      std::atomic<bool> done{false};
      std::thread([&] {
        if (used_before) exchange(there, back);
        sley_test::at_thread_end.words = [&] {
          exchange(there, back);
          EXPECT_EQ(this_goroutine::id(), 0u);
          EXPECT_EQ(sley::async([] { return 3; }).get(), 3);
          this_goroutine::sleep_for(50us);
          done = true;
        };
      }).join();
      ASSERT_TRUE(done);
    }
  }
  there.close();
}

namespace {

pthread_key_t key;
std::atomic<int> key_destructions{0};

// Comes back once: the library's own destructors have run in between, one way or the other.
void at_key_destruction(void* value) {
  const auto* channels = static_cast<const std::pair<chan<int>, chan<int>>*>(value);
  exchange(channels->first, channels->second);
  if (++key_destructions % 2 == 1) pthread_setspecific(key, value);
}

}  // namespace

FOREIGN_TEST(foreign_threads, use_the_library_in_destructors_of_thread_specific_data) {
  std::pair<chan<int>, chan<int>> channels;
  const chan<int> there = channels.first;
  const chan<int> back = channels.second;
  sley::go([=] {
    for (const int value : there) back.send(value + 1);
  });
  ASSERT_EQ(pthread_key_create(&key, &at_key_destruction), 0);
  const int count = rounds(100);
  for (int i = 0; i < count; ++i) {
    std::thread([&] {
      pthread_setspecific(key, &channels);
      if (i % 2 == 0) exchange(there, back);
    }).join();
  }
  EXPECT_EQ(key_destructions, 2 * count);
  pthread_key_delete(key);
  there.close();
}

// main returns while threads and goroutines are everywhere in the library.
CHILD_MAIN(returns_with_threads_inside) {
  const auto forever = new chan<int>;  // static objects are destroyed while they are used
  auto& count = *new std::atomic<int>(0);
  for (int i = 0; i < 10; ++i) {
    std::thread([forever, &count] {
      ++count;
      (void)forever->receive();
    }).detach();
    std::thread([&count] {
      ++count;
      for (;;) sley_test::use_select();
    }).detach();
    sley::go([forever, &count] {
      ++count;
      (void)forever->receive();
    });
  }
  while (count < 30) std::this_thread::yield();
  return 7;
}

TEST(foreign_threads, do_not_keep_the_process_from_ending) {
  if (sley_test::under_tsan) GTEST_SKIP() << "it waits for others at exit";
  for (int i = 0; i < 5; ++i) {
    const auto child = sley_test::run_child("returns_with_threads_inside");
    ASSERT_EQ(child.status, 7) << child;
  }
}
