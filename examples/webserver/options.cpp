#include "options.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace webserver {

namespace {

constexpr const char* usage =
    "usage: webserver [--listen ADDRESS | --port N] [--root DIR] [--log] [--notice N]\n"
    "                 [--demo [--seconds N]]\n"
    "\n"
    "  --listen ADDRESS  host:port (default 127.0.0.1:8080; port 0: any)     WEBSERVER_LISTEN\n"
    "  --port N          127.0.0.1:N\n"
    "  --root DIR        serve the files of this folder                      WEBSERVER_ROOT\n"
    "  --log             write a line of JSON for each request               WEBSERVER_LOG=1\n"
    "  --notice N        after SIGTERM, say 503 at /readyz for N s first     WEBSERVER_NOTICE\n"
    "  --demo            drive itself for 10 s, print figures and end\n"
    "  --seconds N       so long instead\n"
    "\n"
    "A listener named \"http\" that is handed down (systemd's socket activation) is used in place\n"
    "of the address. SIGUSR2 starts the program anew and hands the listener to it.\n";

[[noreturn]] void refuse(std::string_view name, const char* why) {
  std::fprintf(stderr, "webserver: %.*s: %s\n%s", static_cast<int>(name.size()), name.data(), why,
               usage);
  std::exit(2);
}

int number(std::string_view name, const char* text, long most) {
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || n < 0 || n > most) refuse(name, "no number for this");
  return static_cast<int>(n);
}

void read_environment(options& o) {
  const auto with = [](const char* name, const auto& use) {
    if (const char* text = std::getenv(name); text != nullptr) use(name, text);
  };
  with("WEBSERVER_LISTEN", [&](auto, const char* text) { o.address = text; });
  with("WEBSERVER_ROOT", [&](auto, const char* text) { o.root = text; });
  with("WEBSERVER_LOG", [&](auto name, const char* text) { o.log = number(name, text, 1) == 1; });
  with("WEBSERVER_NOTICE", [&](auto name, const char* text) {
    o.notice = std::chrono::seconds(number(name, text, 3600));
  });
}

// Whether it is an option, whose value `value` gives.
bool read_option(options& o, std::string_view name, const std::function<const char*()>& value) {
  if (name == "--listen") {
    o.address = value();
  } else if (name == "--port") {
    o.address = "127.0.0.1:" + std::to_string(number(name, value(), 65'535));
  } else if (name == "--root") {
    o.root = value();
  } else if (name == "--log") {
    o.log = true;
  } else if (name == "--notice") {
    o.notice = std::chrono::seconds(number(name, value(), 3600));
  } else if (name == "--demo") {
    o.demo = true;
  } else if (name == "--seconds") {
    o.seconds = number(name, value(), 3600);
  } else {
    return false;
  }
  return true;
}

}  // namespace

options parse_options(int argc, char** argv) {
  options o;
  const std::string usual = o.address;
  o.command_line.assign(argv, argv + argc);
  read_environment(o);
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    const auto value = [&]() -> const char* {
      if (i + 1 == argc) refuse(name, "a value is missing");
      return argv[++i];
    };
    if (!read_option(o, name, value)) refuse(name, "unknown option");
  }
  if (o.demo && o.address == usual) o.address = "127.0.0.1:0";
  return o;
}

}  // namespace webserver
