// Kernels and sandboxes that programs meet, as what they refuse: see docs/kernels.md.
#pragma once

#include "support/refuse.hpp"

#include <string_view>
#include <vector>

namespace sley_test {

struct kernel_profile {
  std::string_view name;
  std::vector<refusal> refusals;
};

// linux-5.4, linux-5.10, linux-5.15, linux-6.1, linux-6.12, docker, gvisor; and least, which lacks
// all that sley does without.
const std::vector<kernel_profile>& kernel_profiles();

// Null: there is none of that name.
const kernel_profile* find_kernel_profile(std::string_view name);

}  // namespace sley_test
