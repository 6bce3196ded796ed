#include "support/unwind_oracle.hpp"

#include "platform/unwind/own_process.hpp"
#include "platform/unwind/step.hpp"
#include "platform/unwind/row.hpp"

#include <gtest/gtest.h>
#include <link.h>
#include <unwind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "support/child.hpp"
#include "support/conditions.hpp"

namespace platform = sley::platform;
using platform::column_count;
using platform::column_pc;
using platform::column_return_address;
using platform::column_sp;
using platform::frame_description;
using platform::frame_registers;
using platform::frame_tables;
using platform::own_stack;
using platform::step_result;

// Calls look(arg) from a frame whose unwind information takes all of its caller's registers from
// `registers`, in the order of the columns: the CFA from that of the stack pointer, the return
// address from its own.
extern "C" void sley_test_look_as(const std::uint64_t* registers, void (*look)(void*), void* arg);

namespace sley_test {

namespace {

// ---- one step ----

using registers = std::array<std::uint64_t, column_count>;

// Memory for a stack that holds nothing but addresses inside itself, so that all that tables can
// ask for can be read: one piece many times over.
class scratch {
 public:
  scratch() {
    const int fd = static_cast<int>(::memfd_create("scratch", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(fd, piece), 0);
    low_ = static_cast<std::byte*>(
        ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t at = 0; at < size; at += piece) {
      ::mmap(low_ + at, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    }
    ::close(fd);
    auto* words = reinterpret_cast<std::uint64_t*>(low_);
    std::uint64_t x = 1;
    for (std::size_t i = 0; i < piece / sizeof(*words); ++i) {
      x = x * 6364136223846793005U + 1442695040888963407U;
      words[i] = middle() + (x >> 48 & ~std::uint64_t{7});
    }
  }
  ~scratch() { ::munmap(low_, size); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  std::uint64_t middle() const { return reinterpret_cast<std::uint64_t>(low_) + size / 2; }
  own_stack stack() const {
    const auto low = reinterpret_cast<std::uintptr_t>(low_);
    return {low, low + size};
  }

 private:
  static constexpr std::size_t piece = 1 << 20;
  static constexpr std::size_t size = 128 * piece;
  std::byte* low_;
};

// What libgcc finds.
struct found {
  bool is_stack_pointer_given;  // by a rule of its own: else it is the CFA
  bool has_description = false;
  bool has_caller = false;
  bool is_interrupted = false;
  registers values = {};
  int frames = 0;
};

_Unwind_Reason_Code see_frame(_Unwind_Context* context, void* arg) {
  constexpr int frame_itself = 3;  // after the function that asks, and sley_test_look_as
  auto* f = static_cast<found*>(arg);
  if (++f->frames <= frame_itself) return _URC_NO_REASON;
  f->has_description = true;
  int is_before = 0;
  f->values[column_pc] = _Unwind_GetIPInfo(context, &is_before);
  f->is_interrupted = is_before != 0;
  f->has_caller = f->values[column_pc] != 0;
  for (int c = 0; c < column_pc; ++c) {
    const bool is_cfa = c == column_sp && !f->is_stack_pointer_given;
    f->values[static_cast<std::size_t>(c)] =
        is_cfa ? _Unwind_GetCFA(context) : _Unwind_GetGR(context, c);
  }
  return _URC_END_OF_STACK;
}

[[gnu::noinline]] void ask_libgcc(void* arg) {
  _Unwind_Backtrace(&see_frame, arg);
  asm volatile("");  // a frame of its own: no tail call
}

class comparison {
 public:
  // Of a frame that has called from the instruction before `return_address`.
  void at(const frame_tables& tables, std::uint64_t return_address) {
    platform::unwind_row row;
    const bool has_row = find_row_of(tables, return_address - 1, row);
    // libgcc checks signatures, and crashes where there is none.
    if (has_row && row.is_return_address_signed) return;
    registers from;
    frame_registers frame;
    for (std::size_t c = 0; c < column_count; ++c) {
      const bool is_place = c == column_pc || c == column_return_address;
      from[c] = is_place ? return_address : memory_.middle() + 4096 * c;
      frame.set(c, from[c]);
    }
    found theirs{.is_stack_pointer_given =
                     has_row && row.columns[column_sp].is != platform::column_rule::same};
    sley_test_look_as(from.data(), &ask_libgcc, &theirs);
    const own_stack stack = memory_.stack();
    const step_result result = platform::step(tables, stack.memory(), frame);
    ++steps;
    if (!agree(theirs, result, frame)) note(return_address);
  }

  std::size_t steps = 0;
  std::size_t differences = 0;
  std::uint64_t first_difference = 0;

 private:
  void note(std::uint64_t at) {
    if (differences++ == 0) first_difference = at;
  }
  static bool find_row_of(const frame_tables& tables, std::uint64_t pc, platform::unwind_row& row) {
    frame_description d;
    return platform::find_description(tables, pc, d) && platform::find_row(tables, d, pc, row);
  }
  static bool agree(const found& theirs, step_result result, const frame_registers& ours) {
    if (!theirs.has_description) return result == step_result::no_description;
    if (!theirs.has_caller) return result == step_result::outermost;
    if (result != step_result::done || theirs.is_interrupted != ours.is_interrupted) return false;
    for (std::size_t c = 0; c < column_count; ++c) {
      if (!ours.knows(c)) continue;
      if (theirs.values[c] != ours.get(static_cast<platform::column>(c))) return false;
    }
    return true;
  }

  scratch memory_;
};

// ---- all tables ----

struct object {
  std::string name;
  frame_tables tables;
};

// The program first.
std::vector<object> loaded_objects() {
  std::vector<object> all;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* arg) {
        for (const ElfW(Phdr) & part : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (part.p_type != PT_GNU_EH_FRAME) continue;
          frame_tables tables;
          EXPECT_TRUE(platform::find_own_tables(info->dlpi_addr + part.p_vaddr, tables));
          static_cast<std::vector<object>*>(arg)->push_back({info->dlpi_name, tables});
        }
        return 0;
      },
      &all);
  return all;
}

// Where the code of each description begins: the first halves of the index, which begins after four
// bytes, the address of .eh_frame and the count.
std::vector<std::uint64_t> begins(const frame_tables& tables) {
  const auto* header = reinterpret_cast<const std::int32_t*>(tables.header);
  const std::int32_t count = header[2];
  std::vector<std::uint64_t> all;
  for (std::int32_t i = 0; i < count; ++i) {
    all.push_back(tables.header + static_cast<std::uint64_t>(std::int64_t{header[3 + 2 * i]}));
  }
  return all;
}

// Each `stride`th instruction, or what would be one, from a new place in each function.
void compare_all(const frame_tables& tables, std::uint64_t stride, comparison& c) {
  std::uint64_t offset = 0;
  for (const std::uint64_t begin : begins(tables)) {
    frame_description d;
    ASSERT_TRUE(platform::find_description(tables, begin, d));
    ASSERT_EQ(d.code.begin, begin);
    for (std::uint64_t pc = begin + offset; pc < d.code.end; pc += stride) c.at(tables, pc + 1);
    c.at(tables, d.code.end);
    offset = (offset + 1) % stride;
  }
}

}  // namespace

void expect_steps_of_libgcc() {
  const bool is_slow = under_sanitizer || !setting("SLEY_TEST_EMULATOR").empty();
  const std::uint64_t of_program = is_slow ? 101 : 1;
  const std::uint64_t of_libraries = is_slow ? 1009 : 11;
  comparison c;
  std::uint64_t stride = of_program;
  for (const object& o : loaded_objects()) {
    const std::size_t before = c.steps;
    compare_all(o.tables, stride, c);
    EXPECT_EQ(c.differences, 0U) << o.name << ": from " << std::hex
                                 << c.first_difference - o.tables.bytes.address << " on";
    EXPECT_GT(c.steps, before) << o.name;
    stride = of_libraries;
  }
}

}  // namespace sley_test
