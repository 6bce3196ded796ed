#include "options.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include <unistd.h>

namespace jobs {

namespace {

constexpr const char* usage =
    "usage: jobs produce FILE [options]   a job for each line of the file, which is a URL\n"
    "       jobs work [options]           take jobs, fetch their pages, record what came of them\n"
    "       jobs status [--wait]          how far it is; --wait: until no job is left\n"
    "\n"
    "  --engine redis|postgres  where jobs wait (default redis)            JOBS_ENGINE\n"
    "  --redis ADDRESS          host:port or a socket's path               JOBS_REDIS\n"
    "  --postgres CONNINFO      as libpq takes it; results are there       JOBS_POSTGRES\n"
    "  --batch NAME             produce: ids are NAME-1 and so on; adding one twice does no harm\n"
    "  --name NAME              work: the worker's name (default HOST-PID)\n"
    "  --parallel N             work: jobs at the same time (default 16)\n"
    "  --claim S                work: seconds after which others may take its job (default 60)\n"
    "  --fetch S                work: seconds for each try to fetch a page (default 10)\n"
    "  --drain S                work: seconds for the jobs under way after SIGTERM (default 30)\n"
    "  --deliveries N           work: a job without a page is given up after N (default 10)\n"
    "  --watch ADDRESS          work: /metrics, /readyz, /healthz, /debug/ (default 127.0.0.1:0)\n";

[[noreturn]] void refuse(std::string_view name, const char* why) {
  std::fprintf(stderr, "jobs: %.*s: %s\n%s", static_cast<int>(name.size()), name.data(), why,
               usage);
  std::exit(2);
}

int number(std::string_view name, const char* text) {
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || n < 1 || n > 10'000) refuse(name, "no number for this");
  return static_cast<int>(n);
}

std::chrono::milliseconds seconds(std::string_view name, const char* text) {
  char* end = nullptr;
  const double s = std::strtod(text, &end);
  if (*text == '\0' || *end != '\0' || !(s >= 0.001 && s <= 86'400)) {
    refuse(name, "no time for this");
  }
  return std::chrono::milliseconds(static_cast<long>(s * 1000));
}

engine engine_of(std::string_view name, std::string_view text) {
  if (text == "redis") return engine::redis;
  if (text == "postgres") return engine::postgres;
  refuse(name, "redis or postgres");
}

command command_of(std::string_view text) {
  if (text == "produce") return command::produce;
  if (text == "work") return command::work;
  if (text == "status") return command::status;
  refuse(text, "unknown command");
}

std::string default_name() {
  char host[256] = "worker";
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + "-" + std::to_string(::getpid());
}

void read_environment(options& o) {
  const auto with = [](const char* name, const auto& use) {
    if (const char* text = std::getenv(name); text != nullptr) use(name, text);
  };
  with("JOBS_ENGINE", [&](auto name, const char* text) { o.engine = engine_of(name, text); });
  with("JOBS_REDIS", [&](auto, const char* text) { o.redis = text; });
  with("JOBS_POSTGRES", [&](auto, const char* text) { o.postgres = text; });
}

// Whether it is an option, whose value `value` gives.
bool read_option(options& o, std::string_view name, const std::function<const char*()>& value) {
  if (name == "--engine") {
    o.engine = engine_of(name, value());
  } else if (name == "--redis") {
    o.redis = value();
  } else if (name == "--postgres") {
    o.postgres = value();
  } else if (name == "--batch") {
    o.batch = value();
  } else if (name == "--name") {
    o.name = value();
  } else if (name == "--parallel") {
    o.parallel = static_cast<std::size_t>(number(name, value()));
  } else if (name == "--claim") {
    o.claim = seconds(name, value());
  } else if (name == "--fetch") {
    o.fetch = seconds(name, value());
  } else if (name == "--drain") {
    o.drain = seconds(name, value());
  } else if (name == "--deliveries") {
    o.deliveries = number(name, value());
  } else if (name == "--watch") {
    o.watch = value();
  } else if (name == "--wait") {
    o.wait = true;
  } else {
    return false;
  }
  return true;
}

}  // namespace

options parse_options(int argc, char** argv) {
  if (argc < 2) refuse("jobs", "a command is missing");
  if (std::string_view(argv[1]) == "--help") {
    std::fputs(usage, stdout);
    std::exit(0);
  }
  options o{.command = command_of(argv[1]), .name = default_name()};
  read_environment(o);
  int i = 2;
  if (o.command == command::produce) {
    if (argc < 3) refuse("produce", "a file is missing");
    o.file = argv[i++];
  }
  for (; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&]() -> const char* {
      if (i + 1 == argc) refuse(name, "a value is missing");
      return argv[++i];
    };
    if (!read_option(o, name, value)) refuse(name, "unknown option");
  }
  return o;
}

}  // namespace jobs
