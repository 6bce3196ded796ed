#include "options.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace webserver {

namespace {

constexpr const char* usage =
    "usage: webserver [--port N] [--root DIR] [--log] [--demo [--seconds N]]\n"
    "\n"
    "  --port N     listen at 127.0.0.1:N (default 8080; 0: any port)\n"
    "  --root DIR   serve the files of this folder\n"
    "  --log        write a line for each request\n"
    "  --demo       drive itself for 10 s, print figures and end\n"
    "  --seconds N  so long instead\n";

[[noreturn]] void refuse(const char* why) {
  std::fprintf(stderr, "webserver: %s\n%s", why, usage);
  std::exit(2);
}

int number(const char* text, long most) {
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || n < 0 || n > most) refuse("that is no number for this");
  return static_cast<int>(n);
}

}  // namespace

options parse_options(int argc, char** argv) {
  options o;
  bool has_port = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) refuse("a value is missing");
      return argv[++i];
    };
    if (name == "--port") {
      o.address = "127.0.0.1:" + std::to_string(number(value(), 65'535));
      has_port = true;
    } else if (name == "--root") {
      o.root = value();
    } else if (name == "--log") {
      o.log = true;
    } else if (name == "--demo") {
      o.demo = true;
    } else if (name == "--seconds") {
      o.seconds = number(value(), 3600);
    } else if (name == "--help") {
      std::fputs(usage, stdout);
      std::exit(0);
    } else {
      refuse("unknown option");
    }
  }
  if (o.demo && !has_port) o.address = "127.0.0.1:0";
  return o;
}

}  // namespace webserver
