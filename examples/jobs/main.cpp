// Jobs for many machines. Producers put them into Redis or PostgreSQL. Workers take them, fetch
// their pages and record each exactly once, whatever dies meanwhile: see README.md of the examples.
//
//   jobs produce FILE | work | status [--wait]     --help lists all options
//
// Where to begin reading: work() in worker.cpp.
#include "commands.hpp"

#include <sley/sley.hpp>

#include <cstdio>
#include <exception>

namespace {

int do_command(const jobs::options& o) {
  switch (o.command) {
    case jobs::command::produce: return jobs::produce(o);
    case jobs::command::work: return jobs::work(o);
    case jobs::command::status: break;
  }
  return jobs::show_status(o);
}

}  // namespace

int main(int argc, char** argv) {
  const jobs::options o = jobs::parse_options(argc, argv);
  return sley::run([&] {
    try {
      return do_command(o);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "jobs: %s\n", e.what());
      return 1;
    }
  });
}
