// What a handshake may agree on, and what it may cost: groups, ciphers, versions, and what comes
// after it. The peer is of ours as well, but for settings that were changed by OpenSSL's functions.
#include "support/harness.hpp"
#include "tls/pairs.hpp"

#include <openssl/ssl.h>

#include <string>
#include <vector>

using sley::net::tls_context;
using sley::net::tls_errc;
using sley::net::tls_options;
using sley::net::tls_version;
using sley_test::bytes_of;
using sley_test::client_options;
using sley_test::connect_tls;
using sley_test::handshake_errors;
using sley_test::read_exactly;
using sley_test::server_options;
using sley_test::shake_hands;
using sley_test::tls_pair;
using sley_test::usual_client;
using sley_test::usual_server;

namespace {

// Not for use outside of tests: it lets a peer have every cipher there is.
constexpr const char* any_cipher = "ALL:COMPLEMENTOFALL:@SECLEVEL=0";

tls_context client_with_groups(const char* list) {
  tls_context c = tls_context::client(client_options());
  EXPECT_EQ(SSL_CTX_set1_groups_list(c.native_handle(), list), 1) << list;
  return c;
}
tls_context server_with_groups(const char* list) {
  tls_context s = tls_context::server(server_options());
  EXPECT_EQ(SSL_CTX_set1_groups_list(s.native_handle(), list), 1) << list;
  return s;
}

tls_options up_to(tls_options options, tls_version version) {
  options.max_version = version;
  return options;
}

tls_context client_1_2(const char* ciphers) {
  tls_context c = tls_context::client(up_to(client_options(), tls_version::tls_1_2));
  EXPECT_EQ(SSL_CTX_set_cipher_list(c.native_handle(), ciphers), 1) << ciphers;
  return c;
}
// With a key of RSA, which the ciphers without forward secrecy need.
tls_options rsa_options() {
  static const sley_test::identity own = sley_test::the_authority().issue({.is_rsa = true});
  return {.certificate_pem = own.certificate, .key_pem = own.key};
}
tls_context server_1_2(const char* ciphers) {
  tls_context s = tls_context::server(up_to(rsa_options(), tls_version::tls_1_2));
  EXPECT_EQ(SSL_CTX_set_cipher_list(s.native_handle(), ciphers), 1) << ciphers;
  SSL_CTX_set_dh_auto(s.native_handle(), 1);
  return s;
}

bool agrees(const tls_context& client, const tls_context& server) {
  const tls_pair p = connect_tls(client, server);
  const handshake_errors errors = shake_hands(p);
  EXPECT_EQ(!errors.client, !errors.server);
  return !errors.client && !errors.server;
}

// Weak ones too: where the system's policy does not let a peer have them, there is nothing to test.
const char* const costly_groups[] = {"ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144",
                                     "ffdhe8192", "X448",      "P-521"};

}  // namespace

GO_TEST(tls_algorithms, the_groups_of_gos_defaults_are_taken) {
  for (const char* group : {"X25519", "P-256", "P-384"}) {
    EXPECT_TRUE(agrees(client_with_groups(group), usual_server())) << group;
    EXPECT_TRUE(agrees(usual_client(), server_with_groups(group))) << group;
    const auto old = up_to(client_options(), tls_version::tls_1_2);
    EXPECT_TRUE(agrees(tls_context::client(old), server_with_groups(group))) << group;
  }
}

GO_TEST(tls_algorithms, groups_that_cost_much_are_refused_by_both_sides) {
  for (const char* group : costly_groups) {
    EXPECT_FALSE(agrees(client_with_groups(group), usual_server())) << group;
    EXPECT_FALSE(agrees(usual_client(), server_with_groups(group))) << group;
  }
}

// The server asks for another key share (HelloRetryRequest), once.
GO_TEST(tls_algorithms, a_client_tries_another_group_after_a_refusal) {
  for (const char* list : {"ffdhe8192:X25519", "P-521:P-256", "X448:ffdhe2048:P-384"}) {
    EXPECT_TRUE(agrees(client_with_groups(list), usual_server())) << list;
  }
}

GO_TEST(tls_algorithms, hybrids_are_taken_where_openssl_has_them) {
  tls_context probe = tls_context::client(client_options());
  if (SSL_CTX_set1_groups_list(probe.native_handle(), "X25519MLKEM768") != 1) {
    GTEST_SKIP() << "OpenSSL before 3.5";
  }
  for (const char* group : {"X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"}) {
    EXPECT_TRUE(agrees(client_with_groups(group), usual_server())) << group;
    EXPECT_TRUE(agrees(usual_client(), server_with_groups(group))) << group;
  }
}

GO_TEST(tls_algorithms, tls_1_2_has_forward_secrecy_and_authenticated_encryption) {
  const tls_context rsa_server = tls_context::server(rsa_options());
  for (const char* ciphers : {"ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256",
                              "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384",
                              "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-CHACHA20-POLY1305"}) {
    EXPECT_TRUE(agrees(client_1_2(ciphers), usual_server())) << ciphers;
    EXPECT_TRUE(agrees(client_1_2(ciphers), rsa_server)) << ciphers;
    EXPECT_TRUE(agrees(usual_client(), server_1_2(ciphers))) << ciphers;
  }
  for (const char* ciphers :
       {"kRSA:@SECLEVEL=0", "kDHE:@SECLEVEL=0", "aNULL:@SECLEVEL=0", "eNULL:@SECLEVEL=0",
        "ECDHE+AES:!AESGCM:!AESCCM:@SECLEVEL=0", "ECDHE+AESCCM:@SECLEVEL=0",
        "ECDHE+ARIA:@SECLEVEL=0", "ECDHE+CAMELLIA:@SECLEVEL=0"}) {
    EXPECT_FALSE(agrees(client_1_2(ciphers), rsa_server)) << ciphers;
    EXPECT_FALSE(agrees(usual_client(), server_1_2(ciphers))) << ciphers;
  }
}

GO_TEST(tls_algorithms, versions_before_1_2_are_refused_by_both_sides) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    const auto set = [&](SSL_CTX* peer) {
      SSL_CTX_set_min_proto_version(peer, version);
      SSL_CTX_set_max_proto_version(peer, version);
      SSL_CTX_set_cipher_list(peer, any_cipher);
    };
    tls_context client = tls_context::client(client_options());
    set(client.native_handle());
    EXPECT_FALSE(agrees(client, usual_server())) << version;
    tls_context server = tls_context::server(server_options());
    set(server.native_handle());
    EXPECT_FALSE(agrees(usual_client(), server)) << version;
  }
}

GO_TEST(tls_algorithms, the_newest_version_that_both_know_is_agreed_on) {
  const tls_pair p = connect_tls(usual_client(), usual_server());
  EXPECT_FALSE(shake_hands(p).client);
  EXPECT_EQ(p.client.version(), "TLSv1.3");
  const auto old = up_to(client_options(), tls_version::tls_1_2);
  const tls_pair q = connect_tls(tls_context::client(old), usual_server());
  EXPECT_FALSE(shake_hands(q).client);
  EXPECT_EQ(q.server.version(), "TLSv1.2");
}

// ---- after the handshake ----

// The client asks though its own settings forbid it.
GO_TEST(tls_algorithms, a_server_refuses_to_negotiate_again) {
  const auto old = up_to(client_options(), tls_version::tls_1_2);
  tls_pair p = connect_tls(tls_context::client(old), usual_server());
  ASSERT_FALSE(shake_hands(p).client);
  SSL* ssl = p.client.native_tls();
  SSL_clear_options(ssl, SSL_OP_NO_RENEGOTIATION);
  ASSERT_EQ(SSL_renegotiate(ssl), 1);
  sley::wait_group group;
  group.go([&] {
    std::byte one;
    std::error_code error;
    p.server.read_some({&one, 1}, error);
    EXPECT_TRUE(error);
  });
  std::error_code error;
  p.client.handshake(error);
  EXPECT_TRUE(error);
  p.client.close();
  group.wait();
}

GO_TEST(tls_algorithms, nothing_is_taken_before_the_handshake_is_done) {
  for (const auto& c : {usual_client(), usual_server()}) {
    EXPECT_EQ(SSL_CTX_get_max_early_data(c.native_handle()), 0U);
    EXPECT_NE(SSL_CTX_get_options(c.native_handle()) & SSL_OP_NO_RENEGOTIATION, 0U);
    EXPECT_NE(SSL_CTX_get_options(c.native_handle()) & SSL_OP_NO_COMPRESSION, 0U);
  }
}

GO_TEST(tls_algorithms, tickets_and_sessions_have_limits) {
  const SSL_CTX* server = usual_server().native_handle();
  EXPECT_EQ(SSL_CTX_get_num_tickets(server), 2U);
  EXPECT_EQ(SSL_CTX_get_timeout(server), 2 * 60 * 60);
  EXPECT_EQ(SSL_CTX_get_session_cache_mode(const_cast<SSL_CTX*>(server)), SSL_SESS_CACHE_OFF);
}
