// A redis-server for one test: on a Unix socket in a folder of its own, with nothing on disk. It is
// ready when the constructor returns, and has ended when the destructor does.
#pragma once

#include "adapters/server_process.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sley_test {

class redis_server {
 public:
  // The server. Debian's package redis-tools has it under the second name, without a service.
  static std::string program() {
    for (const char* path :
         {"/usr/bin/redis-server", "/usr/bin/redis-check-rdb", "/usr/local/bin/redis-server"}) {
      if (std::filesystem::exists(path)) return path;
    }
    return {};
  }

  explicit redis_server(std::vector<std::string> options = {}) {
    socket = folder_ / "socket";
    // The program does what its name says.
    std::filesystem::create_symlink(program(), folder_ / "redis-server");
    arguments_ = {"--pdeathsig", "KILL",        folder_ / "redis-server",
                  "--port",      "0",           "--unixsocket",
                  socket,        "--save",      "",
                  "--dir",       folder_.path()};
    arguments_.insert(arguments_.end(), options.begin(), options.end());
    start();
  }
  ~redis_server() { stop(); }
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;

  // Returns when it takes connections.
  void start() {
    process_.start({.arguments = arguments_}, "eady to accept connections");  // or "Ready"
  }
  // At once, with all its connections.
  void stop() { process_.stop(); }

  std::string socket;

 private:
  temporary_folder folder_;
  std::vector<std::string> arguments_;
  server_process process_;
};

}  // namespace sley_test

#define SKIP_WITHOUT_REDIS()                      \
  if (sley_test::redis_server::program().empty()) \
  GTEST_SKIP() << "no redis-server (Debian's package redis-tools)"
