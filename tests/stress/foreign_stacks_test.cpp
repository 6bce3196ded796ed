// A goroutine may go to a stack that the program has made, as Boost.Context, Lua and Ruby do, and
// park there. The memory between that stack and the goroutine's own belongs to the program, and so
// do the frames on its own stack. Method: ucontext stacks in all places, parked until stacks of
// other goroutines have been trimmed.
#include "support/memory.hpp"
#include "support/scale.hpp"
#include "support/sleepers.hpp"

#include "platform/sanitizer.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

using sley::chan;
using sley_test::resident_memory;
using sley_test::under_sanitizer;
using sley_test::use_stack;
namespace platform = sley::platform;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

// Runs a function on another stack, and returns when it has.
class detour {
 public:
  [[gnu::noinline]] void run(char* low, std::function<void()> body) {
    body_ = std::move(body);
    getcontext(&there_);
    there_.uc_stack.ss_sp = low;
    there_.uc_stack.ss_size = stack_bytes;
    there_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&there_, reinterpret_cast<void (*)()>(&detour::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    platform::create_fiber(there_state_, low, stack_bytes);
    platform::before_switch(&here_state_, there_state_);
    swapcontext(&here_, &there_);
    platform::after_switch(here_state_);
    platform::destroy_fiber(there_state_);
  }

 private:
  static void enter(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<detour*>(std::uintptr_t{high} << 32 | low);
    platform::after_switch(self->there_state_);
    self->body_();
    platform::before_switch(nullptr, self->here_state_);
    setcontext(&self->here_);
  }

  std::function<void()> body_;
  ucontext_t here_ = {};
  ucontext_t there_ = {};
  platform::fiber_state here_state_ = {};
  platform::fiber_state there_state_ = {};
};

// Data of the program's that must stay as they are.
class marks {
 public:
  marks() {
    for (std::uint64_t& word : words_) word = value_of(word);
  }
  bool are_whole() const {
    return std::ranges::all_of(words_, [](const std::uint64_t& w) { return w == value_of(w); });
  }

 private:
  static std::uint64_t value_of(const std::uint64_t& word) {
    return 0x1234567890abcdef ^ reinterpret_cast<std::uintptr_t>(&word);
  }
  std::array<std::uint64_t, 512> words_;
};

using mapping = std::unique_ptr<char, void (*)(char*)>;

mapping map_stack() {
  void* start =
      mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return {static_cast<char*>(start), [](char* p) { munmap(p, stack_bytes); }};
}

[[gnu::noinline]] void waits_there(const chan<void>& wake) {
  const marks own;
  wake.receive();
  EXPECT_TRUE(own.are_whole());
}

[[gnu::noinline]] void waits_on(char* low, const chan<void>& wake) {
  const marks below;
  detour().run(low, [&] { waits_there(wake); });
  EXPECT_TRUE(below.are_whole());
}

[[gnu::noinline]] void waits_among_its_frames(const chan<void>& wake) {
  alignas(16) char room[stack_bytes];
  waits_on(room, wake);
}

// On a stack that a frame of the first one holds the context of.
[[gnu::noinline]] void waits_on_both(char* first, char* second, const chan<void>& wake) {
  detour().run(first, [&] { waits_on(second, wake); });
}

// Parks goroutines that have used their stacks, and returns when their memory was given back, as is
// the memory of all goroutines that have been parked before.
void wait_until_stacks_are_trimmed() {
  constexpr int count = 500;
  sley_test::sleepers crowd(count);
  const std::size_t before = resident_memory();
  const std::size_t given_back = std::size_t{count} * (32 << 10);
  const auto end = std::chrono::steady_clock::now() + (under_sanitizer ? 8s : 60s);
  while (resident_memory() + given_back > before && std::chrono::steady_clock::now() < end) {
    sley::this_goroutine::sleep_for(50ms);
  }
  if (!under_sanitizer) {
    EXPECT_LE(resident_memory() + given_back, before);
  }
  crowd.wake();
}

}  // namespace

TEST(foreign_stacks, nothing_is_lost_while_a_goroutine_waits_on_one) {
  const mapping above = map_stack();  // mappings grow down: the runtime's own come below it
  sley::run([&] {
    sley::wait_group group;
    const chan<void> wake;
    std::vector<char> on_the_heap(stack_bytes);
    group.go([&] { waits_on(above.get(), wake); });
    group.go([&] { waits_on(on_the_heap.data(), wake); });
    group.go([&] { waits_among_its_frames(wake); });
    group.go([&] {
      use_stack(30);
      const mapping below = map_stack();
      waits_on(below.get(), wake);
    });
    group.go([&] {
      const mapping first = map_stack();
      const mapping second = map_stack();
      waits_on_both(second.get(), first.get(), wake);
    });
    const auto others = std::make_unique<marks>();
    wait_until_stacks_are_trimmed();
    EXPECT_TRUE(others->are_whole());
    wake.close();
    group.wait();
  });
}

TEST(foreign_stacks, a_snapshot_shows_the_frames_of_a_goroutine_that_waits_on_one) {
  sley::run([&] {
    sley::wait_group group;
    const chan<void> wake;
    const mapping stack = map_stack();
    group.go([&] { waits_on(stack.get(), wake); });
    const auto start = reinterpret_cast<std::uintptr_t>(&waits_there);
    const auto is_there = [start](std::uintptr_t pc) { return pc - start < 512; };
    const auto is_shown = [&] {
      return std::ranges::any_of(sley::debug::goroutines(), [&](const auto& g) {
        return std::ranges::any_of(g.stack, is_there);
      });
    };
    EXPECT_TRUE(sley_test::eventually(is_shown));
    wake.close();
    group.wait();
  });
}

// The sanitizers follow it: it comes and goes, on whatever thread.
TEST(foreign_stacks, goroutines_park_on_them_again_and_again) {
  sley::run([&] {
    constexpr int goroutines = 20;
    std::atomic<int> sum{0};
    sley::wait_group group;
    for (int i = 0; i < goroutines; ++i) {
      group.go([&] {
        const mapping stack = map_stack();
        for (int round = 0; round < 50; ++round) {
          detour().run(stack.get(), [&] {
            use_stack(3);
            sley::this_goroutine::yield();
            sley::this_goroutine::sleep_for(1us);
            ++sum;
          });
          sley::this_goroutine::yield();
        }
      });
    }
    group.wait();
    EXPECT_EQ(sum, goroutines * 50);
  });
}
