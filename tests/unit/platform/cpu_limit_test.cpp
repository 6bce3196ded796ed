// Aim: the limit of the process's cgroups is found as the kernel presents it, in containers and out
// of them, and nothing that a file may hold does harm. Method: trees of files as other systems have
// them, in a temporary directory.
#include "platform/cpu_limit.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;
using sley::platform::cpu_limit;
using sley::platform::cpu_quota;
using sley::platform::procs_for;

namespace sley::platform {

std::ostream& operator<<(std::ostream& out, const cpu_quota& q) {
  return out << q.quota_us << " of " << q.period_us << " us";
}

}  // namespace sley::platform

namespace {

constexpr cpu_quota no_limit{};
constexpr std::string_view v2_mount =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr std::string_view v1_mount =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

// A line of mountinfo.
std::string mounted(std::string_view top, std::string_view point, std::string_view type,
                    std::string_view options) {
  std::string line = "40 23 0:31 ";
  line.append(top).append(" ").append(point).append(" rw,relatime shared:4 master:1 - ");
  return line.append(type).append(" none ").append(options).append("\n");
}

// A system's files.
class fixture_tree {
 public:
  // As a string: paths in the tests may be longer than the whole that the kernel takes at once.
  const std::string& root() const { return root_; }

  void write(const std::string& path, std::string_view text) const {
    const fs::path file = root_ + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void mounts(std::string_view text) const { write("/proc/self/mountinfo", text); }
  void cgroups(std::string_view text) const { write("/proc/self/cgroup", text); }

  // The two files of a cgroup of version 1.
  void cfs(const std::string& cgroup, std::string_view quota, std::string_view period) const {
    write(cgroup + "/cpu.cfs_quota_us", quota);
    write(cgroup + "/cpu.cfs_period_us", period);
  }

  cpu_quota read() const { return cpu_limit(root_).read(); }

 private:
  sley_test::temporary_folder folder_;
  std::string root_ = folder_.path();
};

// The process is in a cgroup of version 2 with this path.
class v2_tree : public fixture_tree {
 public:
  explicit v2_tree(const std::string& cgroup = "/a/b") {
    mounts(v2_mount);
    cgroups("0::" + cgroup + "\n");
  }
  void cpu_max(const std::string& cgroup, std::string_view text) const {
    write("/sys/fs/cgroup" + cgroup + "/cpu.max", text);
  }
};

TEST(cpu_limit, version_2_is_read_from_the_cgroup_of_the_process) {
  const v2_tree tree;
  tree.cpu_max("/a/b", "150000 100000\n");
  tree.cpu_max("/other", "50000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{150000, 100000}));
}

TEST(cpu_limit, version_1_is_read_from_the_hierarchy_that_has_the_cpu_controller) {
  const fixture_tree tree;
  tree.mounts(mounted("/", "/sys/fs/cgroup/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct") +
              mounted("/", "/sys/fs/cgroup/cpuset", "cgroup", "rw,cpuset") +
              mounted("/", "/sys/fs/cgroup/systemd", "cgroup", "rw,xattr,name=systemd"));
  tree.cgroups("9:name=systemd:/x\n4:cpu,cpuacct:/job\n3:cpuset:/y\n0::/\n");
  for (const std::string place : {"/cpuset/job", "/systemd/job", "/cpu,cpuacct/y"}) {
    tree.cfs("/sys/fs/cgroup" + place, "1000\n", "100000\n");
  }
  tree.cfs("/sys/fs/cgroup/cpu,cpuacct/job", "350000\n", "50000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{350000, 50000}));
}

TEST(cpu_limit, takes_the_smallest_of_all_ancestors) {
  const v2_tree tree("/a/b/c/d");
  tree.cpu_max("/a", "50000 10000\n");  // less than the next two in microseconds, but five CPUs
  tree.cpu_max("/a/b", "300000 100000\n");
  tree.cpu_max("/a/b/c", "max 100000\n");
  tree.cpu_max("/a/b/c/d", "400000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{300000, 100000}));
}

TEST(cpu_limit, the_root_of_the_mount_counts) {
  // In a container it is the container's own cgroup; on a host it has no such file.
  const v2_tree tree("/");
  tree.cpu_max("", "250000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{250000, 100000}));
  tree.cgroups("0::/below\n");
  EXPECT_EQ(tree.read(), (cpu_quota{250000, 100000}));
}

TEST(cpu_limit, levels_without_a_file_or_a_limit_are_passed_over) {
  const v2_tree tree("/a/gone/max/none");
  tree.cpu_max("/a", "500000 100000\n");
  tree.cpu_max("/a/gone/max", "max 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{500000, 100000}));
}

TEST(cpu_limit, takes_the_smaller_of_both_versions) {
  const fixture_tree tree;
  tree.mounts(std::string(v1_mount) + mounted("/", "/sys/fs/cgroup/unified", "cgroup2", "rw"));
  tree.cgroups("4:cpu,cpuacct:/one\n0::/two\n");
  const std::string v1 = "/sys/fs/cgroup/cpu,cpuacct/one";
  tree.cfs(v1, "300000\n", "100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{300000, 100000}));
  tree.write("/sys/fs/cgroup/unified/two/cpu.max", "280000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{280000, 100000}));
  tree.write(v1 + "/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{200000, 100000}));
}

TEST(cpu_limit, each_version_has_a_place_of_its_own) {
  const fixture_tree tree;
  tree.mounts(mounted("/a", "/wrong", "cgroup", "rw,cpu") +
              mounted("/long", "/right", "cgroup", "rw,cpu"));
  tree.cgroups("0::/a\n4:cpu:/long/b\n");
  tree.cfs("/wrong", "100000\n", "100000\n");
  tree.cfs("/right/b", "300000\n", "100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{300000, 100000}));
}

TEST(cpu_limit, a_mount_may_show_a_part_of_the_hierarchy) {
  const fixture_tree tree;
  tree.mounts(mounted("/docker/abc", "/sys/fs/cgroup/cpu", "cgroup", "rw,cpu"));
  const std::string point = "/sys/fs/cgroup/cpu";
  tree.cfs(point, "600000\n", "100000\n");
  tree.cfs(point + "/x", "400000\n", "100000\n");
  tree.cgroups("4:cpu:/docker/abc\n");
  EXPECT_EQ(tree.read(), (cpu_quota{600000, 100000}));
  tree.cgroups("4:cpu:/docker/abc/x\n");
  EXPECT_EQ(tree.read(), (cpu_quota{400000, 100000}));
}

TEST(cpu_limit, a_path_outside_of_the_mount_is_ignored) {
  const fixture_tree tree;
  tree.mounts(mounted("/docker/abc", "/sys/fs/cgroup", "cgroup2", "rw"));
  tree.write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  tree.write("/sys/fs/cgroup/d/cpu.max", "200000 100000\n");
  for (const std::string path : {"/", "/docker", "/docker/abcd", "/docker/ab", "/x", "/../..",
                                 "/docker/abc/..", "/docker/abc/../abc/d"}) {
    tree.cgroups("0::" + path + "\n");
    EXPECT_EQ(tree.read(), no_limit) << path;
  }
  tree.mounts(v2_mount);
  for (const std::string path : {"/..", "/../..", "/../d", "/d/../d"}) {
    tree.cgroups("0::" + path + "\n");
    EXPECT_EQ(tree.read(), no_limit) << path;
  }
}

TEST(cpu_limit, a_mount_may_begin_above_the_cgroup_namespace) {
  const fixture_tree tree;
  tree.mounts(mounted("/..", "/sys/fs/cgroup", "cgroup2", "rw"));
  tree.write("/sys/fs/cgroup/sibling/cpu.max", "700000 100000\n");
  tree.cgroups("0::/../sibling\n");
  EXPECT_EQ(tree.read(), (cpu_quota{700000, 100000}));
  tree.cgroups("0::/\n");  // an unknown child of the mount's root
  EXPECT_EQ(tree.read(), no_limit);
}

TEST(cpu_limit, of_several_mounts_it_takes_the_one_that_shows_most_of_the_way_up) {
  const fixture_tree tree;
  const std::string own = mounted("/pod/box", "/own", "cgroup2", "rw");
  const std::string host = mounted("/", "/host", "cgroup2", "rw");
  const std::string other = mounted("/other", "/other", "cgroup2", "rw");
  tree.cgroups("0::/pod/box/x\n");
  tree.write("/own/x/cpu.max", "500000 100000\n");
  tree.write("/host/pod/box/x/cpu.max", "500000 100000\n");
  tree.write("/host/pod/cpu.max", "300000 100000\n");
  tree.write("/other/cpu.max", "100000 100000\n");
  tree.mounts(other + own);
  EXPECT_EQ(tree.read(), (cpu_quota{500000, 100000}));
  tree.mounts(other + own + host);
  EXPECT_EQ(tree.read(), (cpu_quota{300000, 100000}));
  tree.mounts(host + own + other);
  EXPECT_EQ(tree.read(), (cpu_quota{300000, 100000}));
}

TEST(cpu_limit, a_later_mount_hides_an_earlier_one) {
  const fixture_tree tree;
  tree.cgroups("0::/\n");
  tree.mounts(mounted("/", "/first", "cgroup2", "rw") + mounted("/", "/second", "cgroup2", "rw"));
  tree.write("/first/cpu.max", "100000 100000\n");
  tree.write("/second/cpu.max", "200000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{200000, 100000}));
}

TEST(cpu_limit, escapes_in_mountinfo_are_undone) {
  const fixture_tree tree;
  tree.mounts(mounted("/my\\040box", "/sys\\011fs/c\\134group\\04x\\", "cgroup2", "rw"));
  tree.cgroups("0::/my box/in side\n");
  tree.write("/sys\tfs/c\\group\\04x\\/in side/cpu.max", "800000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{800000, 100000}));
}

TEST(cpu_limit, a_change_is_seen_by_the_next_call) {
  const v2_tree tree("/a/b");
  const cpu_limit limit(tree.root());
  EXPECT_EQ(limit.read(), no_limit);
  tree.cpu_max("/a/b", "200000 100000\n");
  EXPECT_EQ(limit.read(), (cpu_quota{200000, 100000}));
  tree.cpu_max("/a/b", "300000 100000\n");
  EXPECT_EQ(limit.read(), (cpu_quota{300000, 100000}));
  tree.cpu_max("/a", "150000 100000\n");
  EXPECT_EQ(limit.read(), (cpu_quota{150000, 100000}));
  tree.cpu_max("/a", "max 100000\n");
  tree.cpu_max("/a/b", "max 100000\n");
  EXPECT_EQ(limit.read(), no_limit);
}

TEST(cpu_limit, a_move_to_another_cgroup_is_seen_by_the_next_call) {
  const v2_tree tree("/a/b");
  const cpu_limit limit(tree.root());
  tree.cpu_max("/a/b", "200000 100000\n");
  tree.cpu_max("/c", "900000 100000\n");
  EXPECT_EQ(limit.read(), (cpu_quota{200000, 100000}));
  tree.cgroups("0::/c\n");
  EXPECT_EQ(limit.read(), (cpu_quota{900000, 100000}));
}

TEST(cpu_limit, a_malformed_quota_is_no_limit) {
  const v2_tree tree("/");
  for (const std::string text : {"",
                                 "\n",
                                 "max",
                                 "max 100000\n",
                                 "max max\n",
                                 "100000\n",
                                 "100000 \n",
                                 "100000 0\n",
                                 "0 100000\n",
                                 "-1 100000\n",
                                 "-100000 -100000\n",
                                 "100000 -1\n",
                                 "x100000 100000\n",
                                 "100000x 100000\n",
                                 "100000 100000x\n",
                                 "100000,100000\n",
                                 " 100000 100000\n",
                                 "1e5 100000\n",
                                 "0x100 100000\n",
                                 "100000 1000001\n",
                                 "9223372036854775807 1\n",
                                 "9223372036854775807 9223372036854775807\n",
                                 "99999999999999999999 100000\n",
                                 "100000 99999999999999999999\n",
                                 "1000000000000 1000\n"}) {
    tree.cpu_max("", text);
    EXPECT_EQ(tree.read(), no_limit) << text;
  }
  tree.cpu_max("", std::string(60, '1') + " 100000\n");
  EXPECT_EQ(tree.read(), no_limit);
  tree.cpu_max("", "100000 " + std::string(53, '0') + "100000\n");
  EXPECT_EQ(tree.read(), no_limit);
  tree.cpu_max("", std::string("100000 100000\0\n", 15));
  EXPECT_EQ(tree.read(), no_limit);
  tree.cpu_max("", "100000 100000");  // without a newline it is as good
  EXPECT_EQ(tree.read(), (cpu_quota{100000, 100000}));
}

TEST(cpu_limit, version_1_without_a_quota_is_no_limit) {
  const fixture_tree tree;
  tree.mounts(v1_mount);
  tree.cgroups("1:cpu,cpuacct:/\n");
  const std::string point = "/sys/fs/cgroup/cpu,cpuacct";
  const std::vector<std::pair<std::string, std::string>> texts{
      {"-1\n", "100000\n"}, {"0\n", "100000\n"}, {"100000\n", "0\n"},
      {"100000\n", ""},     {"", "100000\n"},    {"100000\n", "-1\n"},
  };
  for (const auto& [quota, period] : texts) {
    tree.cfs(point, quota, period);
    EXPECT_EQ(tree.read(), no_limit) << quota << period;
  }
}

TEST(cpu_limit, missing_files_are_no_limit) {
  EXPECT_EQ(cpu_limit("/no/such/directory").read(), no_limit);
  EXPECT_EQ(cpu_limit(std::string(5000, 'x')).read(), no_limit);
  const fixture_tree tree;
  EXPECT_EQ(tree.read(), no_limit);
  tree.mounts(v2_mount);
  EXPECT_EQ(tree.read(), no_limit);
  tree.cgroups("0::/a\n");
  EXPECT_EQ(tree.read(), no_limit);
  fs::create_directories(tree.root() + "/sys/fs/cgroup/a/cpu.max");  // not a file
  EXPECT_EQ(tree.read(), no_limit);
}

TEST(cpu_limit, lines_that_are_not_as_they_should_be_are_left_out) {
  const v2_tree tree("/a");
  tree.cpu_max("/a", "200000 100000\n");
  tree.mounts(
      "\n \n   \n-\n - \n - cgroup2\n1 2 3 / /x - cgroup2\n1 2 3 x /x rw - cgroup2 c rw\n"
      "1 2 3 / x rw - cgroup2 c rw\n1 2 3 / /x rw cgroup2 c rw\n" +
      std::string(v2_mount) + "1 2 3 / /x rw - cgroup2");
  EXPECT_EQ(tree.read(), (cpu_quota{200000, 100000}));
  tree.cpu_max("/b", "100000 100000\n");
  tree.cgroups("\n:\n::\n:::\n0:\n0::\n0::x\n0:::/b\n00::/b\n7::/b\n0::/a\n0::/unfinish");
  EXPECT_EQ(tree.read(), (cpu_quota{200000, 100000}));
}

TEST(cpu_limit, a_path_may_contain_the_separator_of_fields) {
  const v2_tree tree("/a:b,c - d/0::/e");
  tree.cpu_max("/a:b,c - d/0::/e", "200000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{200000, 100000}));
}

TEST(cpu_limit, mountinfo_may_have_thousands_of_lines) {
  const v2_tree tree("/a");
  tree.cpu_max("/a", "200000 100000\n");
  const std::string long_options(20'000, 'x');  // more than the buffer: left out
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += mounted("/", "/mnt/volume" + std::to_string(i * 7919), "ext4", "rw,errors=continue");
    if (i % 1000 == 0) text += mounted("/", "/m", "cgroup2", long_options);
  }
  tree.mounts(text + std::string(v2_mount) + text);
  EXPECT_EQ(tree.read(), (cpu_quota{200000, 100000}));
}

TEST(cpu_limit, the_end_of_a_line_that_is_too_long_is_no_line) {
  const v2_tree tree("/a");
  tree.cpu_max("/a", "200000 100000\n");
  tree.write("/wrong/cpu.max", "100000 100000\n");
  for (std::size_t size = 8000; size < 8400; ++size) {  // around that of the buffer
    tree.mounts(std::string(v2_mount) + std::string(size, 'x') + " " +
                mounted("/", "/wrong", "cgroup2", "rw"));
    ASSERT_EQ(tree.read(), (cpu_quota{200000, 100000})) << size;
    tree.mounts(std::string(size, 'x') + "\n" + std::string(v2_mount));
    ASSERT_EQ(tree.read(), (cpu_quota{200000, 100000})) << size;
  }
}

TEST(cpu_limit, a_tree_may_be_deep) {
  std::string deepest;
  for (int i = 0; i < 900; ++i) deepest += "/d";  // create_directories makes no more
  const v2_tree tree(deepest);
  tree.cpu_max("/d", "400000 100000\n");
  tree.cpu_max(deepest, "300000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{300000, 100000}));
}

TEST(cpu_limit, ancestors_count_when_the_path_is_too_long_to_be_opened) {
  std::string deepest;
  while (deepest.size() < 4080) deepest += "/0123456789";
  const v2_tree tree(deepest);
  tree.cpu_max("/0123456789/0123456789", "400000 100000\n");
  EXPECT_EQ(tree.read(), (cpu_quota{400000, 100000}));
  tree.cgroups("0::" + deepest + deepest + "\n");  // longer than the kernel makes them
  EXPECT_EQ(tree.read(), no_limit);
}

TEST(cpu_limit, garbage_does_no_harm) {
  const v2_tree tree("/a");
  tree.cpu_max("/a", "200000 100000\n");
  std::mt19937 random(42);
  const auto damaged = [&random](std::string text) {
    for (int i = 0; i < 3; ++i) {
      const std::size_t place = random() % text.size();
      constexpr std::string_view alphabet("\0\n :/\\,-.0379acegmoprux\xff", 24);
      switch (random() % 3) {
        case 0: text[place] = alphabet[random() % alphabet.size()]; break;
        case 1: text.insert(place, text, random() % text.size(), random() % 64); break;
        default: text.erase(place, random() % 8 + (text.size() < 20 ? 0 : 1)); break;
      }
      if (text.empty()) text.push_back('x');
    }
    return text;
  };
  for (int i = 0; i < 1000; ++i) {
    tree.mounts(damaged(std::string(v1_mount) + std::string(v2_mount)));
    tree.cgroups(damaged("4:cpu,cpuacct:/b\n0::/a\n"));
    tree.cpu_max("/a", damaged("200000 100000\n"));
    const cpu_quota quota = tree.read();
    ASSERT_GE(procs_for(64, quota), 2U);
    ASSERT_LE(procs_for(64, quota), 64U);
  }
}

}  // namespace
