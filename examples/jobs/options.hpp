// What the command line and the environment say.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace jobs {

enum class command { produce, work, status };
enum class engine { redis, postgres };

struct options {
  jobs::command command = command::status;
  std::string file = {};                    // produce: a URL in each line
  jobs::engine engine = engine::redis;      // where jobs wait
  std::string redis = "127.0.0.1:6379";     // as redis::connect_options::address
  std::string postgres = {};                // as postgres::connect_options::conninfo
  std::string batch = "batch";              // produce: what the jobs' ids begin with
  std::string name = {};                    // work: the worker's; default: the host's and a number
  std::size_t parallel = 16;                // work: jobs at the same time
  std::chrono::milliseconds claim{60'000};  // work: how long a job is this worker's
  std::chrono::milliseconds fetch{10'000};  // work: how long one try of a page may take
  std::chrono::milliseconds drain{30'000};  // work: how long jobs may take after SIGTERM
  int deliveries = 10;                      // work: after this many the job is given up
  std::string watch = "127.0.0.1:0";        // work: where its pages are
  bool wait = false;                        // status: until there are no more jobs
};

// An option of the command line wins over its variable of the environment. Ends the process with
// usage on stderr if one of them can't be understood, and on stdout for --help.
options parse_options(int argc, char** argv);

}  // namespace jobs
