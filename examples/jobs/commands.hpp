// What the program does.
#pragma once

#include "options.hpp"

namespace jobs {

// Each returns the status of the process, and throws what it can't go on after.
int produce(const options& o);
int work(const options& o);
int show_status(const options& o);

}  // namespace jobs
