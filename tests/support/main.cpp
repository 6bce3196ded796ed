#include "support/child.hpp"
#include "support/landing_pads.hpp"
#include "support/listener.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  if (!sley_test::setting("SLEY_TEST_LANDING_PADS").empty()) sley_test::demand_landing_pads();
  int status = 0;
  if (sley_test::is_child(argc, argv, status)) return status;
  testing::InitGoogleTest(&argc, argv);
  sley_test::install_listener(argv[0]);
  return RUN_ALL_TESTS();
}
