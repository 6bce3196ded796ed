#include "support/child.hpp"

#include "support/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sley_test {
namespace {

constexpr const char* argument = "--sley_child=";

std::map<std::string, int (*)()>& children() {
  static std::map<std::string, int (*)()> map;
  return map;
}

std::vector<std::string> environment_with(const environment& additions) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool replaced = std::any_of(additions.begin(), additions.end(), [&](const auto& added) {
      return text.compare(0, added.first.size() + 1, added.first + "=") == 0;
    });
    if (!replaced) result.push_back(text);
  }
  for (const auto& [name, value] : additions) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct pipe_ends {
  int read_end = -1;
  int write_end = -1;
  pipe_ends() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    read_end = ends[0];
    write_end = ends[1];
  }
};

// This program with another argument. SLEY_TEST_EMULATOR names the command that runs programs of
// the tests' CPU, where the kernel does not run them itself.
std::vector<std::string> command_of(const std::string& name) {
  std::vector<std::string> words;
  std::istringstream emulator(std::string(setting("SLEY_TEST_EMULATOR")));
  for (std::string word; emulator >> word;) words.push_back(word);
  if (words.empty()) return {"/proc/self/exe", argument + name};
  words.push_back(std::filesystem::read_symlink("/proc/self/exe"));
  words.push_back(argument + name);
  return words;
}

pid_t spawn(const std::string& name, const environment& additions, const pipe_ends& out,
            const pipe_ends& err) {
  std::vector<std::string> arguments = command_of(name);
  std::vector<std::string> variables = environment_with(additions);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
  // A shell has its background jobs ignore some signals.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes,
                                   pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    std::fprintf(stderr, "posix_spawn: %s\n", std::strerror(error));
    std::abort();
  }
  return pid;
}

// Appends the bytes that can be read. False at the end of the stream.
bool read_some(int fd, std::string& to) {
  char buffer[4096];
  const ssize_t count = ::read(fd, buffer, sizeof buffer);
  if (count > 0) to.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

// Reads both streams until the child has closed them. False when out of time.
bool read_all(int out, int err, std::chrono::steady_clock::time_point deadline,
              child_result& result) {
  pollfd fds[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (::poll(fds, 2, static_cast<int>(left.count())) <= 0) continue;
    if (fds[0].revents != 0 && !read_some(out, result.out)) fds[0].fd = -1;
    if (fds[1].revents != 0 && !read_some(err, result.err)) fds[1].fd = -1;
  }
  return true;
}

}  // namespace

child_result run_child(const std::string& name, const environment& additions,
                       std::chrono::seconds limit) {
  child_result result;
  const pipe_ends out;
  const pipe_ends err;
  const pid_t pid = spawn(name, additions, out, err);
  ::close(out.write_end);
  ::close(err.write_end);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  if (!read_all(out.read_end, err.read_end, deadline, result)) {
    result.timed_out = true;
    ::kill(pid, SIGKILL);
  }
  ::close(out.read_end);
  ::close(err.read_end);
  int wait_status = 0;
  ::waitpid(pid, &wait_status, 0);
  if (WIFSIGNALED(wait_status)) result.signal = WTERMSIG(wait_status);
  if (WIFEXITED(wait_status)) result.status = WEXITSTATUS(wait_status);
  return result;
}

std::vector<child_result> run_children(const std::vector<std::string>& names,
                                       std::chrono::seconds limit) {
  std::vector<child_result> children(names.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < names.size(); ++i) {
    threads.emplace_back([&, i] { children[i] = run_child(names[i], {}, limit); });
  }
  for (auto& thread : threads) thread.join();
  return children;
}

std::string_view setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int verdict() { return testing::Test::HasFailure() ? 3 : 7; }

std::ostream& operator<<(std::ostream& out, const child_result& child) {
  if (child.timed_out) out << "out of time, ";
  return out << "status " << child.status << ", signal " << child.signal << "\n--- stdout\n"
             << child.out << "\n--- stderr\n"
             << child.err << "\n---";
}

void expect_one_line(const child_result& child, const std::string& pattern) {
  EXPECT_TRUE(matches(child.err, "sley: .*(" + pattern + ").*\n")) << child;
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool register_child(const char* name, int (*run)()) { return children().emplace(name, run).second; }

void become_child(const std::string& name) {
  std::vector<std::string> arguments = command_of(name);
  execvp(arguments[0].c_str(), pointers(arguments).data());
}

bool is_child(int argc, char** argv, int& status) {
  if (argc < 2 || std::strncmp(argv[1], argument, std::strlen(argument)) != 0) return false;
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const auto child = children().find(argv[1] + std::strlen(argument));
  if (child == children().end()) {
    std::fprintf(stderr, "no such child: %s\n", argv[1]);
    status = 99;
  } else {
    status = child->second();
  }
  return true;
}

}  // namespace sley_test
