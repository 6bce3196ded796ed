// A nats-server for one test: on a port that the kernel chooses, with its configuration in a folder
// of its own. It is ready when the constructor returns, and has ended when the destructor does.
#pragma once

#include "adapters/server_process.hpp"
#include "support/conditions.hpp"
#include "support/temporary_folder.hpp"

#include <sley/nats.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace sley_test {

class nats_server {
 public:
  static std::string program() {
    for (const char* path :
         {"/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"}) {
      if (std::filesystem::exists(path)) return path;
    }
    return {};
  }

  struct file {
    std::string name, text;
  };
  // With these lines in its configuration, and with these files in the folder it works in.
  explicit nats_server(const std::string& settings = {}, const std::vector<file>& files = {}) {
    std::ofstream(folder_ / "settings") << "listen: \"127.0.0.1:-1\"\n" << settings << '\n';
    for (const file& f : files) std::ofstream(folder_ / f.name) << f.text;
    start();
  }
  ~nats_server() { stop(); }
  nats_server(const nats_server&) = delete;
  nats_server& operator=(const nats_server&) = delete;

  // Returns when it takes connections; after a stop() at another port.
  void start() {
    const std::string said =
        process_.start({.arguments = {"--pdeathsig", "KILL", program(), "-c", "settings"},
                        .directory = folder_.path()},
                       "Server is ready");
    const std::string_view before = "for client connections on ";
    const std::size_t begin = said.find(before) + before.size();
    address_ = said.substr(begin, said.find('\n', begin) - begin);
  }
  // At once, with all its connections.
  void stop() { process_.stop(); }
  void send(int signal) { process_.send(signal); }

  // For a user, "name:password", if there are any.
  std::string url(const std::string& user = {}) const {
    return "nats://" + user + (user.empty() ? "" : "@") + address_;
  }
  sley::nats::connection connect(const std::string& user = {}) const {
    return sley::nats::connection::connect({.servers = {url(user)}, .connect_limit = patience});
  }

 private:
  temporary_folder folder_;
  server_process process_;
  std::string address_;
};

}  // namespace sley_test

#define SKIP_WITHOUT_NATS()                      \
  if (sley_test::nats_server::program().empty()) \
  GTEST_SKIP() << "no nats-server (Debian's package nats-server)"
