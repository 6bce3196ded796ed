// HTTP/1.1 for goroutines: servers, clients, routing, files, WebSocket. From Go's net/http; RFC
// 9110, 9112.
//
//   sley::http::router routes;
//   routes.get("/users/{id}", [](sley::http::request& in, sley::http::response& out) {
//     out.send(200, "text/plain", in.param("id"));
//   });
//   sley::http::server server(routes);
//   server.serve(sley::net::tcp_listener::listen("127.0.0.1:8080"));
//
//   sley::http::client client;
//   const std::string page = client.get("http://127.0.0.1:8080/users/7").read_all();
//
// A handler is an ordinary function that may wait wherever it likes: each connection has a
// goroutine of its own. Errors are reported as in <sley/net.hpp>; docs/http.md tells what is
// refused, which limits hold by default and what happens to a handler that throws.
#pragma once

#include <sley/http/body.hpp>
#include <sley/http/client.hpp>
#include <sley/http/compression.hpp>
#include <sley/http/connection.hpp>
#include <sley/http/debug.hpp>
#include <sley/http/error.hpp>
#include <sley/http/fields.hpp>
#include <sley/http/files.hpp>
#include <sley/http/health.hpp>
#include <sley/http/request.hpp>
#include <sley/http/response.hpp>
#include <sley/http/router.hpp>
#include <sley/http/server.hpp>
#include <sley/http/trace.hpp>
#include <sley/http/url.hpp>
#include <sley/http/websocket.hpp>
