// <sley/nats.hpp> over TLS.
#include "support/harness.hpp"

#include "adapters/nats_server.hpp"
#include "tls/certificates.hpp"

#include <sley/nats.hpp>

#include <csignal>
#include <string>

namespace nats = sley::nats;
using sley_test::go_until_parked;
using sley_test::nats_server;

namespace {

// Has a certificate of the tests' authority.
class tls_server : public nats_server {
 public:
  tls_server() : tls_server(sley_test::the_authority().issue()) {}

 private:
  explicit tls_server(const sley_test::identity& own)
      : nats_server("tls {cert_file: certificate, key_file: key}",
                    {{"certificate", own.certificate}, {"key", own.key}}) {}
};

nats::connection connect_to(const nats_server& server, const std::string& trusted) {
  nats::connect_options options{.servers = {server.url()}, .connect_limit = sley_test::patience};
  options.adjust = [&trusted](natsOptions& o) {
    EXPECT_EQ(natsOptions_SetSecure(&o, true), NATS_OK);
    EXPECT_EQ(natsOptions_SetCATrustedCertificates(&o, trusted.c_str()), NATS_OK);
    EXPECT_EQ(natsOptions_SetExpectedHostname(&o, "localhost"), NATS_OK);
  };
  return nats::connection::connect(options);
}

}  // namespace

// More than sockets, records and libnats' buffers take, while the server stands still.
GO_TEST(nats_tls, messages_that_wait_to_be_sent_come_back_in_order) {
  SKIP_WITHOUT_NATS();
  constexpr int count = 200;
  tls_server server;
  nats::connection c = connect_to(server, sley_test::the_authority().certificate());
  const nats::subscription s(c, {.subject = "a", .capacity = 0});
  const std::string padding(100'000, 'p');
  sley::wait_group publishing;
  publishing.add(1);
  server.send(SIGSTOP);
  go_until_parked([&] {
    for (int i = 0; i < count; ++i) c.publish("a", std::to_string(i) + padding);
    publishing.done();
  });
  server.send(SIGCONT);
  for (int i = 0; i < count; ++i) {
    const nats::message m = std::move(*s.messages().receive());
    ASSERT_TRUE(nats::data(*m) == std::to_string(i) + padding) << i;
  }
  publishing.wait();
  EXPECT_EQ(s.dropped(), 0u);
}

GO_TEST(nats_tls, a_server_that_is_not_trusted_is_an_error) {
  SKIP_WITHOUT_NATS();
  const tls_server server;
  const sley_test::authority other("another authority");
  EXPECT_THROW(connect_to(server, other.certificate()), nats::error);
}
