// One schedule, in a child process.
#pragma once

#include <sley/testing.hpp>

#include "platform/simulated/simulation.hpp"

#include <functional>
#include <string>

namespace sley::testing {

struct outcome {
  failure kind = failure::none;
  std::string message;
};

struct shared_memory;

class player {
 public:
  player(const std::function<void()>& f, const options& o);
  ~player();
  player(const player&) = delete;
  player& operator=(const player&) = delete;

  outcome play(const platform::simulated::plan& p);
  // The journal of the last schedule. The next schedule's prefix is taken from its choices.
  platform::simulated::journal& journal() noexcept;

 private:
  [[noreturn]] void be_child(const platform::simulated::plan& p) noexcept;
  std::string read_output() const;

  const std::function<void()>& f_;
  const options& options_;
  shared_memory* shared_;
  int output_;
};

}  // namespace sley::testing
