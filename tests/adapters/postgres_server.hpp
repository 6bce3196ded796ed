// A PostgreSQL server for the tests of one program: with files and a Unix socket in a folder of its
// own, far from any other cluster of the machine. It runs from before the first test until after
// the last one. PostgreSQL refuses to run as root: then a user without rights runs it.
#pragma once

#include "adapters/server_process.hpp"
#include "support/temporary_folder.hpp"

#include <sley/os.hpp>
#include <sley/postgres.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley_test {

class postgres_server : public ::testing::Environment {
 public:
  // The folder of the programs of its newest version; empty if there is none.
  static std::filesystem::path programs() {
    std::filesystem::path newest;
    std::error_code none;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
      const std::filesystem::path bin = version.path() / "bin";
      if (std::filesystem::exists(bin / "initdb") && bin > newest) newest = bin;
    }
    return newest;
  }

  void SetUp() override {
    if (programs().empty()) return;
    make_files();
    start();
  }
  void TearDown() override { stop(); }

  // Returns when it takes connections.
  void start() {
    process_.start(
        command("postgres", {"-k", folder(), "-c", "listen_addresses=", "-c", "fsync=off", "-c",
                             "max_connections=120", "-c", "log_min_messages=log"}),
        "ready to accept connections");
  }
  // At once, with all its sessions.
  void stop() { process_.stop(SIGQUIT); }

  std::string conninfo() const {
    return "host=" + folder() + " port=5432 user=postgres dbname=postgres";
  }
  std::string folder() const { return folder_.path(); }

 private:
  void make_files() {
    if (::geteuid() == 0 && ::chown(folder().c_str(), unprivileged, unprivileged) != 0) {
      throw std::runtime_error("the server's user gets no folder");
    }
    const auto made = sley::os::run(
        command("initdb", {"--no-sync", "--no-locale", "--encoding=UTF8", "--auth=trust",
                           "--username=postgres", "--wal-segsize=1"}));
    if (!made.status.success()) throw std::runtime_error("initdb has failed:\n" + made.errors);
  }

  sley::os::command command(const std::string& name, std::vector<std::string> options) const {
    sley::os::command c{.program = "setpriv", .arguments = {"--pdeathsig", "QUIT"}};
    if (::geteuid() == 0) {
      const std::string id = std::to_string(unprivileged);
      c.arguments.insert(c.arguments.end(), {"--reuid", id, "--regid", id, "--clear-groups"});
    }
    c.arguments.insert(c.arguments.end(), {programs() / name, "-D", folder_ / "data"});
    c.arguments.insert(c.arguments.end(), options.begin(), options.end());
    c.directory = folder();
    return c;
  }

  static constexpr ::uid_t unprivileged = 65534;

  temporary_folder folder_;
  server_process process_;
};

// GoogleTest's, which ends it.
inline postgres_server& the_postgres_server =
    static_cast<postgres_server&>(*::testing::AddGlobalTestEnvironment(new postgres_server));

// No test waits for the limits.
inline sley::postgres::connect_options postgres_options() {
  using namespace std::chrono_literals;
  return {.conninfo = the_postgres_server.conninfo(), .cancel_limit = 100s, .check_limit = 100s};
}
inline sley::postgres::connection connect_to_postgres() {
  return sley::postgres::connection::connect(postgres_options());
}

// The first value of a statement's result.
inline std::string one_value(sley::postgres::connection& c, std::string_view sql,
                             sley::postgres::parameters values = {}) {
  return std::string(sley::postgres::text(*c.execute(sql, values), 0, 0).value_or("NULL"));
}

}  // namespace sley_test

#define SKIP_WITHOUT_POSTGRES()                       \
  if (sley_test::postgres_server::programs().empty()) \
  GTEST_SKIP() << "no PostgreSQL server (Debian's package postgresql)"
