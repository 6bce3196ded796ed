// Aim: where a thread sleeps, and where a frame has its record. The stacks that follow from both:
// tests/conformance/sleeping_stacks_test.cpp.
#include "platform/unwind/sleeper.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include <alloca.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/os.hpp"
#include "platform/system_call_names.hpp"
#include "platform/unwind/own_process.hpp"

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

TEST(sleeping_place, is_that_of_the_system_call) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::int32_t id = 0;
  std::uint64_t near_sp = 0;
  std::latch knows(1);
  std::thread sleeper([&] {
    char byte;
    id = platform::current_thread_id();
    near_sp = reinterpret_cast<std::uint64_t>(&byte);
    knows.count_down();
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  });
  knows.wait();
  while (!platform::is_thread_asleep(id)) std::this_thread::yield();
  platform::sleeping_place at;
  ASSERT_TRUE(platform::where_thread_sleeps(id, at));
  EXPECT_EQ(at.call, SYS_read);
  EXPECT_LT(at.sp, near_sp);
  EXPECT_LT(near_sp - at.sp, 4096U);
  platform::frame_tables tables;
  EXPECT_TRUE(platform::find_own_tables(at.pc, tables));
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  sleeper.join();
  for (const int end : ends) ::close(end);
  EXPECT_FALSE(platform::where_thread_sleeps(id, at));  // it is gone
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

#if defined(__x86_64__)

// ---- the code of x86-64 ----

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

#endif

TEST(system_call_names, are_known_for_calls_that_sleep_and_empty_for_others) {
  EXPECT_EQ(platform::name_of_system_call(SYS_read), "read");
  EXPECT_EQ(platform::name_of_system_call(SYS_futex), "futex");
  EXPECT_EQ(platform::name_of_system_call(SYS_getpid), "");
  EXPECT_EQ(platform::name_of_system_call(platform::sleeping_place::no_call), "");
  EXPECT_EQ(platform::name_of_system_call(INT64_MAX), "");
}

}  // namespace
