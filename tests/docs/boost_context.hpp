// What the snippets with Asio and Beast leave out.
#pragma once

#include <sley/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

namespace interoperation {
extern boost::asio::steady_timer timer;
void handler(boost::system::error_code);
}  // namespace interoperation

namespace network_and_files {
extern boost::beast::http::request<boost::beast::http::string_body> request;
}
