// aarch64's check that an indirect jump reaches a place that is made for it, where the compiler
// makes such places (-mbranch-protection). A program has the check from its start if its linker has
// written a note, which it does if all objects have one. The objects of Debian's libc have none.
#pragma once

namespace sley_test {

// From now on an indirect jump to another place of this program is an illegal instruction.
// Libraries and the end of the program are left as they are. Does nothing on other CPUs, and in a
// program without such places.
void demand_landing_pads();

}  // namespace sley_test
