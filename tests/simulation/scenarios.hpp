// Small programs that exercise one part of the library each, and end well in all orders.
#pragma once

#include <span>
#include <string_view>

namespace sley_test {

struct scenario {
  std::string_view name;
  void (*body)();
};

std::span<const scenario> scheduler_scenarios();  // scenarios_scheduler.cpp
std::span<const scenario> channel_scenarios();    // scenarios_channels.cpp
std::span<const scenario> sync_scenarios();       // scenarios_sync.cpp
std::span<const scenario> io_scenarios();         // scenarios_io.cpp

}  // namespace sley_test
