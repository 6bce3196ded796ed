// sley_servers runs one workload against a server that is there, and prints one result line as
// SPEC.md has it. bench/servers.py starts the servers and compares.
//
//   sley_servers WORKLOAD SERVER TASKS ROUNDS CONNECTIONS
//   sley_servers late_pages      a server whose page comes after 200 ms; prints its address
#include "ways.hpp"

#include <sley/http.hpp>
#include <sley/sley.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace {

using bench::outcome;

struct workload {
  std::string_view name;
  bench::servers_workload* run;
  bool is_in_goroutines = true;
};

constexpr workload workloads[] = {
    {"postgres_waits", bench::postgres_waits_in_goroutines},
    {"postgres_waits_in_threads", bench::postgres_waits_in_threads, false},
    {"postgres_selects", bench::postgres_selects},
    {"postgres_parameters", bench::postgres_parameters},
    {"redis_waits", bench::redis_waits_in_goroutines},
    {"redis_waits_in_threads", bench::redis_waits_in_threads, false},
    {"redis_sets", bench::redis_sets},
    {"redis_gets", bench::redis_gets},
    {"curl_waits", bench::curl_waits_in_goroutines},
    {"curl_waits_in_threads", bench::curl_waits_in_threads, false},
};

int serve_late_pages() {
  return sley::run([] {
    auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    std::printf("listening addr=%s\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    sley::http::server server([](sley::http::request&, sley::http::response& out) {
      sley::this_goroutine::sleep_for(std::chrono::milliseconds(200));
      out.send(200, "text/plain", "late");
    });
    server.serve(listener);
  });
}

int usage_error() {
  std::fprintf(stderr,
               "usage: sley_servers late_pages\n"
               "       sley_servers WORKLOAD SERVER TASKS ROUNDS CONNECTIONS\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "late_pages") return serve_late_pages();
  if (argc != 6) return usage_error();
  const auto* const w = std::ranges::find(workloads, std::string_view(argv[1]), &workload::name);
  const bench::load what{std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])};
  if (w == std::end(workloads) || what.total() < 1 || what.connections < 1) return usage_error();
  outcome o;
  const auto run = [&] { o = w->run(argv[2], what); };
  w->is_in_goroutines ? static_cast<void>(sley::run(run)) : run();
  std::printf("workload=%s ops=%lld ns_per_op=%.2f wall_ms=%.2f cpu_ms=%.2f\n", argv[1],
              static_cast<long long>(o.ops), bench::ns_each(o.cost, o.ops),
              bench::milliseconds(o.wall), bench::milliseconds(o.cpu));
  return 0;
}
