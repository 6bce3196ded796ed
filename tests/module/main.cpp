// What a program writes with `import sley;`: templates, operators and errors that only
// argument-dependent lookup finds, and names of several namespaces.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>

import sley;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("FAILED: %s\n", what);
  ++failures;
}

void channels() {
  const sley::chan<std::string> words;
  sley::go([words] {
    words.send("hello");
    words.close();
  });
  std::string all;
  for (const std::string& word : words) all += word;
  expect(all == "hello", "a goroutine sends over a channel");

  const sley::chan<int> numbers(1);
  int got = 0;
  sley::select(sley::on_send(numbers, 5), sley::on_timeout(std::chrono::hours(1)));
  sley::select(sley::on_receive(numbers, [&](std::optional<int> n) { got = n.value_or(0); }),
               sley::on_timeout(std::chrono::hours(1)));
  expect(got == 5, "select chooses the case that is ready");
  numbers.send(6);
  expect(sley::await(numbers) == 6, "a channel can be awaited");
}

void waiting() {
  sley::mutex m;
  sley::wait_group group;
  int sum = 0;
  for (int i = 1; i <= 10; ++i) {
    group.go([&, i] {
      const std::lock_guard lock(m);
      sum += i;
    });
  }
  group.wait();
  expect(sum == 55, "a mutex guards a sum");
  expect(sley::async([] { return 7; }).get() == 7, "a future has its result");
}

void contexts() {
  auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  cancel();
  std::error_code error;
  sley::this_goroutine::sleep_for(std::chrono::hours(1), ctx, error);
  expect(error == sley::context_errc::canceled, "an ended context ends a sleep");
  expect(sley::runtime::num_goroutines() >= 1, "there are figures");
  const auto both = sley::os::poll_events::readable | sley::os::poll_events::writable;
  expect(both != sley::os::poll_events::readable, "events are joined");
}

}  // namespace

int main() {
  const int status = sley::run([] {
    channels();
    waiting();
    contexts();
    return failures;
  });
  if (status == 0) std::puts("hello from the module");
  return status;
}
