// Names for dumps of stripped programs.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace sley::inspect {

// A place of a dump that has an address for a name: "\t+0x11c9 in /home/me/app (build id 8f3c...)".
struct nameless_place {
  std::uint64_t address = 0;
  std::string file;
  std::string build_id;  // as hexadecimal digits; empty if there is none
};
// False: the line is something else.
bool parse_place(const std::string& line, nameless_place& place);

// Copies a dump to the descriptor, with names in the place of such addresses as far as they are
// known: from the file of `files` that has the same build id, or else from the one that the dump
// names, if its build id is the same.
void symbolize(std::istream& dump, int fd, const std::vector<std::string>& files);

}  // namespace sley::inspect
