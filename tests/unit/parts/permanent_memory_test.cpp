// Aim: permanent memory is zeroed, aligned and shared with no other block. Method: many sizes;
// several threads.
#include "parts/permanent_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "platform/os.hpp"

namespace platform = sley::platform;
using sley::parts::permanent_memory;

namespace {

bool is_zero(const char* bytes, std::size_t n) {
  return std::all_of(bytes, bytes + n, [](char c) { return c == 0; });
}

TEST(permanent_memory, pieces_are_zeroed_aligned_and_do_not_overlap) {
  permanent_memory memory;
  std::vector<std::pair<char*, std::size_t>> pieces;
  for (std::size_t bytes = 1; bytes < 20'000; bytes = bytes * 5 / 4 + 1) {
    for (int i = 0; i < 5; ++i) {
      auto* piece = static_cast<char*>(memory.allocate(bytes));
      ASSERT_NE(piece, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 64, 0U);
      ASSERT_TRUE(is_zero(piece, bytes)) << "what was given out before is not touched";
      std::memset(piece, 1, bytes);
      pieces.emplace_back(piece, bytes);
    }
  }
  std::sort(pieces.begin(), pieces.end());
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    EXPECT_LE(pieces[i - 1].first + pieces[i - 1].second, pieces[i].first);
  }
}

TEST(permanent_memory, a_piece_may_be_larger_than_a_chunk) {
  permanent_memory memory;
  const std::size_t bytes = (std::size_t{4} << 20) + 1;
  auto* piece = static_cast<char*>(memory.allocate(bytes));
  ASSERT_NE(piece, nullptr);
  EXPECT_TRUE(is_zero(piece, bytes));
  std::memset(piece, 1, bytes);
}

// Records of very many goroutines.
TEST(permanent_memory, pieces_of_many_chunks_are_zeroed_and_do_not_overlap) {
  permanent_memory memory;
  constexpr std::size_t piece = 12 << 10;
  constexpr std::size_t count = 3'000;  // 36 MB
  std::vector<char*> pieces(count);
  for (char*& p : pieces) {
    p = static_cast<char*>(memory.allocate(piece));
    ASSERT_NE(p, nullptr);
    ASSERT_TRUE(is_zero(p, piece));
    std::memset(p, 1, piece);
  }
  std::sort(pieces.begin(), pieces.end());
  for (std::size_t i = 1; i < count; ++i) ASSERT_LE(pieces[i - 1] + piece, pieces[i]);
}

long page_faults() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}

// Not under an emulator or a sanitizer, nor where the kernel has none or no free ones.
bool has_huge_pages() {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  void* start = platform::map_huge_pages(bytes);
  const long before = page_faults();
  std::memset(start, 1, bytes);
  const long taken = page_faults() - before;
  platform::unmap_memory(start, bytes);
  return taken < 100;
}

TEST(permanent_memory, much_of_it_takes_few_page_faults) {
  if (!has_huge_pages()) GTEST_SKIP() << "there are no huge pages";
  permanent_memory memory;
  constexpr std::size_t piece = 12 << 10;
  for (std::size_t given = 0; given < std::size_t{9} << 20; given += piece) memory.allocate(piece);
  const long before = page_faults();
  for (std::size_t given = 0; given < std::size_t{16} << 20; given += piece) {
    std::memset(memory.allocate(piece), 1, piece);
  }
  EXPECT_LT(page_faults() - before, 2'000) << "of 4,096 pages";
}

TEST(permanent_memory, more_than_there_can_be_is_null) {
  permanent_memory memory;
  EXPECT_EQ(memory.allocate(SIZE_MAX / 2), nullptr);
  EXPECT_NE(memory.allocate(64), nullptr);
}

TEST(permanent_memory, threads_get_different_pieces) {
  permanent_memory memory;
  constexpr std::size_t each = 2000;
  std::vector<std::vector<std::size_t*>> pieces(3);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < pieces.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < each; ++i) {
        auto* piece = static_cast<std::size_t*>(memory.allocate(64));
        *piece = t * each + i;
        pieces[t].push_back(piece);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 0; t < pieces.size(); ++t) {
    for (std::size_t i = 0; i < each; ++i) ASSERT_EQ(*pieces[t][i], t * each + i);
  }
}

}  // namespace
