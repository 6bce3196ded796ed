// What sley-inspect reads is other programs' data, and may be damaged: no file makes it read beyond
// its end, and lines of dumps are taken apart as they were written.
#include "inspect/elf_file.hpp"
#include "inspect/note.hpp"
#include "inspect/symbolize.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

using sley::inspect::elf_file;
using sley::inspect::nameless_place;
using sley::inspect::parse_place;

namespace {

const std::string own_file = "/proc/self/exe";

class scratch_file {
 public:
  scratch_file() : path_(std::filesystem::temp_directory_path() / name()) {}
  ~scratch_file() { std::filesystem::remove(path_); }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;

  const std::string& path() const { return path_; }
  void fill(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

 private:
  static std::string name() { return "sley_elf_" + std::to_string(std::random_device()()); }

  std::string path_;
};

std::string bytes_of(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(most, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// Everything that is read of a file, if it is one.
void look_at(const std::string& path) {
  const auto file = elf_file::open(path);
  if (file == nullptr) return;
  file->address_of_section(".sley_layout");
  file->build_id();
  sley::platform::frame_tables tables;
  if (file->tables(0, tables)) {
    sley::platform::frame_description found;
    sley::platform::find_description(tables, tables.header, found);
  }
  std::array<std::byte, 64> memory;
  for (const std::uint64_t at : {0UL, 0x1000UL, ~0UL, ~0UL - 32}) {
    file->read(at, memory.data(), memory.size());
  }
}

}  // namespace

TEST(elf_file, knows_this_program) {
  const auto file = elf_file::open(own_file);
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->is_core());
  EXPECT_TRUE(file->address_of_section(".text"));
  EXPECT_FALSE(file->address_of_section(".tex"));
  EXPECT_FALSE(file->build_id().empty());
  sley::platform::frame_tables tables;
  EXPECT_TRUE(file->tables(0, tables));
}

TEST(elf_file, refuses_other_files) {
  EXPECT_EQ(elf_file::open("/nowhere"), nullptr);
  EXPECT_EQ(elf_file::open("/"), nullptr);
  EXPECT_EQ(elf_file::open("/dev/null"), nullptr);
  const scratch_file file;
  file.fill("");
  EXPECT_EQ(elf_file::open(file.path()), nullptr);
  file.fill(
      "\x7f"
      "ELF");
  EXPECT_EQ(elf_file::open(file.path()), nullptr);
}

TEST(elf_file, survives_truncation) {
  const std::string whole = bytes_of(own_file, 16 * 1024);
  const scratch_file file;
  for (std::size_t size = 0; size < whole.size(); size = size * 5 / 4 + 7) {
    file.fill(whole.substr(0, size));
    look_at(file.path());
  }
}

TEST(elf_file, survives_damage) {
  const std::string whole = bytes_of(own_file, 16 * 1024);
  const scratch_file file;
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = whole;
    for (int k = 0; k < 4; ++k) damaged[random() % 1024] = static_cast<char>(random());
    file.fill(damaged);
    look_at(file.path());
  }
}

TEST(notes, end_where_they_say_too_much) {
  // The sizes of a name and of contents, a type, a name, contents.
  std::array<std::uint32_t, 8> words = {4, 4, 7, 0x00554e47, 42, 4, 1'000'000, 8};
  int seen = 0;
  sley::inspect::for_each_note(std::as_bytes(std::span(words)), 4,
                               [&seen](auto type, std::string_view name, auto contents) {
                                 ++seen;
                                 EXPECT_EQ(type, 7U);
                                 EXPECT_EQ(name, "GNU");
                                 EXPECT_EQ(contents.size(), 4U);
                               });
  EXPECT_EQ(seen, 1);
}

TEST(places, are_taken_apart) {
  nameless_place place;
  ASSERT_TRUE(parse_place("\t+0x11c9 in /home/me/app (build id 8f3c2a)", place));
  EXPECT_EQ(place.address, 0x11c9U);
  EXPECT_EQ(place.file, "/home/me/app");
  EXPECT_EQ(place.build_id, "8f3c2a");
  ASSERT_TRUE(parse_place("\t+0x1 in /an in (odd) name", place));
  EXPECT_EQ(place.file, "/an in (odd) name");
  EXPECT_EQ(place.build_id, "");
}

TEST(places, other_lines_are_none) {
  nameless_place place;
  for (const char* line : {"", "??", "\t/home/me/app.cpp:12 +0x11c9", "\t+0x in /app", "\t+0x1 in ",
                           "\t+0x1 on /app", "+0x1 in /app", "\t+0x11111111111111111 in /app"}) {
    EXPECT_FALSE(parse_place(line, place)) << line;
  }
}
