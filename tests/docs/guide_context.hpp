// What the pieces of code of the guide may use without saying so.
#pragma once

#include <sley/buffered.hpp>
#include <sley/debug.hpp>
#include <sley/http.hpp>
#include <sley/log.hpp>
#include <sley/os.hpp>
#include <sley/pool.hpp>
#include <sley/serve.hpp>
#include <sley/sley.hpp>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace http = sley::http;

// Serves HTTP on a free port while it lives.
class test_server {
 public:
  explicit test_server(const http::router& routes) : server_(routes) {
    serving_.go([this] { server_.serve(listener_); });
  }
  ~test_server() {
    server_.shutdown();
    serving_.wait();
  }
  std::string url(const std::string& path) const { return "http://" + address_ + path; }

 private:
  http::server server_;
  sley::net::tcp_listener listener_ = sley::net::tcp_listener::listen("127.0.0.1:0");
  const std::string address_ = listener_.local().to_string();
  sley::wait_group serving_;
};

namespace guide {

// A piece of code, by the page and the line where it stands.
struct program_of_page {
  const char* page;
  int line;
  int (*run)();
  const program_of_page* next = first;

  static inline const program_of_page* first = nullptr;

  program_of_page(const char* of_page, int at_line, int (*program)())
      : page(of_page), line(at_line), run(program) {
    first = this;
  }
};

}  // namespace guide
