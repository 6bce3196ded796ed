// A program without symbols: what a dump says of each frame is enough to find the function and the
// line later, in a copy of the program that has them. Method: a copy of this program is stripped
// and dies; addr2line is asked about the original.
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/text.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

using sley_test::goroutines_in;
using sley_test::groups_of;

namespace {

// What the command prints, on both streams.
std::string output_of(const std::string& command) {
  std::string all;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "re");
  if (pipe == nullptr) return all;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    all.append(buffer.data(), n);
  }
  ::pclose(pipe);
  return all;
}

const std::string& this_program() {
  static const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  return path;
}

bool is_there(const char* tool) { return !output_of(std::string("command -v ") + tool).empty(); }

// Of this program, without symbols; removed at the end.
class stripped_copy {
 public:
  stripped_copy() : path_("/tmp/sley_stripped_test." + std::to_string(::getpid())) {
    said_ = output_of("strip -o " + path_ + " " + this_program());
  }
  ~stripped_copy() { std::filesystem::remove(path_); }
  stripped_copy(const stripped_copy&) = delete;
  stripped_copy& operator=(const stripped_copy&) = delete;

  const std::string& path() const { return path_; }
  std::string run(const std::string& child) const {
    return said_ + output_of("exec " + path_ + " --sley_child=" + child);
  }

 private:
  std::string path_;
  std::string said_;
};

// The words of `readelf -n` about the build id; empty if the linker has made none.
std::string build_id() {
  const auto id = groups_of(output_of("readelf -n " + this_program()), "Build ID: ([0-9a-f]+)");
  return id.empty() ? "" : " (build id " + id[1] + ")";
}

// For the line below a function's name: what addr2line says, as "function\nfile:line\n".
std::string resolved(const std::string& place, const std::string& file) {
  const auto address = groups_of(place, "^\t\\+(0x[0-9a-f]+) in ");
  if (address.empty()) return "no address in " + place;
  EXPECT_EQ(place, "\t+" + address[1] + " in " + file + build_id());
  return output_of("addr2line -f -C -i -e " + this_program() + " " + address[1]);
}

}  // namespace

CHILD_MAIN(dies_with_a_parked_worker) {
  return sley::run([] {
    const sley::chan<int> never;
    sley_test::starts_one_here({.name = "worker"}, never);
    sley::mutex().unlock();
    return 3;
  });
}

TEST(stripped, frames_are_addresses_that_addr2line_resolves) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP() << "there is nothing to find";
  if (!is_there("addr2line") || !is_there("strip") || !is_there("readelf")) {
    GTEST_SKIP() << "needs addr2line, strip and readelf";
  }
  const stripped_copy copy;
  const std::string said = copy.run("dies_with_a_parked_worker");
  const auto shown = goroutines_in(said);
  const auto& worker = sley_test::find(shown, "worker");
  std::string frames;
  std::string creator;
  for (std::size_t i = 0; i + 1 < worker.lines.size(); ++i) {
    const std::string& name = worker.lines[i];
    if (name == "??") frames += resolved(worker.lines[i + 1], copy.path());
    if (name.starts_with("created by ??")) creator = resolved(worker.lines[i + 1], copy.path());
  }
  EXPECT_TRUE(sley_test::contains_match(frames, "parks_here.*\n/.*/dump\\.cpp:[0-9]+"))
      << frames << said;
  EXPECT_TRUE(sley_test::contains_match(creator, "starts_one_here.*\n/.*/dump\\.cpp:[0-9]+"))
      << creator << said;
}
