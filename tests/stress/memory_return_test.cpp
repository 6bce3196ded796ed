// Memory that stacks have used and use no more goes back to the system: the pages below the frames
// of parked goroutines, and the stacks of goroutines that have ended. No goroutine wakes for it,
// and the contents of the stacks stay as they were. The frames of parked goroutines go to swap
// space where that is asked for.
#include "support/child.hpp"
#include "support/scale.hpp"
#include "support/scripted_calls.hpp"
#include "support/sleepers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/syscall.h>

using sley_test::as_many_as_fit;
using sley_test::at_most;
using sley_test::print_memory;
using sley_test::resident_memory;
using sley_test::rounds;
using sley_test::sleepers;
using sley_test::under_sanitizer;
using sley_test::use_stack;
using namespace std::chrono_literals;

namespace {

const std::size_t at_start = resident_memory();

// Sleeps, in whatever way, until no more than that is resident. Sanitizers keep memory of their
// own, so that there is nothing to see with them.
template <class Sleep>
void expect_fall(std::size_t limit, Sleep sleep) {
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double at_most = under_sanitizer ? 1.0 : 60.0;
  while (resident_memory() > limit && passed() < at_most) sleep(50ms);
  std::printf("after %.1f s%15s%6zu MiB resident, at most %zu wanted\n", passed(), "",
              resident_memory() >> 20, limit >> 20);
  if (!under_sanitizer) {
    EXPECT_LE(resident_memory(), limit);
  }
}

const auto sleep_in_the_library = [](auto time) { sley::this_goroutine::sleep_for(time); };
const auto sleep_outside = [](auto time) { std::this_thread::sleep_for(time); };

// Some memory for each, and some for the rest: records, stacks kept for the next goroutines.
std::size_t limit_for(int goroutines, std::size_t bytes_each) {
  return at_start + static_cast<std::size_t>(goroutines) * bytes_each + (32 << 20);
}

int how_many() { return as_many_as_fit(at_most(rounds(20'000)), 90 << 10); }

}  // namespace

CHILD_MAIN(parks_and_ends) {
  return sley::run([] {
    const int count = how_many();
    {
      sleepers crowd(count);
      print_memory("parked on 64 KiB each");
      const std::uint64_t parks = sley::runtime::read_stats().parks;
      expect_fall(limit_for(count, 32 << 10), sleep_in_the_library);
      EXPECT_LT(sley::runtime::read_stats().parks, parks + static_cast<std::uint64_t>(count))
          << "they have woken";
      crowd.wake();
    }
    print_memory("all returned");
    expect_fall(limit_for(count, 12 << 10), sleep_in_the_library);
    sleepers again(count / 10);
    again.wake();
    return sley_test::verdict();
  });
}

// No goroutine and no thread of the program does anything meanwhile.
CHILD_MAIN(parks_and_is_wholly_idle) {
  const int count = how_many() / 4;
  sleepers crowd(count);
  print_memory("parked on 64 KiB each");
  expect_fall(limit_for(count, 32 << 10), sleep_outside);
  crowd.wake();
  return sley_test::verdict();
}

namespace {

// A value that lies on its sender's stack. The large one is on more than one page.
template <std::size_t Words>
class parcel {
 public:
  explicit parcel(int sender) : sender_(sender) {
    for (std::size_t i = 0; i < Words; ++i) words_[i] = word(i);
  }
  int sender() const { return sender_; }
  bool is_intact() const {
    for (std::size_t i = 0; i < Words; ++i) {
      if (words_[i] != word(i)) return false;
    }
    return true;
  }

 private:
  std::uint64_t word(std::size_t i) const {
    return (static_cast<std::uint64_t>(sender_) + i + 1) * 0x9e3779b97f4a7c15U;
  }

  int sender_;
  std::array<std::uint64_t, Words> words_;
};

// Goroutines that have used 64 KiB of stack, and block in sending.
template <std::size_t Words>
class senders {
 public:
  senders(int count, bool in_select) : count_(count) {
    for (int i = 0; i < count; ++i) {
      group_.go([this, i, in_select] {
        EXPECT_EQ(use_stack(sley_test::deep_pages), sley_test::deep_pages);
        const parcel<Words> value(i);
        arrived_.fetch_add(1, std::memory_order_relaxed);
        if (in_select) {
          sley::select(sley::on_send(parcels_, value, [] {}),
                       sley::on_receive(never_, [](bool) { ADD_FAILURE(); }));
        } else {
          parcels_.send(value);
        }
        EXPECT_TRUE(value.is_intact());
        EXPECT_EQ(use_stack(sley_test::deep_pages), sley_test::deep_pages);
      });
    }
    EXPECT_TRUE(sley_test::eventually([this] { return arrived_ == count_; }));
  }
  void receive_all() {
    std::vector<bool> has_sent(static_cast<std::size_t>(count_));
    for (int i = 0; i < count_; ++i) {
      const std::optional<parcel<Words>> got = parcels_.receive();
      EXPECT_TRUE(got->is_intact()) << "what " << got->sender() << " sends has changed";
      const auto sender = static_cast<std::size_t>(got->sender());
      EXPECT_FALSE(has_sent.at(sender)) << "received twice";
      has_sent[sender] = true;
    }
    group_.wait();
  }

 private:
  const int count_;
  const sley::chan<parcel<Words>> parcels_;
  const sley::chan<void> never_;
  std::atomic<int> arrived_{0};
  sley::wait_group group_;
};

}  // namespace

CHILD_MAIN(parks_in_sends) {
  return sley::run([] {
    const int count = as_many_as_fit(at_most(4000), 90 << 10);
    senders<1> small(count / 4, false);
    senders<768> large(count / 4, false);
    senders<1> small_in_select(count / 4, true);
    senders<768> large_in_select(count / 4, true);
    print_memory("sending from 64 KiB each");
    expect_fall(limit_for(count, 16 << 10), sleep_in_the_library);  // some of each kind, at least
    small.receive_all();
    large.receive_all();
    small_in_select.receive_all();
    large_in_select.receive_all();
    return sley_test::verdict();
  });
}

namespace {

// Advice to page out that the kernel was given.
struct page_out {
  std::atomic<std::uintptr_t> start{0};
  std::atomic<std::uintptr_t> bytes{0};  // written last

  bool has(const void* address) const {
    const std::uintptr_t size = bytes;
    return reinterpret_cast<std::uintptr_t>(address) - start < size;
  }
};
std::array<page_out, 4096> page_outs;
std::atomic<std::size_t> page_out_count{0};

long note_page_out(const sley_test::system_call& call) {
  const std::size_t i = page_out_count.fetch_add(1);
  if (i < page_outs.size()) {
    page_outs[i].start = call.arguments[0];
    page_outs[i].bytes = call.arguments[1];
  }
  return call.pass_on();
}

// Goroutines that wait for two channels to be closed, one after the other, and then find their
// frames as they were.
class cold_frames {
 public:
  cold_frames(const sley::chan<void>& first, const sley::chan<void>& second) {
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      group_.go([this, i, first, second] {
        const sley_test::pattern here(static_cast<int>(i));
        frames_.at(i) = __builtin_frame_address(0);
        first.receive();
        second.receive();
        EXPECT_TRUE(here.is_intact());
      });
    }
  }
  // Each of them, exactly this many times?
  bool are_paged_out(std::size_t times) const {
    return std::ranges::all_of(frames_, [times](const void* frame) {
      std::size_t found = 0;
      for (std::size_t i = 0; i < page_out_count; ++i) found += page_outs.at(i).has(frame) ? 1 : 0;
      return found == times;
    });
  }
  void wait() { group_.wait(); }

 private:
  std::array<std::atomic<const void*>, 50> frames_{};
  sley::wait_group group_;
};

}  // namespace

// Goroutines that wait have their frames paged out once in a wait, and in the next wait again. A
// system without swap space keeps the pages, so that the advice is what there is to see.
CHILD_MAIN(pages_out) {
  setenv("SLEYDEBUG", "pageout=5", 1);
  const sley_test::scripted_calls script(
      {{.number = SYS_madvise, .argument = 2, .bits = ~0U, .value = MADV_PAGEOUT}}, &note_page_out);
  if (!script.works()) return sley_test::skipped;
  return sley::run([] {
    const sley::chan<void> once;
    const sley::chan<void> twice;
    cold_frames patient(once, once);
    cold_frames woken(twice, once);
    EXPECT_TRUE(sley_test::eventually([&] { return woken.are_paged_out(1); }));
    twice.close();
    EXPECT_TRUE(sley_test::eventually([&] { return woken.are_paged_out(2); }));
    EXPECT_TRUE(patient.are_paged_out(1)) << "twice in one wait";
    once.close();
    patient.wait();
    woken.wait();
    return sley_test::verdict();
  });
}

// All at the same time, because each takes some seconds. That with sends answers A10,
// TestShrinkStackDuringBlockedSend.
TEST(memory_return, the_spare_memory_of_parked_and_ended_goroutines_is_given_back) {
  const auto ends = sley_test::run_children(
      {"parks_and_ends", "parks_and_is_wholly_idle", "parks_in_sends", "pages_out"},
      sley_test::patience);
  for (const auto& child : ends) {
    std::printf("%s\n", child.out.c_str());
    if (child.status == sley_test::skipped) continue;
    EXPECT_EQ(child.status, 7) << child;
  }
}

// Given back while others are busy, some of it twice, and used again in between.
GO_TEST(memory_return, goes_on_while_goroutines_come_wake_and_go) {
  std::atomic<bool> stop{false};
  sley::wait_group busy;
  busy.go([&stop] {
    while (!stop) {
    }
  });
  for (int round = 0; round < 3; ++round) {
    sleepers crowd(how_many() / 10);
    sley::this_goroutine::sleep_for(round * 700ms);
    crowd.wake();
  }
  stop = true;
  busy.wait();
}
