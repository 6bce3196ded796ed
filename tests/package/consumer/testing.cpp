// The smallest program in the simulation.
#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <cstdio>

int main() {
  const auto r = sley::testing::explore({.schedules = 2}, [] { sley::this_goroutine::yield(); });
  if (r.is_clean()) std::puts("hello from the installed sley");
}
