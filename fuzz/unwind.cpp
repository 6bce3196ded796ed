// Whatever unwind tables, registers and stacks hold, a walk ends, reads nothing but what it was
// given, and says the same when it is made again. Run by `./dev fuzz unwind SECONDS`. The input: the
// distance of the code from the tables, a number that the registers and the stack are made from,
// four bytes each; then .eh_frame_hdr and .eh_frame as a linker writes them, together in memory.
#include "expect.hpp"
#include "platform/unwind/row.hpp"
#include "platform/unwind/step.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using sley_fuzz::expect;
namespace platform = sley::platform;

constexpr std::uint64_t tables_at = 0x4000'0000;

std::uint64_t mixed(std::uint64_t x) {
  x *= 0x9e37'79b9'7f4a'7c15;
  return x ^ x >> 29;
}

// Most words of this stack can be read. Some are addresses of code, the rest of the stack.
struct made_stack {
  std::uint64_t seed;
  std::uint64_t code;
};
constexpr std::uint64_t stack_at = 0x7000'0000;

bool read_made(const void* arg, std::uint64_t address, void* to, std::size_t size) noexcept {
  expect(size == 1 || size == 2 || size == 4 || size == 8, "a size that registers have");
  const auto* stack = static_cast<const made_stack*>(arg);
  const std::uint64_t x = mixed(address ^ stack->seed);
  if (x % 64 == 0) return false;
  const std::uint64_t word = (x & 64) != 0 ? stack->code + x % 256 : stack_at + x % 65536;
  std::memcpy(to, &word, size);
  return true;
}

platform::frame_registers first_frame(std::uint64_t seed, std::uint64_t pc) {
  platform::frame_registers frame;
  for (std::size_t c = 0; c < platform::column_count; ++c) {
    const std::uint64_t x = mixed(seed + c);
    if (x % 8 != 0) frame.set(c, stack_at + x % 65536);
  }
  frame.set(platform::column_pc, pc);
  frame.is_interrupted = (seed & 1) != 0;
  return frame;
}

bool are_same(const platform::frame_registers& a, const platform::frame_registers& b) {
  for (std::size_t c = 0; c < platform::column_count; ++c) {
    const auto column = static_cast<platform::column>(c);
    if (a.knows(c) != b.knows(c) || a.get(column) != b.get(column)) return false;
  }
  return a.is_interrupted == b.is_interrupted;
}

void walk(const platform::frame_tables& tables, const made_stack& stack, std::uint64_t pc) {
  const platform::stack_memory memory{&read_made, &stack};
  platform::frame_registers frame = first_frame(stack.seed, pc);
  for (int depth = 0; depth < 50; ++depth) {
    const platform::frame_registers before = frame;
    const platform::step_result result = platform::step(tables, memory, frame);
    platform::frame_registers again = before;
    expect(platform::step(tables, memory, again) == result && are_same(frame, again),
           "the same caller again");
    if (result != platform::step_result::done) {
      expect(are_same(frame, before), "no caller, no change");
      return;
    }
    expect(frame.pc() != 0 && frame.knows(platform::column_sp), "the caller is somewhere");
  }
}

void look_up(const platform::frame_tables& tables, std::uint64_t pc) {
  platform::frame_description found;
  if (!platform::find_description(tables, pc, found)) return;
  expect(found.code.begin <= pc && pc < found.code.end, "the description of this code");
  platform::unwind_row first;
  platform::unwind_row last;
  platform::find_row(tables, found, found.code.begin, first);
  platform::find_row(tables, found, found.code.end - 1, last);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::int32_t distance = 0;
  std::uint32_t seed = 0;
  constexpr std::size_t head = sizeof(distance) + sizeof(seed);
  if (size < head) return 0;
  std::memcpy(&distance, data, sizeof(distance));
  std::memcpy(&seed, data + sizeof(distance), sizeof(seed));
  // Of its own size, so that the sanitizer knows its end.
  const auto* rest = reinterpret_cast<const std::byte*>(data + head);
  const std::vector<std::byte> bytes(rest, rest + (size - head));
  const platform::frame_tables tables{{bytes.data(), bytes.size(), tables_at}, tables_at};
  const std::uint64_t code = tables_at + static_cast<std::uint64_t>(std::int64_t{distance});
  for (std::uint64_t offset = 0; offset < 64; offset += 5) {
    look_up(tables, code + offset);
    walk(tables, {seed, code}, code + offset);
  }
  return 0;
}
