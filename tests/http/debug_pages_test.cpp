// The pages of <sley/http/debug.hpp>.
#include "support/leak_search.hpp"
#include "support/profile.hpp"
#include "support/protobuf.hpp"
#include "support/text.hpp"
#include "support/web.hpp"

#include <sley/http/client.hpp>
#include <sley/http/debug.hpp>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::running_server;
using sley_test::status_of;

namespace {

// A server of the process, which stays until it ends, as its goroutine does.
const std::string& served() {
  static const std::string address = sley::debug::serve("127.0.0.1:0").to_string();
  return address;
}

std::string exchange(const std::string& request_line, std::string_view host = "localhost",
                     std::string_view body = "") {
  const auto s = sley::net::tcp_stream::connect(served());
  s.write_all(sley_test::bytes_of(request_line + " HTTP/1.1\r\nHost: " + std::string(host) +
                                  "\r\nConnection: close\r\nContent-Length: " +
                                  std::to_string(body.size()) + "\r\n\r\n" + std::string(body)));
  return sley_test::read_to_end(s);
}

std::string ask(std::string_view page, std::string_view host = "localhost") {
  return exchange("GET " + std::string(page), host);
}

// What a client makes of it.
std::string unpacked(const std::string& gzip) {
  const running_server web([&](const sley::http::request&, sley::http::response& out) {
    out.headers().set("Content-Encoding", "gzip");
    out.send(200, "text/plain", gzip);
  });
  return sley::http::client().get("http://" + web.address + '/').read_all();
}

// The profile of an answer, which is packed where that can be.
std::string profile_in(const std::string& answer) {
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(has(answer, "\r\nContent-Type: application/octet-stream\r\n"));
  const std::string body = sley_test::body_of(answer);
  return body.starts_with("\x1f\x8b") ? unpacked(body) : body;
}

}  // namespace

TEST(debug_pages, are_served_on_a_loopback_address) {
  sley::run([] {
    const std::string live = ask("/debug/");
    EXPECT_TRUE(has(live, "href=\"goroutines\""));
    EXPECT_TRUE(has(live, "\r\nContent-Security-Policy: default-src 'none';"));
    const std::string groups = ask("/debug/goroutines.json");
    EXPECT_TRUE(has(groups, "\r\nContent-Type: application/json\r\n"));
    EXPECT_TRUE(has(groups, "\"name\":\"sley debug server\""));
    // It has just accepted the connection, and is about to wait for the next one.
    EXPECT_TRUE(eventually(
        [] { return has(ask("/debug/goroutines"), "\"sley debug server\" [IO wait]:"); }));
    EXPECT_TRUE(eventually([] { return has(ask("/debug/profile"), "1 [IO wait]:"); }));
    const std::string metrics = ask("/debug/metrics");
    EXPECT_TRUE(has(metrics, "\n# TYPE sley_goroutines gauge\nsley_goroutines "));
    EXPECT_TRUE(has(metrics, "\n# TYPE sley_spawned_total counter\nsley_spawned_total "));
    EXPECT_EQ(status_of(ask("/debug/other")), 404);
    EXPECT_EQ(status_of(ask("/")), 404);
  });
}

TEST(debug_pages, have_profiles_for_pprof) {
  sley::run([] {
    EXPECT_TRUE(has(ask("/debug/pprof/"), "href=\"goroutine\""));
    EXPECT_TRUE(has(ask("/debug/pprof"), "\r\nLocation: /debug/pprof/\r\n"));
    const auto goroutines = sley_test::parse_profile(profile_in(ask("/debug/pprof/goroutine")));
    EXPECT_EQ(goroutines.units, std::vector<std::string>{"goroutine/count"});
    EXPECT_GT(goroutines.samples.size(), 1u);
    const auto threads = sley_test::parse_profile(profile_in(ask("/debug/pprof/threadcreate")));
    EXPECT_EQ(threads.units, std::vector<std::string>{"threadcreate/count"});
    EXPECT_TRUE(has(ask("/debug/pprof/goroutine?debug=1"), "\r\n\r\ngoroutine profile: total "));
    EXPECT_TRUE(has(ask("/debug/pprof/goroutine?debug=2"), "\ngoroutine 1 ["));
    EXPECT_TRUE(has(ask("/debug/pprof/threadcreate?debug=1"), "threadcreate profile: total "));
    for (const char* page : {"other", "goroutine/", "/goroutine", "goroutine/x"}) {
      EXPECT_EQ(status_of(ask("/debug/pprof/" + std::string(page))), 404) << page;
    }
    for (const char* number : {"", "x", "-1", "1x", "99999999999999999999"}) {
      EXPECT_EQ(status_of(ask("/debug/pprof/goroutine?debug=" + std::string(number))), 400);
    }
  });
}

TEST(debug_pages, have_a_profile_of_leaked_goroutines) {
  NEEDS_A_LEAK_SEARCH_OR_SANITIZER();
  sley::run([] {
    sley::go({.name = "leaked"}, [] { sley::block_forever(); });
    EXPECT_TRUE(eventually([] {
      return has(ask("/debug/pprof/goroutineleak?debug=2"),
                 "\"leaked\" [select (no cases) (leaked)]:\n");
    }));
    EXPECT_TRUE(has(ask("/debug/pprof/goroutineleak?debug=1"), "goroutineleak profile: total "));
    EXPECT_NE(profile_in(ask("/debug/pprof/goroutineleak")), "");
    EXPECT_TRUE(has(ask("/debug/"), "href=\"pprof/goroutineleak?debug=2\""));
  });
}

// Connections that idle, requests that are answered, and handlers that wait for each other.
GO_TEST(debug_pages, name_no_goroutine_of_a_busy_server_as_leaked) {
  NEEDS_A_LEAK_SEARCH_OR_SANITIZER();
  const std::size_t before = sley::debug::leaks().size();
  const sley::chan<int> passed(0);
  const running_server web([passed](sley::http::request& in, sley::http::response& out) {
    if (in.path() == "/send") {
      passed.send(1, in.context());
    } else {
      passed.receive(in.context());
    }
    out.send(200, "text/plain", "done");
  });
  sley::http::client client;
  const auto [ctx, stop] = sley::with_cancel(sley::context());
  sley::wait_group all;
  for (const char* path : {"/send", "/receive", "/send", "/receive"}) {
    all.go([&, path] {
      while (!ctx.error()) client.get("http://" + web.address + path).read_all();
    });
  }
  for (int i = 0; i < sley_test::rounds(50); ++i) {
    const std::vector<sley::debug::goroutine_info> leaks = sley::debug::leaks();
    EXPECT_LE(leaks.size(), before) << sley::debug::goroutines_text(leaks);
  }
  stop();
  passed.close();
  all.wait();
}

TEST(debug_pages, have_a_cpu_profile) {
  sley::run([] {
    const auto cpu = sley_test::parse_profile(profile_in(ask("/debug/pprof/profile?seconds=1")));
    EXPECT_EQ(cpu.units, (std::vector<std::string>{"samples/count", "cpu/nanoseconds"}));
    EXPECT_GE(cpu.duration_ns, 1'000'000'000u);
    for (const char* number : {"", "0", "x", "-1", "86401"}) {
      EXPECT_EQ(status_of(ask("/debug/pprof/profile?seconds=" + std::string(number))), 400);
    }
    sley::debug::cpu_profile::start();
    const std::string refused = ask("/debug/pprof/profile");
    EXPECT_EQ(status_of(refused), 409);
    EXPECT_TRUE(has(refused, "a profile is on already"));
    sley::debug::cpu_profile::stop();
  });
}

TEST(debug_pages, have_a_wall_clock_profile) {
  sley::run([] {
    const auto wall = sley_test::parse_profile(profile_in(ask("/debug/pprof/wall?seconds=1")));
    EXPECT_EQ(wall.units, (std::vector<std::string>{"samples/count", "wall/nanoseconds"}));
    EXPECT_GE(wall.duration_ns, 1'000'000'000u);
    EXPECT_FALSE(wall.samples.empty());
    for (const char* query : {"seconds=", "seconds=0", "seconds=86401", "seconds=1&debug=1"}) {
      EXPECT_EQ(status_of(ask("/debug/pprof/wall?" + std::string(query))), 400) << query;
    }
    EXPECT_TRUE(has(ask("/debug/pprof/"), "href=\"wall\""));
    EXPECT_TRUE(has(ask("/debug/"), "href=\"pprof/wall?seconds=5\""));
  });
}

TEST(debug_pages, have_differences_of_counts) {
  sley::run([] {
    for (const std::string kind : {"goroutine", "threadcreate"}) {
      const std::string page = "/debug/pprof/" + kind;
      const auto delta = sley_test::parse_profile(profile_in(ask(page + "?seconds=1")));
      EXPECT_EQ(delta.units, std::vector<std::string>{kind + "/count"});
      EXPECT_GE(delta.duration_ns, 1'000'000'000u);
      for (const char* query : {"seconds=0", "seconds=1&debug=1", "seconds=1&debug=2"}) {
        EXPECT_EQ(status_of(ask(page + '?' + query)), 400) << page << query;
      }
    }
  });
}

TEST(debug_pages, have_a_trace) {
  sley::run([] {
    const std::string answer = ask("/debug/pprof/trace?seconds=1");
    EXPECT_TRUE(has(answer, "filename=\"trace.json\""));
    EXPECT_TRUE(has(profile_in(answer), "\"traceEvents\":["));
    for (const char* number : {"", "0", "61"}) {
      EXPECT_EQ(status_of(ask("/debug/pprof/trace?seconds=" + std::string(number))), 400);
    }
    const std::string other = ask("/debug/pprof/trace?seconds=1&format=perfetto");
    EXPECT_TRUE(has(other, "filename=\"trace.pftrace\""));
    EXPECT_FALSE(sley_test::fields_of(profile_in(other), 1).empty()) << "packets";
    EXPECT_EQ(status_of(ask("/debug/pprof/trace?format=xml")), 400);
    sley::debug::trace::start("/dev/null");
    const std::string refused = ask("/debug/pprof/trace");
    EXPECT_EQ(status_of(refused), 409);
    EXPECT_TRUE(has(refused, "a trace is on already"));
    sley::debug::trace::stop();
  });
}

TEST(debug_pages, have_profiles_of_waits) {
  sley::run([] {
    const std::vector<std::string> units = {"contentions/count", "delay/nanoseconds"};
    for (const std::string page : {"/debug/pprof/block", "/debug/pprof/mutex"}) {
      EXPECT_EQ(sley_test::parse_profile(profile_in(ask(page))).units, units) << page;
      const auto delta = sley_test::parse_profile(profile_in(ask(page + "?seconds=1")));
      EXPECT_EQ(delta.units, units) << page;
      EXPECT_GE(delta.duration_ns, 1'000'000'000u) << page;
      for (const char* query : {"seconds=", "seconds=0", "seconds=86401", "seconds=1&debug=1"}) {
        EXPECT_EQ(status_of(ask(page + '?' + query)), 400) << page << query;
      }
    }
    EXPECT_TRUE(has(ask("/debug/pprof/block?debug=1"), "\r\n\r\n--- contention:\n"));
    EXPECT_TRUE(has(ask("/debug/pprof/mutex?debug=1"), "\r\n\r\n--- mutex:\n"));
  });
}

TEST(debug_pages, have_a_profile_of_thread_blocks) {
  sley::run([] {
    const std::vector<std::string> units = {"blocks/count", "lost/nanoseconds",
                                            "delay/nanoseconds"};
    const std::string page = "/debug/pprof/threadblock";
    EXPECT_EQ(sley_test::parse_profile(profile_in(ask(page))).units, units);
    const auto delta = sley_test::parse_profile(profile_in(ask(page + "?seconds=1")));
    EXPECT_EQ(delta.units, units);
    EXPECT_GE(delta.duration_ns, 1'000'000'000u);
    EXPECT_EQ(status_of(ask(page + "?seconds=1&debug=1")), 400);
    EXPECT_TRUE(has(ask(page + "?debug=1"), "\r\n\r\nthreadblock profile: total "));
    EXPECT_TRUE(has(ask("/debug/pprof/"), "href=\"threadblock\""));
  });
}

TEST(debug_pages, end_the_cpu_profile_of_a_client_that_has_gone) {
  sley::run([] {
    const auto starts = [] {
      try {
        sley::debug::cpu_profile::start();
      } catch (const std::logic_error&) {
        return false;
      }
      sley::debug::cpu_profile::stop();
      return true;
    };
    {
      const auto s = sley::net::tcp_stream::connect(served());
      s.write_all(
          sley_test::bytes_of("GET /debug/pprof/profile?seconds=3600 HTTP/1.1\r\n"
                              "Host: localhost\r\n\r\n"));
      // The test starts no profile of its own before: the page would refuse the client then.
      EXPECT_TRUE(eventually([] {
        return sley_test::contains_match(ask("/debug/goroutines"),
                                         "\\[select.*\\]:\n(.+\n)*.*show_recorded");
      }));
      EXPECT_FALSE(starts());
    }
    EXPECT_TRUE(eventually(starts));
  });
}

TEST(debug_pages, tell_the_arguments_and_names_of_addresses) {
  sley::run([] {
    EXPECT_TRUE(sley_test::contains_match(ask("/debug/pprof/cmdline"), "debug_pages"));
    EXPECT_TRUE(ask("/debug/pprof/symbol").ends_with("\r\n\r\nnum_symbols: 1\n"));
    char address[2 + 2 * sizeof(void*) + 1];
    std::snprintf(address, sizeof address, "%p", reinterpret_cast<void*>(&::puts));
    const std::string name = sley::debug::function_name(reinterpret_cast<std::uintptr_t>(&::puts));
    EXPECT_FALSE(name.empty());
    const std::string asked = std::string("x+0x0+") + address + "++0x1x+" + address;
    const std::string line = std::string(address) + ' ' + name + '\n';
    const std::string lines = "\r\n\r\nnum_symbols: 1\n" + line + line;
    EXPECT_TRUE(ask("/debug/pprof/symbol?" + asked).ends_with(lines));
    EXPECT_TRUE(exchange("POST /debug/pprof/symbol", "localhost", asked).ends_with(lines));
    for (const char* page : {"/debug/", "/debug/metrics", "/debug/pprof/goroutine"}) {
      const std::string answer = exchange("POST " + std::string(page));
      EXPECT_EQ(status_of(answer), 405) << page;
      EXPECT_TRUE(has(answer, "\r\nAllow: GET, HEAD\r\n"));
    }
  });
}

// A name that a page elsewhere makes stand for 127.0.0.1.
TEST(debug_pages, answer_to_names_of_this_machine_only) {
  sley::run([] {
    for (const char* host : {"127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80", "localhost:80"}) {
      EXPECT_EQ(status_of(ask("/debug/", host)), 200) << host;
    }
    EXPECT_EQ(status_of(ask("/debug/pprof/goroutine", "example.com")), 403);
    for (const char* host : {"example.com", "127.example.com", "127.0.0.1.example.com", "[::2]"}) {
      EXPECT_EQ(status_of(ask("/debug/", host)), 403) << host;
    }
  });
}

TEST(debug_pages, are_served_on_loopback_addresses_only) {
  sley::run([] {
    for (const char* address : {"0.0.0.0:0", "[::]:0", ":0", "example.com:80", "10.0.0.1:80", ""}) {
      EXPECT_THROW(sley::debug::serve(address), std::invalid_argument) << address;
    }
    const std::string taken = served();
    EXPECT_THROW(sley::debug::serve(taken), std::system_error);
  });
}

// The guard of serve() is there for any server that has the pages.
GO_TEST(debug_pages, can_be_kept_for_this_machine_on_any_server) {
  sley::http::router routes;
  routes.handle("", "/debug/{page...}", sley::debug::for_this_machine(sley::debug::pages()));
  const running_server web(routes);
  const auto status_for = [&](std::string_view target, std::string_view host) {
    return status_of(web.exchange("GET " + std::string(target) +
                                  " HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"));
  };
  EXPECT_EQ(status_for("/debug/", "localhost:8080"), 200);
  EXPECT_EQ(status_for("/debug/metrics", "[::1]:8080"), 200);
  EXPECT_EQ(status_for("/debug/", "example.com"), 403);
  EXPECT_EQ(status_for("/debug/metrics", "10.0.0.1"), 403);
  EXPECT_EQ(status_for("http://example.com/debug/", "localhost"), 403);
  EXPECT_EQ(status_for("http://localhost/debug/", "example.com"), 403);
  EXPECT_EQ(status_of(web.exchange("GET /debug/ HTTP/1.0\r\n\r\n")), 403);
}

GO_TEST(debug_pages, are_a_handler_for_any_server) {
  sley::http::router routes;
  routes.get("/inside/{page...}", sley::debug::pages());
  const running_server web(routes);
  EXPECT_TRUE(has(web.exchange(get("/inside/metrics")), "sley_procs "));
  EXPECT_TRUE(has(web.exchange(get("/inside/")), "<h1>"));
}
