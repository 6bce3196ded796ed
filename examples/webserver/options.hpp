// What the command line says.
#pragma once

#include <string>

namespace webserver {

struct options {
  std::string address = "127.0.0.1:8080";
  std::string root;   // of the static files; empty: a page that is built in
  bool log = false;   // a line for each request
  bool demo = false;  // drives itself and ends
  int seconds = 10;   // of the demo
};

// Ends the process with usage on stderr if it can't be understood, and on stdout for --help.
options parse_options(int argc, char** argv);

}  // namespace webserver
