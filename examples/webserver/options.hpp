// What the command line and the environment say.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace webserver {

struct options {
  std::vector<std::string> command_line;  // to start the program again
  std::string address = "127.0.0.1:8080";
  std::string root;                // of the static files; empty: a page that is built in
  bool log = false;                // a line for each request
  std::chrono::seconds notice{0};  // for load balancers to notice, before it stops listening
  bool demo = false;               // drives itself and ends
  int seconds = 10;                // of the demo
};

// An option of the command line wins over its variable of the environment. Ends the process with
// usage on stderr if one of them can't be understood, and on stdout for --help.
options parse_options(int argc, char** argv);

}  // namespace webserver
