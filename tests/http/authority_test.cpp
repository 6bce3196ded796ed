// Which server a text names, asked in every place where one can stand: a Host field, the two forms
// of a target that name a server, a URL, the Location of a redirect, the Origin of a WebSocket. All
// places must give the same answer, or a request is for one server here and for another one there.
#include "support/scripted_server.hpp"
#include "support/web.hpp"

#include <string>
#include <vector>

using sley::http::client;
using sley::http::client_request;
using sley::http::errc;
using sley::http::request;
using sley::http::response;
using sley::http::url;
using sley::http::websocket;
using sley_test::bytes_of;
using sley_test::get;
using sley_test::has;
using sley_test::read_head;
using sley_test::running_server;
using sley_test::scripted_server;
using sley_test::status_of;

namespace {

using namespace std::string_literals;

const std::vector<std::string> no_authorities = {"a:b",
                                                 ":80",
                                                 ":",
                                                 "[::1",
                                                 "::1",
                                                 "a%zz",
                                                 "a%4",
                                                 "a%",
                                                 "a:65536",
                                                 "a:99999999999999999999",
                                                 "a:+1",
                                                 "a:-1",
                                                 "a:0x50",
                                                 "a:8 0",
                                                 "a:80:80",
                                                 "a::80",
                                                 "[::1]x",
                                                 "[::1]80",
                                                 "[::1]:x",
                                                 "[]",
                                                 "[]:80",
                                                 "[:::1]",
                                                 "[1.2.3.4]",
                                                 "[g::1]",
                                                 "[::1]]",
                                                 "[[::1]]",
                                                 "[v1.x]",
                                                 "[v1.fe80::a+en1]",
                                                 "a]",
                                                 "[a",
                                                 "a[b]",
                                                 "user@a",
                                                 "user:pass@a",
                                                 "user:80@a:80",
                                                 "@a",
                                                 "a@",
                                                 "a b",
                                                 "a\tb",
                                                 "a\\b",
                                                 "a|b",
                                                 "a\"b",
                                                 "a<b>",
                                                 "a^b",
                                                 "a`b",
                                                 "a{b}",
                                                 "\xc3\xa4",
                                                 "[fe80::1%25]",
                                                 "[fe80::1%e0]",
                                                 "[fe80::1%25a%zz]",
                                                 "[fe80::1%25a/b]",
                                                 "a%25zone%zz"};

const std::vector<std::string> good_authorities = {
    "a",       "A.b-c_d~e",     "a:80",
    "a:00080", "a:65535",       "127.0.0.1:8080",
    "[::1]",   "[::1]:80",      "[::ffff:1.2.3.4]:80",
    "a%41b",   "a!$&'()*+,;=b", "xn--4ca.example"};

// A client's URL can have these, but no request.
const std::vector<std::string> local_authorities = {"a:", "[::1]:", "[fe80::1%251]",
                                                    "[fe80::1%25eth0]:80", "[fe80::1%eth0]"};

void show_host(request& in, response& out) {
  out.send(200, "text/plain", '<' + std::string(in.host()) + '>');
}

std::string with_host(const std::string& host) {
  return "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}
std::string with_target(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: test\r\n\r\n";
}
std::string connect_to(const std::string& target) {
  return "CONNECT " + target + " HTTP/1.1\r\nHost: test\r\n\r\n";
}

// In the places that a request has.
void expect_refused_in_requests(const std::vector<std::string>& texts) {
  const running_server web(show_host);
  for (const std::string& text : texts) {
    for (const std::string& bytes :
         {with_host(text), with_target("http://" + text + "/"), with_target("http://" + text),
          with_target("http://" + text + "?q"), connect_to(text)}) {
      EXPECT_EQ(status_of(web.exchange(bytes)), 400) << bytes;
    }
  }
}

}  // namespace

GO_TEST(authority, a_bad_authority_is_refused_in_every_place_of_a_request) {
  expect_refused_in_requests(no_authorities);
  expect_refused_in_requests(local_authorities);
}

GO_TEST(authority, a_bad_authority_is_no_url) {
  for (const std::string& text : no_authorities) {
    EXPECT_FALSE(url::try_parse("http://" + text + "/")) << text;
    EXPECT_FALSE(url::try_parse("http://" + text)) << text;
    EXPECT_FALSE(url::try_parse("http://" + text + "?q")) << text;
    EXPECT_FALSE(url::parse("http://here/").resolve("//" + text + "/")) << text;
  }
}

GO_TEST(authority, a_redirect_to_a_bad_authority_is_malformed) {
  for (const char* text : {"a:b", ":80", "[::1", "a%zz", "user@a", "a:65536", "[v1.x]", "a\\b"}) {
    const scripted_server peer([&](int, const sley::net::tcp_stream& s) {
      read_head(s);
      s.write_all(bytes_of("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: http://"s + text +
                           "/\r\n\r\n"));
    });
    client c;
    std::error_code error;
    c.get(peer.url, error);
    EXPECT_EQ(error, errc::malformed) << text;
  }
}

GO_TEST(authority, a_good_authority_is_taken_in_every_place) {
  const running_server web(show_host);
  for (const std::string& text : good_authorities) {
    for (const std::string& bytes : {with_host(text), with_target("http://" + text + "/x"),
                                     with_target("HTTP://" + text + "?q")}) {
      const std::string answer = web.exchange(bytes);
      EXPECT_EQ(status_of(answer), 200) << bytes;
      EXPECT_TRUE(has(answer, '<' + text + '>')) << bytes << answer;
    }
    EXPECT_TRUE(url::try_parse("http://" + text + "/")) << text;
  }
}

GO_TEST(authority, a_target_has_no_fragment) {
  const running_server web(show_host);
  for (const char* target : {"/#", "/a#b", "/a?b#c", "http://good#evil.com/", "http://a/#b", "#",
                             "http://good#@evil.com/"}) {
    EXPECT_EQ(status_of(web.exchange(with_target(target))), 400) << target;
  }
}

GO_TEST(authority, a_request_names_one_server_or_none) {
  const running_server web(show_host);
  EXPECT_EQ(status_of(web.exchange(with_host("a\r\nHost: a"))), 400);
  EXPECT_EQ(status_of(web.exchange(with_host("a\r\nhost:"))), 400);
  EXPECT_EQ(status_of(web.exchange(with_host("\r\nHost:"))), 400);
  EXPECT_EQ(status_of(web.exchange("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n")), 400);
  EXPECT_EQ(status_of(web.exchange("GET / HTTP/1.0\r\nHost: a:b\r\n\r\n")), 400);
  EXPECT_EQ(status_of(web.exchange("GET http://a/ HTTP/1.1\r\nHost: a:b\r\n\r\n")), 400);
  EXPECT_TRUE(has(web.exchange(with_host("")), "<>"));
  EXPECT_TRUE(has(web.exchange("GET / HTTP/1.0\r\n\r\n"), "<>"));
}

// The target's own server counts, whatever Host says.
GO_TEST(authority, a_target_that_names_a_server_overrides_host) {
  const running_server web(show_host);
  EXPECT_TRUE(has(web.exchange(with_target("http://other:81/")), "<other:81>"));
  EXPECT_EQ(status_of(web.exchange(with_target("http://test@other/"))), 400);
}

GO_TEST(authority, connect_names_a_port) {
  const running_server web([](request& in, response& out) {
    out.send(403, "text/plain", '<' + std::string(in.host()) + '>');
  });
  EXPECT_TRUE(has(web.exchange(connect_to("other:443")), "<other:443>"));
  for (const char* target : {"other", "other:", "other:0", "/", "/other:443", "*", "http://other/",
                             "other:443/", "user@other:443"}) {
    EXPECT_EQ(status_of(web.exchange(connect_to(target))), 400) << target;
  }
}

GO_TEST(authority, a_target_of_another_scheme_is_misdirected) {
  const running_server web(show_host);
  EXPECT_EQ(status_of(web.exchange(with_target("https://test/"))), 421);
  EXPECT_EQ(status_of(web.exchange(with_target("ftp://test/"))), 421);
}

GO_TEST(authority, an_origin_is_compared_with_the_host_by_its_parts) {
  const running_server web([](request& in, response& out) { websocket::accept(in, out); });
  const auto ask = [&](std::string_view host, std::string_view origin) {
    return status_of(web.exchange(
        "GET / HTTP/1.1\r\nHost: " + std::string(host) +
        "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: " +
        std::string(origin) + "\r\n\r\n"));
  };
  EXPECT_EQ(ask("a", "http://a"), 101);
  EXPECT_EQ(ask("a:80", "http://A"), 101);
  EXPECT_EQ(ask("A", "http://a:80"), 403);  // no origin: a scheme's own port is never written
  EXPECT_EQ(ask("a", "https://a"), 101);    // something in front of the server does the TLS
  EXPECT_EQ(ask("a:443", "https://a"), 101);
  EXPECT_EQ(ask("[::1]:81", "http://[::1]:81"), 101);
  for (const char* origin : {"http://a:81", "https://b", "http://a/", "http://a/b", "http://a?b",
                             "http://user@a", "http://a#b", "http://a:", "null", "a", "http://",
                             "http://a http://b", "http://a.b", "http://b.a", "//a"}) {
    EXPECT_EQ(ask("a:80", origin), 403) << origin;
  }
}

// ---- what a client makes of it ----

// RFC 9110, 4.2.3: these are the same.
GO_TEST(authority, a_scheme_begins_with_a_letter_and_has_few_marks) {
  for (const char* text : {"htt#://a/", "1http://a/", "+a://a/", "h!://a/", "h_p://a/", "://a/"}) {
    EXPECT_FALSE(url::try_parse(text)) << text;
  }
  for (const char* text : {"a://a/", "git+SSH://a/", "z39.50r://a/", "h-1://a/"}) {
    EXPECT_TRUE(url::try_parse(text)) << text;
  }
  // A path of a reference, because no scheme looks like this.
  EXPECT_EQ(url::parse("http://a/").resolve("b_c:d")->target, "/b_c:d");
}

GO_TEST(authority, a_url_is_normalised) {
  for (const char* text : {"http://EXAMPLE.com:80/%7Esmith", "HTTP://example.com/%7Esmith",
                           "http://example.com:/%7Esmith", "http://example.com:0080/%7Esmith"}) {
    const url u = url::parse(text);
    EXPECT_EQ(u.to_string(), "http://example.com/%7Esmith");
    EXPECT_EQ(u.host_header(), "example.com");
    EXPECT_EQ(u.host_port(), "example.com:80");
  }
  EXPECT_EQ(url::parse("https://a:80").host_header(), "a:80");
  EXPECT_FALSE(url::try_parse("http://a:0/"));
}

// RFC 6874. Its zone means nothing to the server.
GO_TEST(authority, the_zone_of_an_address_is_not_in_host) {
  const url u = url::parse("http://[FE80::1%251]/");
  EXPECT_EQ(u.host, "fe80::1%1");
  EXPECT_EQ(u.host_port(), "[fe80::1%1]:80");
  EXPECT_EQ(u.host_header(), "[fe80::1]");
  EXPECT_EQ(u.to_string(), "http://[fe80::1%251]/");
  EXPECT_EQ(url::parse("http://[fe80::1%eth0]/").to_string(), "http://[fe80::1%25eth0]/");
  const url named = url::parse("http://[fe80::1%25Eth%2e0]:81/");
  EXPECT_EQ(named.host_port(), "[fe80::1%Eth.0]:81");
  EXPECT_EQ(named.host_header(), "[fe80::1]:81");
  EXPECT_EQ(named.resolve("/x")->host_port(), "[fe80::1%Eth.0]:81");
  for (const char* bad : {"http://[fe80::1%25a%00]/", "http://[fe80::1%25a%2fb]/",
                          "http://[fe80::1%25%0a]/", "http://[fe80::1%25a%20b]/"}) {
    EXPECT_FALSE(url::try_parse(bad)) << bad;
  }
}

GO_TEST(authority, a_zone_of_an_interface_is_connected_by_and_not_sent) {
  const scripted_server peer([](int, const sley::net::tcp_stream& s) {
    const std::string head = read_head(s);
    s.write_all(bytes_of("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + head));
  });
  std::string connected_to;
  client c({.connect = [&](const sley::context&, const url& to) {
    connected_to = to.host_port();
    return sley::http::make_connection(sley::net::tcp_stream::connect(peer.address));
  }});
  const std::string head = c.get("http://[fe80::1%251]/").read_all();
  EXPECT_EQ(connected_to, "[fe80::1%1]:80");
  EXPECT_TRUE(has(head, "Host: [fe80::1]\r\n")) << head;
}

GO_TEST(authority, a_client_sends_no_host_that_names_no_server) {
  client c;
  for (const char* host : {"a:b", ":80", "[::1", "a%zz", "user@a", "a b", "[fe80::1%251]"}) {
    client_request r{.url = "http://127.0.0.1:1/"};
    r.headers.set("Host", host);
    EXPECT_THROW(c.send(r), std::invalid_argument) << host;
  }
  client_request two{.url = "http://127.0.0.1:1/"};
  two.headers.add("Host", "a");
  two.headers.add("Host", "a");
  EXPECT_THROW(c.send(two), std::invalid_argument);
}

GO_TEST(authority, a_character_that_a_target_cannot_have_is_encoded_or_refused) {
  EXPECT_EQ(url::parse("http://a/\xc3\xa4?\xc3\xb6").target, "/%C3%A4?%C3%B6");
  EXPECT_EQ(url::parse("http://a/<\"|\\^`{}>").target, "/%3C%22%7C%5C%5E%60%7B%7D%3E");
  EXPECT_EQ(url::parse("http://a/%41?%").target, "/%41?%");
  for (const char* bad :
       {"http://a/b c", "http://a/%", "http://a/%zz", "http://a/\x7f", "http://a/?\n"}) {
    EXPECT_FALSE(url::try_parse(bad)) << bad;
  }
  EXPECT_EQ(url::parse("http://a/").resolve("/\\evil")->to_string(), "http://a/%5Cevil");
}
