// Aim: expressions of unwind tables have the values that DWARF gives them, and damaged ones none.
#include "platform/unwind/expression.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace platform = sley::platform;
using platform::frame_registers;
using platform::stack_memory;

namespace {

struct calculation {
  std::vector<std::uint8_t> program;
  std::uint64_t value;
};

bool read_nothing(const void*, std::uint64_t, void*, std::size_t) noexcept { return false; }

bool calculate(const std::vector<std::uint8_t>& program, std::uint64_t& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(program.data());
  const platform::image image{bytes, program.size(), 0x1000};
  frame_registers registers;
  registers.set(7, 0x2000);
  const stack_memory memory{&read_nothing, nullptr};
  const std::uint64_t first = 5;
  return platform::evaluate({image, registers, memory}, {0x1000, 0x1000 + program.size()}, &first,
                            value);
}

constexpr std::uint64_t minus_one = ~std::uint64_t{0};

const calculation calculations[] = {
    {{}, 5},
    {{0x31}, 1},                                                 // lit1
    {{0x03, 1, 2, 0, 0, 0, 0, 0, 0x80}, 0x8000'0000'0000'0201},  // addr
    {{0x08, 0xff}, 255},                                         // const1u
    {{0x09, 0xff}, minus_one},                                   // const1s
    {{0x0a, 0xff, 0xff}, 65535},                                 // const2u
    {{0x0b, 0xff, 0xff}, minus_one},                             // const2s
    {{0x0c, 0xff, 0xff, 0xff, 0xff}, 0xffff'ffff},               // const4u
    {{0x0d, 0xff, 0xff, 0xff, 0xff}, minus_one},                 // const4s
    {{0x10, 0x80, 0x01}, 128},                                   // constu
    {{0x11, 0x7f}, minus_one},                                   // consts
    {{0x12, 0x22}, 10},                                          // dup, plus
    {{0x31, 0x13}, 5},                                           // lit1, drop
    {{0x31, 0x14}, 5},                                           // lit1, over
    {{0x31, 0x32, 0x15, 2}, 5},                                  // lit1, lit2, pick 2
    {{0x31, 0x16}, 5},                                           // lit1, swap
    {{0x31, 0x32, 0x17}, 1},                                     // lit1, lit2, rot
    {{0x31, 0x32, 0x17, 0x13}, 5},                               // and drop
    {{0x1f, 0x19}, 5},                                           // neg, abs
    {{0x33, 0x1a}, 1},                                           // lit3, and
    {{0x32, 0x1b}, 2},                                           // lit2, div
    {{0x09, 0x80, 0x32, 0x1b}, minus_one - 63},                  // const1s -128, lit2, div
    {{0x32, 0x1c}, 3},                                           // lit2, minus
    {{0x33, 0x1d}, 2},                                           // lit3, mod
    {{0x33, 0x1e}, 15},                                          // lit3, mul
    {{0x20}, minus_one - 5},                                     // not
    {{0x32, 0x21}, 7},                                           // lit2, or
    {{0x23, 0x85, 0x01}, 138},                                   // plus_uconst
    {{0x32, 0x24}, 20},                                          // lit2, shl
    {{0x31, 0x25}, 2},                                           // lit1, shr
    {{0x1f, 0x31, 0x26}, minus_one - 2},                         // neg, lit1, shra
    {{0x08, 64, 0x24}, 0},                                       // const1u 64, shl
    {{0x34, 0x27}, 1},                                           // lit4, xor
    {{0x35, 0x29}, 1},                                           // lit5, eq
    {{0x35, 0x2a}, 1},                                           // ge
    {{0x35, 0x2b}, 0},                                           // gt
    {{0x35, 0x2c}, 1},                                           // le
    {{0x35, 0x2d}, 0},                                           // lt
    {{0x35, 0x2e}, 0},                                           // ne
    {{0x2f, 1, 0, 0x31, 0x32}, 2},                               // skip over lit1
    {{0x31, 0x28, 1, 0, 0x96, 0x32}, 2},                         // bra over nop
    {{0x30, 0x28, 1, 0, 0x31}, 1},                               // bra does not
    {{0x57}, 0x2000},                                            // reg7
    {{0x77, 0x78}, 0x1ff8},                                      // breg7 -8
    {{0x90, 7}, 0x2000},                                         // regx
    {{0x92, 7, 8}, 0x2008},                                      // bregx
};

TEST(unwind_expression, all_operations_have_their_values) {
  for (const calculation& c : calculations) {
    std::uint64_t value = 0;
    EXPECT_TRUE(calculate(c.program, value)) << testing::PrintToString(c.program);
    EXPECT_EQ(value, c.value) << testing::PrintToString(c.program);
  }
}

TEST(unwind_expression, a_damaged_expression_has_no_value) {
  const std::vector<std::uint8_t> all[] = {
      {0x13},                    // drop: nothing is left
      {0x22},                    // plus of one
      {0x31, 0x17},              // rot of two
      {0x15, 1},                 // pick beyond the bottom
      {0x0c, 1, 2},              // const4u, cut
      {0x10, 0x80},              // constu, cut
      {0x30, 0x1b},              // div by 0
      {0x30, 0x1d},              // mod by 0
      {0x06},                    // deref of what can't be read
      {0x94, 3},                 // deref_size 3
      {0x50},                    // reg0, not known
      {0x92, 0x80, 0x80, 1, 0},  // bregx 16384
      {0x2f, 0xfd, 0xff},        // skip to itself, for ever
      {0x2f, 1, 0},              // skip beyond the end
      {0x2f, 0, 0x80},           // and before the begin
      {0x31, 0x2f, 0xfc, 0xff},  // lit1, and again
      {0x00},
      {0xff},
  };
  for (const auto& program : all) {
    std::uint64_t value = 0;
    EXPECT_FALSE(calculate(program, value)) << testing::PrintToString(program);
  }
}

}  // namespace
