// Our TLS against OpenSSL's own command: our server with `openssl s_client`, our client with
// `openssl s_server`. The command's standard streams are pipes that goroutines read and write.
#include "support/harness.hpp"
#include "support/temporary_folder.hpp"
#include "tls/pairs.hpp"

#include <sley/os.hpp>
#include <sley/runtime.hpp>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using sley::wait_group;
using sley::net::tls_context;
using sley::net::tls_listener;
using sley::net::tls_options;
using sley::net::tls_stream;
using sley_test::bytes_of;
using sley_test::client_options;
using sley_test::echo;
using sley_test::identity;
using sley_test::read_exactly;
using sley_test::read_to_end;
using sley_test::server_options;
using sley_test::the_authority;

namespace {

// A folder with the certificates, because commands want files.
class folder {
 public:
  std::string add(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

 private:
  sley_test::temporary_folder folder_;
};

// A running `openssl` command.
class command {
 public:
  explicit command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "openssl");
    auto in = sley::os::pipe();
    auto out = sley::os::pipe();
    start(arguments, in.reader.native_handle(), out.writer.native_handle());
    input = std::move(in.writer);
    output = std::move(out.reader);
  }
  ~command() {
    // Only a running process: to kill(2) a pid of -1 means all processes.
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }
  command(const command&) = delete;
  command& operator=(const command&) = delete;

  // Its status when it has ended, -1 if it was not its own end.
  int wait() {
    if (pid_ <= 0) return -1;
    int status = 0;
    sley::blocking([&] { return ::waitpid(pid_, &status, 0); });
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Its output up to and with this text, or all of it if the text never comes.
  std::string read_until(const std::string& text) {
    while (seen_.find(text) == std::string::npos && read_more()) {
    }
    const std::size_t found = seen_.find(text);
    return take(found == std::string::npos ? seen_.size() : found + text.size());
  }
  std::string read_line() { return read_until("\n"); }

  sley::os::file input, output;

 private:
  void start(std::vector<std::string>& arguments, int in, int out) {
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    // Its ends of the pipes must block, because it expects that.
    for (const int fd : {in, out}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    pid_t child = -1;
    const int error = ::posix_spawnp(&child, "openssl", &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ASSERT_EQ(error, 0) << "there is no openssl command";
    pid_ = child;
  }
  bool read_more() {
    char buffer[4096];
    std::error_code error;
    const std::size_t n = output.read_some(std::as_writable_bytes(std::span(buffer)), error);
    seen_.append(buffer, n);
    return n > 0;
  }
  std::string take(std::size_t size) {
    const std::string text = seen_.substr(0, size);
    seen_.erase(0, size);
    return text;
  }

  pid_t pid_ = 0;  // 0: none, or not any more
  std::string seen_;
};

// `openssl s_server`, which sends each line back reversed.
class reversing_server {
 public:
  explicit reversing_server(folder& f, const std::vector<std::string>& more = {})
      : command_(arguments(f, more)) {
    command_.read_until("ACCEPT 127.0.0.1:");
    port_ = command_.read_line();
    port_.pop_back();
  }
  std::string address() const { return "localhost:" + port_; }
  std::string numeric_address() const { return "127.0.0.1:" + port_; }

 private:
  static std::vector<std::string> arguments(folder& f, const std::vector<std::string>& more) {
    const identity own = the_authority().issue();
    std::vector<std::string> all = {"s_server",
                                    "-accept",
                                    "127.0.0.1:0",
                                    "-cert",
                                    f.add("server.pem", own.certificate),
                                    "-key",
                                    f.add("server_key.pem", own.key),
                                    "-rev"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  command command_;
  std::string port_;
};

}  // namespace

GO_TEST(tls_command, s_client_talks_to_our_server) {
  folder f;
  const std::string trusted = f.add("trusted.pem", the_authority().certificate());
  const auto listener = tls_listener::listen("127.0.0.1:0", tls_context::server(server_options()));
  for (const char* version : {"-tls1_2", "-tls1_3"}) {
    command client({"s_client", "-connect", listener.local().to_string(), "-CAfile", trusted,
                    "-verify_return_error", "-verify_hostname", "localhost", "-servername",
                    "localhost", "-quiet", "-no_ign_eof", version});
    wait_group group;
    group.go([&] {
      const tls_stream s = listener.accept();
      echo(s);
      EXPECT_EQ(s.server_name(), "localhost");
    });
    client.input.write_all(bytes_of("hello\n"));
    EXPECT_NE(client.read_until("hello\n").find("hello\n"), std::string::npos);
    client.input.close();
    group.wait();
    EXPECT_EQ(client.wait(), 0);
  }
}

GO_TEST(tls_command, s_client_refuses_our_server_for_another_name) {
  folder f;
  const std::string trusted = f.add("trusted.pem", the_authority().certificate());
  const auto listener = tls_listener::listen("127.0.0.1:0", tls_context::server(server_options()));
  command client({"s_client", "-connect", listener.local().to_string(), "-CAfile", trusted,
                  "-verify_return_error", "-verify_hostname", "example.org", "-quiet"});
  std::error_code error;
  listener.accept().handshake(error);
  EXPECT_EQ(error, sley::net::tls_errc::refused_by_peer) << error.message();
  EXPECT_NE(client.wait(), 0);
}

// The certificate and key from files, here and there; the protocols; the session that goes on.
GO_TEST(tls_command, our_client_talks_to_s_server) {
  folder f;
  const reversing_server server(f, {"-alpn", "lines,h2"});
  tls_options options = client_options();
  options.alpn = {"h2", "lines"};
  options.trusted_pem.clear();
  options.trusted_file = f.add("trusted.pem", the_authority().certificate());
  const auto context = tls_context::client(options);
  for (const bool is_resumed : {false, true}) {
    const tls_stream s = tls_stream::connect(server.address(), context);
    s.write_all(bytes_of("hello\n"));
    EXPECT_EQ(read_exactly(s, 6), "olleh\n");
    EXPECT_EQ(s.alpn(), "lines");
    EXPECT_EQ(s.is_resumed(), is_resumed);
  }
}

GO_TEST(tls_command, our_client_refuses_s_server_of_strangers) {
  folder f;
  const reversing_server server(f);
  try {
    tls_stream::connect(server.address());
    ADD_FAILURE() << "accepted";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), sley::net::tls_errc::certificate_refused);
    EXPECT_EQ(std::string(e.what()), "sley: connect to \"" + server.address() +
                                         "\": unable to get local issuer certificate");
  }
}

GO_TEST(tls_command, s_server_verifies_our_client) {
  folder f;
  const reversing_server server(f, {"-Verify", "1", "-verify_return_error", "-CAfile",
                                    f.add("trusted.pem", the_authority().certificate())});
  tls_options options = client_options();
  const identity own = the_authority().issue();
  options.certificate_file = f.add("client.pem", own.certificate);
  options.key_file = f.add("client_key.pem", own.key);
  {
    const auto context = tls_context::client(options);
    const tls_stream s = tls_stream::connect(server.numeric_address(), context);
    s.write_all(bytes_of("it is me\n"));
    EXPECT_EQ(read_exactly(s, 9), "em si ti\n");
  }
  // It serves one after the other.
  const tls_stream nobody =
      tls_stream::connect(server.address(), tls_context::client(client_options()));
  EXPECT_EQ(sley_test::read_error(nobody), sley::net::tls_errc::refused_by_peer);
}
