// Aim: where a thread sleeps, where a frame has its record, and the frames that follow from both,
// by code and memory that are told by callbacks. Stacks of goroutines:
// tests/conformance/sleeping_stacks_test.cpp.
#include "platform/unwind/sleeper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <latch>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <alloca.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/os.hpp"
#include "platform/system_call_names.hpp"
#include "platform/unwind/own_process.hpp"
#include "support/conditions.hpp"

namespace platform = sley::platform;

namespace {

// How far the record of the function that calls this is above its sp, by its code; and truly.
struct distances {
  std::optional<std::uint64_t> by_code;
  std::uint64_t true_one;
};

[[gnu::always_inline]] inline distances here() {
  const platform::frame_registers registers = platform::registers_here();
  platform::frame_tables tables;
  platform::frame_description function;
  EXPECT_TRUE(platform::find_own_tables(registers.pc(), tables));
  EXPECT_TRUE(platform::find_description(tables, registers.pc(), function));
  const auto* begin = reinterpret_cast<const std::uint8_t*>(function.code.begin);
  return {platform::record_above_sp({begin, function.code.end - function.code.begin},
                                    registers.pc() - function.code.begin),
          reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) -
              registers.get(platform::column_sp)};
}

template <std::size_t Size>
[[gnu::noinline]] distances with_buffer() {
  volatile char buffer[Size];
  asm volatile("" : : "r"(buffer) : "memory");
  return here();
}

[[gnu::noinline]] distances with_alloca(std::size_t size) {
  asm volatile("" : : "r"(alloca(size)) : "memory");
  return here();
}

TEST(frame_record, is_where_the_code_says) {
  for (const distances& d : {with_buffer<1>(), with_buffer<100>(), with_buffer<5000>()}) {
    EXPECT_EQ(d.by_code.value_or(d.true_one), d.true_one);
  }
}

TEST(frame_record, is_not_known_in_a_frame_of_no_fixed_size) {
  const volatile std::size_t size = 100;  // the compiler would make a frame of a size that it knows
  EXPECT_FALSE(with_alloca(size).by_code.has_value());
}

// A thread that sleeps in read(2), and its frames as it has found them itself.
class sleeper {
 public:
  sleeper() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    thread_ = std::thread([this] { call_and_sleep(4); });
    knows_.wait();
    while (!platform::is_thread_asleep(id)) std::this_thread::yield();
  }
  ~sleeper() {
    wake();
    for (const int end : ends_) ::close(end);
  }
  sleeper(const sleeper&) = delete;
  sleeper& operator=(const sleeper&) = delete;

  // And waits for its end.
  void wake() {
    if (!thread_.joinable()) return;
    EXPECT_EQ(::write(ends_[1], "x", 1), 1);
    thread_.join();
  }

  std::int32_t id = 0;
  std::uint64_t near_sp = 0;
  std::vector<std::uintptr_t> callers;  // the outermost one is the C library's

 private:
  [[gnu::noinline]] void call_and_sleep(int depth) {
    volatile char buffer[100];
    asm volatile("" : : "r"(buffer) : "memory");
    if (depth > 0) {
      call_and_sleep(depth - 1);
    } else {
      sleep();
    }
    asm volatile("" : : "r"(buffer) : "memory");
  }
  [[gnu::noinline]] void sleep() {
    char byte;
    id = platform::current_thread_id();
    near_sp = reinterpret_cast<std::uint64_t>(&byte);
    callers.resize(100);
    const platform::own_stack not_known;
    callers.resize(
        platform::collect_frames({platform::registers_here(), not_known.memory()}, callers));
    callers.erase(callers.begin());  // this function
    knows_.count_down();
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

  int ends_[2];
  std::latch knows_{1};
  std::thread thread_;
};

TEST(sleeping_place, is_that_of_the_system_call) {
  sleeper s;
  platform::sleeping_place at;
  ASSERT_TRUE(platform::where_thread_sleeps(s.id, at));
  EXPECT_EQ(at.call, SYS_read);
  EXPECT_LT(at.sp, s.near_sp);
  EXPECT_LT(s.near_sp - at.sp, 4096U);
  platform::frame_tables tables;
  EXPECT_TRUE(platform::find_own_tables(at.pc, tables));
  s.wake();
  EXPECT_FALSE(platform::where_thread_sleeps(s.id, at));  // it is gone
}

TEST(sleeping_place, is_not_that_of_a_thread_that_runs) {
  std::atomic<std::int32_t> id{0};
  std::atomic<bool> stops{false};
  std::thread runner([&] {
    id = platform::current_thread_id();
    while (!stops) continue;
  });
  while (id == 0) std::this_thread::yield();
  platform::sleeping_place at;
  EXPECT_FALSE(platform::where_thread_sleeps(id, at));
  stops = true;
  runner.join();
}

// ---- frames ----

// This process's code, told as another process's is.
struct told_code {
  std::uintptr_t bottom_return;
  bool knows_tables = true;
  bool knows_bytes = true;

  platform::process_code told() const {
    return {&find_tables, &bytes_of, this, reinterpret_cast<const void*>(bottom_return)};
  }

 private:
  static bool find_tables(const void* arg, std::uint64_t address,
                          platform::frame_tables& tables) noexcept {
    return static_cast<const told_code*>(arg)->knows_tables &&
           platform::find_own_tables(address, tables);
  }
  static std::span<const std::uint8_t> bytes_of(const void* arg,
                                                platform::address_range function) noexcept {
    if (!static_cast<const told_code*>(arg)->knows_bytes) return {};
    return platform::own_code.bytes_of(nullptr, function);
  }
};

std::vector<std::uintptr_t> frames_of(const sleeper& s, const told_code& code) {
  platform::sleeping_place at;
  EXPECT_TRUE(platform::where_thread_sleeps(s.id, at));
  const platform::stack_copy copy(at.sp);
  const platform::address_range stack{at.sp, at.sp + (1U << 20)};
  std::vector<std::uintptr_t> frames(100);
  frames.resize(platform::collect_sleepers_frames(at, stack, copy.memory(), frames, code.told()));
  return frames;
}

bool end_with(const std::vector<std::uintptr_t>& frames,
              const std::vector<std::uintptr_t>& callers) {
  return frames.size() > callers.size() &&
         std::equal(callers.rbegin(), callers.rend(), frames.rbegin());
}

TEST(sleepers_frames, are_whole_or_none_where_bytes_can_not_be_read) {
  const sleeper s;
  const auto frames = frames_of(s, {.bottom_return = s.callers.back(), .knows_bytes = false});
  EXPECT_TRUE(frames.empty() || end_with(frames, s.callers)) << testing::PrintToString(frames);
}

TEST(sleepers_frames, are_none_where_they_do_not_lead_to_the_bottom) {
  const sleeper s;
  EXPECT_TRUE(frames_of(s, {.bottom_return = s.callers.front()}).empty());
  EXPECT_TRUE(frames_of(s, {.bottom_return = s.callers.back(), .knows_tables = false}).empty());
}

#if defined(__x86_64__)

// ---- the code of x86-64 ----

TEST(sleepers_frames, are_found_by_told_code_and_a_copy_of_the_stack) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "its frames are of no fixed size";
  const sleeper s;
  const auto frames = frames_of(s, {.bottom_return = s.callers.back()});
  EXPECT_TRUE(end_with(frames, s.callers))
      << testing::PrintToString(frames) << testing::PrintToString(s.callers);
}

std::optional<std::uint64_t> record_in(const std::vector<std::uint8_t>& code) {
  return platform::record_above_sp(code, code.size());
}

TEST(frame_record, is_below_pushed_registers_where_no_room_is_made) {
  EXPECT_EQ(record_in({0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0}), 0U);  // push, mov, call
  EXPECT_EQ(record_in({0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0}), 0U);
  EXPECT_EQ(record_in({0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0x41, 0xff, 0xd3}), 16U);
  EXPECT_EQ(record_in({0x55, 0x48, 0x89, 0xe5, 0xff, 0x15, 0, 0, 0, 0}), 0U);
  // A move before the record is complete, and another call before.
  EXPECT_EQ(record_in({0x55, 0x31, 0xf6, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0xff, 0xd0}), 0U);
}

TEST(frame_record, is_below_a_frame_that_is_made_page_by_page) {
  EXPECT_EQ(record_in({0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0,    0x10, 0, 0,  // sub $0x1000
                       0x80, 0x0c, 0x24, 0x00,                                  // orb $0, (%rsp)
                       0x48, 0x81, 0xec, 0x78, 0x04, 0,    0,    0xff, 0xd0}),  // sub $0x478, call
            0x1478U);
}

TEST(frame_record, is_not_known_where_something_else_is_on_the_way) {
  // A jump, an addition to %rsp, lea to %rsp, room that is made after a call.
  EXPECT_EQ(record_in({0x55, 0x48, 0x89, 0xe5, 0x74, 0x01, 0xff, 0xd0}), std::nullopt);
  EXPECT_EQ(record_in({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xc4, 0x08, 0xff, 0xd0}), std::nullopt);
  EXPECT_EQ(record_in({0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x64, 0x24, 0xf8, 0xff, 0xd0}),
            std::nullopt);
  EXPECT_EQ(record_in({0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0x48, 0x83, 0xec, 0x08, 0xff, 0xd0}),
            std::nullopt);
  EXPECT_EQ(platform::record_above_sp(std::vector<std::uint8_t>{0x55, 0x48, 0x89, 0xe5}, 9),
            std::nullopt);
}

// Two words of memory.
struct two_words {
  std::uint64_t address;
  std::uint64_t words[2];

  static bool read(const void* arg, std::uint64_t address, void* to, std::size_t size) noexcept {
    const auto* self = static_cast<const two_words*>(arg);
    const std::uint64_t offset = address - self->address;
    if (offset >= sizeof self->words || size > sizeof self->words - offset) return false;
    std::memcpy(to, reinterpret_cast<const char*>(self->words) + offset, size);
    return true;
  }
};

[[gnu::noinline]] void use(volatile char* memory) { asm volatile("" : : "r"(memory) : "memory"); }

[[gnu::noinline]] void of_fixed_size() {
  volatile char buffer[100];
  use(buffer);
  asm volatile("");
}

// Where a page fault may come, %rsp need not be where it is in calls: then another record would be
// taken for the frame's.
TEST(sleepers_frames, are_not_guessed_where_the_frame_may_not_be_complete) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "its frames are of no fixed size";
  platform::frame_description function;
  ASSERT_TRUE(platform::own_code.find_description(reinterpret_cast<std::uint64_t>(&of_fixed_size),
                                                  function));
  const auto code = platform::own_code.bytes_of(nullptr, function.code);
  const auto is_return = [](std::uint8_t byte) { return byte == 0xc3; };
  const auto behind_last_pop = std::ranges::find_if(code, is_return) - code.begin();
  const auto place = static_cast<std::size_t>(behind_last_pop - 1);
  const auto above = platform::record_above_sp(code, place);
  if (!above) GTEST_SKIP() << "it has no frame pointer";

  constexpr std::uint64_t sp = 0x10000;
  constexpr std::uint64_t bottom_return = 0x42;
  const two_words wrong_record{sp + *above, {0, bottom_return}};
  const platform::stack_memory memory{&two_words::read, &wrong_record};
  const told_code bottom{.bottom_return = bottom_return};
  std::array<std::uintptr_t, 10> frames;
  platform::sleeping_place at{.call = SYS_read, .pc = function.code.begin + place, .sp = sp};
  const platform::address_range stack{sp, sp + 4096};
  EXPECT_EQ(platform::collect_sleepers_frames(at, stack, memory, frames, bottom.told()), 2U);
  at.call = platform::sleeping_place::no_call;
  EXPECT_EQ(platform::collect_sleepers_frames(at, stack, memory, frames, bottom.told()), 0U);
}

#endif

// ---- names ----

TEST(system_call_names, are_known_for_calls_that_sleep_and_empty_for_others) {
  EXPECT_EQ(platform::name_of_system_call(SYS_read), "read");
  EXPECT_EQ(platform::name_of_system_call(SYS_futex), "futex");
  EXPECT_EQ(platform::name_of_system_call(SYS_getpid), "");
  EXPECT_EQ(platform::name_of_system_call(platform::sleeping_place::no_call), "");
  EXPECT_EQ(platform::name_of_system_call(INT64_MAX), "");
}

}  // namespace
