#include "commands.hpp"
#include "keep_trying.hpp"
#include "queue.hpp"
#include "results.hpp"

#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>

namespace jobs {

namespace {

void print(long unfinished, const account& a) {
  std::printf("%ld jobs to do, %ld recorded", unfinished, a.recorded);
  if (a.failed != 0) std::printf(", %ld of them without a page", a.failed);
  for (const auto& [worker, recorded] : a.by_worker) {
    std::printf("\n  %s: %ld", worker.c_str(), recorded);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int show_status(const options& o) {
  using namespace std::chrono_literals;
  const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
  monitor m;
  const auto queue = make_queue(o);
  results tables(o);
  keep_trying(m, ctx, [&](const sley::context& in_time) { tables.make_tables(in_time); });
  for (;;) {  // ends when no job is left, or by a signal
    const long unfinished = keep_trying(
        m, ctx, [&](const sley::context& in_time) { return queue->count_unfinished(in_time); });
    if (!o.wait || unfinished == 0) {
      print(unfinished, keep_trying(m, ctx, [&](const sley::context& in_time) {
              return tables.read_account(in_time);
            }));
      break;
    }
    sley::this_goroutine::sleep_for(200ms, ctx);
  }
  cancel();
  return 0;
}

}  // namespace jobs
