// <sley/debug.hpp> as pages for a browser, and the figures of HTTP servers.
#pragma once

#include <sley/debug.hpp>
#include <sley/detail/config.hpp>
#include <sley/http/router.hpp>
#include <sley/net.hpp>

#include <string_view>
#include <vector>

namespace sley::http {

// What all servers of the process have done since its start, for debug::metrics_text:
//   sley_http_requests_total{code="2xx"}   requests answered, by the first digit of the status;
//                                          requests that are not understood count as well
//   sley_http_requests_in_flight           requests being answered now, and open WebSockets
//   sley_http_request_duration_seconds     a histogram of how long a request took, from the last
//                                          byte of its head to the end of its answer; not of
//                                          WebSockets, nor if the request is not understood
// The names are never freed. Any thread; never parks. std::bad_alloc. From the instrumentation of
// handlers in Prometheus' client for Go, where each handler must be wrapped.
SLEY_API std::vector<debug::metric> metrics();

}  // namespace sley::http

namespace sley::debug {

// Pages for a route of all methods that ends in "/{page...}", such as "/debug/{page...}". Beside a
// route that has all paths for GET, which conflicts with that, they are for a route of GET and one
// of POST.
//   (nothing)    a page that looks at the process every two seconds: goroutines by state and place,
//                queues, latencies, with links to the others. It asks this server alone.
//   goroutines   dump_goroutines()
//   goroutines.json    goroutines_json()
//   threadblocks.json  thread_blocks_json()
//   profile      dump_profile()
//   metrics      metrics_text() of metrics() and http::metrics()
//   pprof/...    profiles, as Go's net/http/pprof has them, for `go tool pprof`:
//     (nothing)      a page with links to the others
//     goroutine      profile(profile_kind::goroutine); with ?debug=1 profile_text(), with ?debug=2
//                    dump_goroutines()
//     threadcreate, block, mutex, threadblock    the same of these kinds
//     (these five)   with ?seconds=N delta_profile()
//     wall           delta_profile() of profile_kind::wall, for ?seconds=N, 30 without
//     profile        cpu_profile, for ?seconds=N, 30 without; 409 while another one is on
//     trace          trace, for ?seconds=N, 1 without and 60 at most; 409 while another one is on
//     cmdline        the program's arguments, with zero bytes between them
//     symbol         the names of addresses. pprof asks by POST for code that has no names in a
//                    profile, such as the kernel's vDSO, and refuses the profile without an answer.
// Profiles are packed by gzip where sley::http has it. The pages tell much of a program, so they
// are not for every client.
SLEY_API http::handler pages();

// Middleware, see router::use: answers 403 unless Host is a loopback address or "localhost". A
// server that listens on a loopback address alone needs this as well: a page elsewhere can make a
// name of its own stand for 127.0.0.1, and have the visitor's browser ask for it (DNS rebinding).
// serve() has it around its pages.
//   routes.handle("", "/debug/{page...}", debug::for_this_machine(debug::pages()));
SLEY_API http::handler for_this_machine(http::handler next);

// Serves pages() at "/debug/" on a loopback address, "127.0.0.1:6060" or "[::1]:0", until the
// process ends; returns where it listens. Any other address throws std::invalid_argument: a program
// that wants another one adds pages() to a server of its own, behind a check of its own. Parks
// while it looks up the address; std::system_error if it can't listen there. Any thread. From Go's
// net/http/pprof.
SLEY_API net::endpoint serve(std::string_view host_port);

}  // namespace sley::debug
