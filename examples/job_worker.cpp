// Job worker: four goroutines take jobs from a channel, and try each again while that may help.
//
//   job_worker URL FILE          sends each line of the file to the URL, by POST
//
// A try has 2 s. A server that is busy (5xx), slow or gone gets another try after a pause that
// doubles; a message that the server refuses (4xx) does not. Ctrl-C ends the context, which ends
// the pauses and the requests. Whatever happens, the program says of each message whether it was
// delivered or lost.
#include <sley/http.hpp>
#include <sley/os.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
namespace http = sley::http;

// The server does not want this message, however often it comes.
struct refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One try: returns if the message was delivered, and throws if not.
void post(http::client& client, const std::string& url, const std::string& message,
          const sley::context& ctx) {
  const auto [in_time, cancel] = sley::with_timeout(ctx, 2s);
  http::client_response answer = client.post(url, "text/plain", message, in_time);
  answer.read_all();  // so that the connection serves the next message
  const std::string status = "the server answered " + std::to_string(answer.status());
  if (answer.status() >= 500) throw std::runtime_error(status);
  if (!answer.is_ok()) throw refused(status);
}

// Whether it was delivered.
bool deliver(http::client& client, const std::string& url, const std::string& message,
             const sley::context& ctx) {
  sley::retry_policy policy{.max_tries = 4, .first_pause = 100ms, .longest_pause = 5s};
  policy.may_retry = [](const std::exception& e) {
    return dynamic_cast<const refused*>(&e) == nullptr;
  };
  int tries = 0;
  try {
    sley::retry(policy, ctx, [&] {
      ++tries;
      post(client, url, message, ctx);
    });
    std::printf("delivered: %s (%d tries)\n", message.c_str(), tries);
    return true;
  } catch (const std::exception& e) {
    std::printf("lost: %s (%d tries): %s\n", message.c_str(), tries, e.what());
    return false;
  }
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: job_worker URL FILE\n", stderr);
    return 2;
  }
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    http::client client;
    std::atomic<int> lost = 0;
    const sley::chan<std::string> messages;
    sley::wait_group workers;
    for (int i = 0; i < 4; ++i) {
      workers.go([&] {
        for (const std::string& message : messages) {
          if (!deliver(client, argv[1], message, ctx)) ++lost;
        }
      });
    }
    std::istringstream lines(sley::os::read_file(argv[2]));
    for (std::string line; std::getline(lines, line);) messages.send(line);
    messages.close();
    workers.wait();
    cancel();
    return lost == 0 ? 0 : 1;
  });
}
