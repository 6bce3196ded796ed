// A report that takes a while, for tests of what else happens meanwhile. For children.
#pragma once

#include "support/child.hpp"

namespace sley_test {

// Starts a goroutine that throws an exception, whose what() takes a while, in which it parks.
void start_a_report();
// On a thread or in a goroutine. The first line of the report has been printed then.
void wait_for_a_report();
// The child has printed all of it, and nothing of another one.
void expect_whole_report(const child_result& child);

}  // namespace sley_test
