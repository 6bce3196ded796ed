#include "support/machine_load.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>

#include <unistd.h>

namespace sley_test {

// The first line of /proc/stat, proc_stat(5): user, nice, system, idle, iowait, irq, softirq and
// steal, each in ticks.
machine_load::figures machine_load::read() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  figures now = {};
  for (int field = 0; field < 8; ++field) {
    double ticks = 0;
    file >> ticks;
    const std::chrono::duration<double> time(ticks / ticks_per_second);
    now.all += time;
    if (field != 3 && field != 4) now.busy += time;
  }
  timespec own = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  now.own = std::chrono::seconds(own.tv_sec) + std::chrono::nanoseconds(own.tv_nsec);
  return now;
}

double machine_load::of_others() const {
  const figures now = read();
  const auto all = now.all - before_.all;
  if (all.count() <= 0) return 1;
  const auto others = (now.busy - before_.busy) - (now.own - before_.own);
  return std::clamp(others / all, 0.0, 1.0);
}

}  // namespace sley_test
