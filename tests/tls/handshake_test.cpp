// Handshakes: which peers are accepted and which are refused, and why; what both ends agree on;
// sessions that are resumed. The certificates are made for the occasion.
#include "support/harness.hpp"
#include "tls/pairs.hpp"

#include <sley/net.hpp>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <openssl/x509_vfy.h>

using sley::net::tls_context;
using sley::net::tls_errc;
using sley::net::tls_options;
using sley::net::tls_stream;
using sley::net::tls_verify;
using sley::net::tls_version;
using sley_test::authority;
using sley_test::bytes_of;
using sley_test::client_options;
using sley_test::connect_tls;
using sley_test::connected_tls;
using sley_test::handshake_errors;
using sley_test::identity;
using sley_test::read_error;
using sley_test::read_exactly;
using sley_test::server_options;
using sley_test::shake_hands;
using sley_test::the_authority;
using sley_test::tls_pair;
using sley_test::usual_client;
using sley_test::usual_server;
using namespace std::chrono_literals;

namespace {

tls_context server_with(const identity& own) {
  return tls_context::server({.certificate_pem = own.certificate, .key_pem = own.key});
}

// What the client says of the server's certificate.
std::error_code refusal(const identity& own, const std::string& host = "localhost") {
  const tls_pair c = connect_tls(usual_client(), server_with(own), host);
  const handshake_errors errors = shake_hands(c);
  EXPECT_EQ(errors.server == tls_errc::refused_by_peer,
            errors.client == tls_errc::certificate_refused)
      << errors.server.message();
  return errors.client;
}

}  // namespace

// ---- the server's certificate ----

GO_TEST(tls_handshake, a_server_that_the_authority_vouches_for_is_accepted) {
  EXPECT_FALSE(refusal(the_authority().issue()));
  EXPECT_FALSE(refusal(the_authority().issue(), "127.0.0.1"));
  EXPECT_FALSE(refusal(the_authority().issue(), "localhost."));
  EXPECT_FALSE(refusal(the_authority().issue({.names = {"DNS:*.example.org"}}), "a.example.org"));
}

GO_TEST(tls_handshake, a_server_of_another_name_is_refused) {
  const auto error = refusal(the_authority().issue(), "example.org");
  EXPECT_EQ(error, tls_errc::certificate_refused);
  EXPECT_EQ(error.value(), X509_V_ERR_HOSTNAME_MISMATCH);
  EXPECT_EQ(error.category(), sley::net::tls_category());
  const identity wild = the_authority().issue({.names = {"DNS:*.example.org"}});
  EXPECT_EQ(refusal(wild, "example.org"), tls_errc::certificate_refused);
  EXPECT_EQ(refusal(wild, "a.b.example.org"), tls_errc::certificate_refused);
  EXPECT_EQ(refusal(the_authority().issue(), "127.0.0.2").value(), X509_V_ERR_IP_ADDRESS_MISMATCH);
}

// RFC 6125: the subject's common name is no host name.
GO_TEST(tls_handshake, a_common_name_is_no_host_name) {
  EXPECT_EQ(refusal(the_authority().issue({.names = {}}), "somebody"),
            tls_errc::certificate_refused);
}

GO_TEST(tls_handshake, a_server_outside_its_period_of_validity_is_refused) {
  EXPECT_EQ(refusal(the_authority().issue({.from = -2h, .to = -1h})).value(),
            X509_V_ERR_CERT_HAS_EXPIRED);
  EXPECT_EQ(refusal(the_authority().issue({.from = 1h, .to = 2h})).value(),
            X509_V_ERR_CERT_NOT_YET_VALID);
}

GO_TEST(tls_handshake, a_server_without_a_trusted_issuer_is_refused) {
  EXPECT_EQ(refusal(sley_test::self_signed()).value(), X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
  const authority other("another authority");
  const auto error = refusal(other.issue());
  EXPECT_EQ(error, tls_errc::certificate_refused);
  EXPECT_EQ(error.message(), "unable to get local issuer certificate");
}

// The same name, but not the same key.
GO_TEST(tls_handshake, an_authority_of_the_same_name_is_another) {
  const authority impostor;
  EXPECT_EQ(refusal(impostor.issue()), tls_errc::certificate_refused);
}

// None of the system's knows the authority.
GO_TEST(tls_handshake, verification_is_on_by_default) {
  const tls_pair c = connect_tls(tls_context::client(), usual_server());
  EXPECT_EQ(shake_hands(c).client, tls_errc::certificate_refused);
}

GO_TEST(tls_handshake, a_refusal_names_the_reason_and_the_server) {
  const tls_pair c = connect_tls(usual_client(), usual_server(), "example.org");
  sley::wait_group group;
  group.go([&] {
    std::error_code ignored;
    c.server.handshake(ignored);
  });
  try {
    c.client.handshake();
    ADD_FAILURE() << "accepted";
  } catch (const std::system_error& e) {
    EXPECT_STREQ(e.what(), "sley: TLS handshake with \"example.org\": hostname mismatch");
  }
  group.wait();
}

GO_TEST(tls_handshake, every_server_is_accepted_without_verification) {
  const auto trusting = tls_context::client({.verify = tls_verify::never});
  const tls_pair c = connect_tls(trusting, server_with(sley_test::self_signed()), "");
  const handshake_errors errors = shake_hands(c);
  EXPECT_FALSE(errors.client);
  EXPECT_FALSE(errors.server);
}

// ---- the client's certificate ----

GO_TEST(tls_handshake, a_server_may_ask_clients_for_a_certificate) {
  tls_options asks = server_options();
  asks.trusted_pem = the_authority().certificate();
  asks.verify = tls_verify::always;
  const auto server = tls_context::server(asks);

  const tls_pair nobody = connect_tls(usual_client(), server);
  EXPECT_EQ(shake_hands(nobody).server, tls_errc::failed);
  EXPECT_EQ(read_error(nobody.client), tls_errc::refused_by_peer);

  tls_options named = client_options();
  const identity own = the_authority().issue({.names = {"DNS:somebody.example.org"}});
  named.certificate_pem = own.certificate;
  named.key_pem = own.key;
  const tls_pair somebody = connect_tls(tls_context::client(named), server);
  EXPECT_FALSE(shake_hands(somebody).server);
  const auto certificate = somebody.server.peer_certificate();
  ASSERT_TRUE(certificate);
  EXPECT_EQ(certificate->names, std::vector<std::string>{"somebody.example.org"});

  const authority other("another authority");
  const identity theirs = other.issue();
  named.certificate_pem = theirs.certificate;
  named.key_pem = theirs.key;
  const tls_pair stranger = connect_tls(tls_context::client(named), server);
  EXPECT_EQ(shake_hands(stranger).server, tls_errc::certificate_refused);
}

GO_TEST(tls_handshake, a_server_may_let_clients_choose) {
  tls_options asks = server_options();
  asks.trusted_pem = the_authority().certificate();
  asks.verify = tls_verify::if_given;
  const tls_pair c = connect_tls(usual_client(), tls_context::server(asks));
  EXPECT_FALSE(shake_hands(c).server);
  EXPECT_FALSE(c.server.peer_certificate());
}

// ---- what they agree on ----

GO_TEST(tls_handshake, the_first_protocol_of_the_server_that_the_client_knows_is_chosen) {
  tls_options client = client_options();
  tls_options server = server_options();
  client.alpn = {"http/1.1", "h2"};
  server.alpn = {"h3", "h2", "http/1.1"};
  const tls_pair c = connect_tls(tls_context::client(client), tls_context::server(server));
  shake_hands(c);
  EXPECT_EQ(c.client.alpn(), "h2");
  EXPECT_EQ(c.server.alpn(), "h2");

  server.alpn = {"something else"};
  const tls_pair none = connect_tls(tls_context::client(client), tls_context::server(server));
  EXPECT_EQ(shake_hands(none).client, tls_errc::refused_by_peer);

  const tls_pair silent = connect_tls(usual_client(), tls_context::server(server));
  EXPECT_FALSE(shake_hands(silent).client);
  EXPECT_EQ(silent.client.alpn(), "");
}

GO_TEST(tls_handshake, versions_without_overlap_are_an_error) {
  tls_options old = client_options();
  old.max_version = tls_version::tls_1_2;
  tls_options modern = server_options();
  modern.min_version = tls_version::tls_1_3;
  const tls_pair c = connect_tls(tls_context::client(old), tls_context::server(modern));
  const handshake_errors errors = shake_hands(c);
  EXPECT_EQ(errors.client, tls_errc::refused_by_peer) << errors.client.message();
  EXPECT_EQ(errors.server, tls_errc::failed) << errors.server.message();
}

GO_TEST(tls_handshake, shows_the_peers_certificate) {
  const tls_pair c = connected_tls();
  const auto certificate = c.client.peer_certificate();
  ASSERT_TRUE(certificate);
  EXPECT_EQ(certificate->subject, "CN = somebody");
  EXPECT_EQ(certificate->issuer, "CN = test authority");
  EXPECT_EQ(certificate->names, (std::vector<std::string>{"localhost", "127.0.0.1"}));
  EXPECT_EQ(certificate->sha256.size(), 64U);
  const auto now = std::chrono::system_clock::now();
  EXPECT_LT(certificate->not_before, now);
  EXPECT_GT(certificate->not_after, now + 22h);
  EXPECT_FALSE(c.server.peer_certificate());
}

// ---- resumption ----

namespace {

// Connects, and reads a byte, which tickets of TLS 1.3 come before.
bool is_resumed(const tls_context& client, const tls_context& server,
                const std::string& host = "localhost") {
  const tls_pair c = connect_tls(client, server, host);
  const handshake_errors errors = shake_hands(c);
  EXPECT_FALSE(errors.client) << errors.client.message();
  c.server.write_all(bytes_of("x"));
  EXPECT_EQ(read_exactly(c.client, 1), "x");
  EXPECT_EQ(c.client.is_resumed(), c.server.is_resumed());
  return c.client.is_resumed();
}

}  // namespace

GO_TEST(tls_handshake, later_connections_to_a_host_resume_the_session) {
  for (const auto version : {tls_version::tls_1_2, tls_version::tls_1_3}) {
    tls_options options = client_options();
    options.max_version = version;
    const auto client = tls_context::client(options);
    const auto server = tls_context::server(server_options());
    EXPECT_FALSE(is_resumed(client, server));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_resumed(client, server)) << i;
    EXPECT_FALSE(is_resumed(client, server, "127.0.0.1"));  // that is another host
    // A server that does not know the session makes a new one.
    EXPECT_FALSE(is_resumed(client, tls_context::server(server_options())));
  }
}

GO_TEST(tls_handshake, a_client_with_resume_off_does_not_resume) {
  tls_options options = client_options();
  options.resume = false;
  const auto client = tls_context::client(options);
  EXPECT_FALSE(is_resumed(client, usual_server()));
  EXPECT_FALSE(is_resumed(client, usual_server()));

  tls_options forgetful = server_options();
  forgetful.resume = false;
  const auto fresh = tls_context::client(client_options());
  const auto server = tls_context::server(forgetful);
  EXPECT_FALSE(is_resumed(fresh, server));
  EXPECT_FALSE(is_resumed(fresh, server));
}

// ---- texts that OpenSSL would take a part of ----

GO_TEST(tls_handshake, a_host_name_with_a_zero_byte_is_refused) {
  sley_test::tcp_pair c = sley_test::connect_tcp();
  const std::string name("localhost\0.evil.example", 23);
  try {
    const tls_stream s(std::move(c.client), usual_client(), name);
    ADD_FAILURE() << "not refused";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("\"localhost\\0.evil.example\" with a zero byte at"),
              std::string::npos)
        << e.what();
  }
  EXPECT_THROW(connect_tls(usual_client(), usual_server(), std::string("localhost%\0x", 12)),
               std::system_error)
      << "also in what is left out of the name";
  std::error_code error;
  tls_stream::connect(name + ":443", usual_client(), error);
  EXPECT_EQ(error, std::errc::invalid_argument);
}

GO_TEST(tls_handshake, settings_with_a_zero_byte_are_refused) {
  const std::string path("/etc/ssl/certs/ca-certificates.crt\0.pem", 39);
  std::vector<tls_options> all(4, server_options());
  all[0].certificate_file = path;
  all[1].key_file = path;
  all[2].trusted_file = path;
  all[3].alpn = {"h2", std::string("http/1.1\0x", 10)};
  for (const tls_options& options : all) {
    std::error_code error;
    EXPECT_FALSE(tls_context::server(options, error));
    EXPECT_EQ(error, std::errc::invalid_argument);
    EXPECT_FALSE(tls_context::client(options, error));
    EXPECT_EQ(error, std::errc::invalid_argument);
    try {
      tls_context::client(options);
      ADD_FAILURE() << "not refused";
    } catch (const std::system_error& e) {
      EXPECT_NE(std::string(e.what()).find("with a zero byte at position"), std::string::npos)
          << e.what();
    }
  }
}
