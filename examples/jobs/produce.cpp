#include "commands.hpp"
#include "keep_trying.hpp"
#include "queue.hpp"
#include "results.hpp"

#include <sley/os.hpp>
#include <sley/signal.hpp>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace jobs {

namespace {

constexpr std::size_t at_once = 200;  // in one round trip

std::vector<job> read_jobs(const options& o) {
  std::vector<job> all;
  std::istringstream lines(sley::os::read_file(o.file));
  for (std::string url; std::getline(lines, url);) {
    if (!url.empty())
      all.push_back({.id = o.batch + "-" + std::to_string(all.size() + 1), .url = url});
  }
  return all;
}

}  // namespace

// When a server fails, what was under way is added again, and some jobs are there twice. A producer
// that was killed is simply run again. Neither does harm, because ids say which jobs are the same.
int produce(const options& o) {
  const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
  monitor m;
  const auto queue = make_queue(o);
  results tables(o);
  keep_trying(m, ctx, [&](const sley::context& in_time) { tables.make_tables(in_time); });

  const std::vector<job> all = read_jobs(o);
  for (auto from = all.begin(); from != all.end();) {
    const auto to = all.end() - from > std::ptrdiff_t{at_once} ? from + at_once : all.end();
    const std::vector<job> some(from, to);
    keep_trying(m, ctx, [&](const sley::context& in_time) { queue->add(some, in_time); });
    from = to;
  }
  std::printf("added %zu jobs\n", all.size());
  cancel();
  return 0;
}

}  // namespace jobs
