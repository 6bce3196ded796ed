// Process supervisor: keeps programs running, and ends them with itself.
//
//   supervisor COMMAND...        each a line for the shell, such as "exec server --port 80"
//
// One goroutine for each command starts it, waits for its end and starts it again, after a pause
// that doubles while the program ends within 10 s. A signal ends the context, and each goroutine
// ends its program: by SIGTERM, and by SIGKILL if it is still there 2 s later.
#include <sley/os.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

using namespace std::chrono_literals;
using steady_clock = std::chrono::steady_clock;
namespace os = sley::os;

void say(const std::string& command, const std::string& text) {
  std::printf("[%s] %s\n", command.c_str(), text.c_str());
  std::fflush(stdout);
}

// Waits until the program has ended, or ends it when the context has.
os::exit_status run_once(const std::string& command, const sley::context& ctx) {
  const os::process program = os::process::start(
      {.program = "sh", .arguments = {"-c", command}, .input = os::redirect::null()});
  say(command, "started");
  std::error_code error;
  os::exit_status status = program.wait(ctx, error);
  if (!error) return status;
  program.kill(SIGTERM, error);
  status = program.wait(steady_clock::now() + 2s, error);
  if (!error) return status;
  program.kill(SIGKILL, error);
  return program.wait();
}

void supervise(const std::string& command, const sley::context& ctx) {
  constexpr auto first_pause = 100ms;
  auto pause = first_pause;
  while (!ctx.error()) {
    const auto start = steady_clock::now();
    try {
      say(command, run_once(command, ctx).to_string());
    } catch (const std::system_error& e) {  // it could not be started
      say(command, e.what());
    }
    if (steady_clock::now() - start > 10s) pause = first_pause;
    std::error_code error;
    sley::this_goroutine::sleep_for(pause, ctx, error);
    pause = std::min<std::chrono::milliseconds>(2 * pause, 10s);
  }
}

int main(int argc, char** argv) {
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    sley::wait_group programs;
    for (int i = 1; i < argc; ++i)
      programs.go([&ctx, command = argv[i]] { supervise(command, ctx); });
    programs.wait();
    std::puts("all programs have ended");
    cancel();
  });
}
