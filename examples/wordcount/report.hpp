// What wordcount tells: it gathers the findings, shows progress and prints the figures.
#pragma once

#include "walk.hpp"

#include <sley/chan.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace wordcount {

struct sized_file {
  std::uint64_t bytes;
  std::string path;
};

struct tally {
  counts total;
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t symlinks = 0;  // all of them
  std::uint64_t dangling = 0;
  std::uint64_t loops = 0;
  std::uint64_t special = 0;
  std::uint64_t unreadable = 0;
  std::uint64_t vanished = 0;
  std::vector<sized_file> largest;  // at most ten, the largest first

  void add(finding&& f);
};

// Receives until the channel is closed. Unless quiet, it names the problems on standard error, and
// keeps a progress line there if that is a terminal.
tally collect(const sley::recv_chan<finding>& findings, bool quiet);

// Whether standard output took it all.
bool print_report(const tally& sums, std::chrono::duration<double> elapsed, bool quiet);

// A name as it can be shown: valid UTF-8 stays as it is; control characters, the backslash and
// bytes that are not UTF-8 become \n, \\ or \xNN.
std::string printable(const std::string& name);

}  // namespace wordcount
