// Every public function that threads and goroutines may use alike, in pieces that take a moment
// each and expect the right answers.
#pragma once

namespace sley_test {

void use_channels();
void use_select();
void use_time();
void use_locks_and_futures();
void use_the_runtime();

// All of these.
void use_everything();

}  // namespace sley_test
