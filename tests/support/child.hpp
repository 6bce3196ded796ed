// Tests whose subject is a whole process: what it prints, and how it ends.
//
//   CHILD_MAIN(prints_hello) { std::puts("hello"); return 0; }
//   TEST(death, ...) { const auto child = run_child("prints_hello"); EXPECT_EQ(child.status, 0); }
//
// The child is this program again, started with the name as argument; it sees no GoogleTest. Do not
// use it in a goroutine: waiting for the child blocks the thread.
#pragma once

#include "support/conditions.hpp"

#include <chrono>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley_test {

struct child_result {
  int status = -1;  // what main returned; -1 if a signal ended it
  int signal = 0;   // the signal that ended it, or 0
  bool timed_out = false;
  std::string out;
  std::string err;

  // Ended by itself and not well, as after std::abort or a fatal error with a status of its own.
  bool failed() const { return !timed_out && (signal != 0 || status != 0); }
};

// For failure messages: all there is to know.
std::ostream& operator<<(std::ostream& out, const child_result& child);

using environment = std::vector<std::pair<std::string, std::string>>;

// Runs the child with additions to the environment, and waits until it has ended or is out of time.
child_result run_child(const std::string& name, const environment& additions = {},
                       std::chrono::seconds limit = patience);

// Runs them all at the same time, each with this limit.
std::vector<child_result> run_children(const std::vector<std::string>& names,
                                       std::chrono::seconds limit = patience);

// In the child: a variable of its environment, empty if it is not set.
std::string_view setting(const char* name);

// The status for the main function of a child that has used EXPECTs: 7, or 3 if one has failed.
int verdict();
// ... and that cannot do here what it is about.
inline constexpr int skipped = 77;

// Becomes the child, in this process: for conditions that must hold before a program's first
// instruction. Returns only if that fails.
void become_child(const std::string& name);

// Expects that stderr is one line of the library's, which matches.
void expect_one_line(const child_result& child, const std::string& pattern);

// How often a text occurs, and its lines.
int occurrences(const std::string& text, const std::string& part);
std::vector<std::string> lines_of(const std::string& text);

bool register_child(const char* name, int (*run)());

// Runs the child that the arguments ask for, if they do. Called by main.
bool is_child(int argc, char** argv, int& status);

}  // namespace sley_test

#define CHILD_MAIN(name)                                                                    \
  static int child_##name();                                                                \
  static const bool child_##name##_known = sley_test::register_child(#name, &child_##name); \
  static int child_##name()
