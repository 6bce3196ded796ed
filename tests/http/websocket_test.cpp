// WebSocket: the handshake, messages, control frames, and peers that break the protocol.
#include "support/web.hpp"
#include "support/websocket_client.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using sley::http::request;
using sley::http::response;
using sley::http::websocket;
using sley::http::websocket_options;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::running_server;
using sley_test::status_of;
using namespace sley_test::websocket_client;
using namespace std::chrono_literals;

namespace {

void echo(request& in, response& out) {
  websocket ws = websocket::accept(in, out, {.message_bytes = 100'000});
  while (const auto m = ws.read()) {
    if (m->is_text) {
      ws.write_text(m->data);
    } else {
      ws.write_binary(bytes_of(m->data));
    }
  }
}

int code_of(const received& r) {
  EXPECT_EQ(r.first_byte, close_frame);
  if (r.payload.size() < 2) return 0;
  return static_cast<unsigned char>(r.payload[0]) << 8 | static_cast<unsigned char>(r.payload[1]);
}

tcp_stream open(const running_server& web) {
  tcp_stream s = web.connect();
  s.write_all(bytes_of(get("/", upgrade)));
  EXPECT_EQ(status_of(read_head(s)), 101);
  return s;
}

void send(const tcp_stream& s, std::string_view bytes) { s.write_all(bytes_of(bytes)); }

}  // namespace

// The key and its answer are the example of RFC 6455, 1.3.
GO_TEST(websocket, shakes_hands) {
  const running_server web([](request& in, response& out) {
    const websocket ws = websocket::accept(in, out, {.protocols = "new, old"});
    EXPECT_EQ(ws.protocol(), "old");
  });
  const tcp_stream s = web.connect();
  std::string fields(upgrade);
  fields += "Sec-WebSocket-Protocol: older, old\r\n";
  send(s, get("/", fields));
  const std::string head = read_head(s);
  EXPECT_EQ(status_of(head), 101);
  EXPECT_TRUE(has(head, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")) << head;
  EXPECT_TRUE(has(head, "Sec-WebSocket-Protocol: old\r\n")) << head;
  EXPECT_EQ(code_of(receive(s)), 1001);  // the handler is done
}

GO_TEST(websocket, refuses_a_malformed_handshake) {
  const running_server web(echo);
  const std::string good(upgrade);
  const auto without = [&](std::string_view line) {
    std::string lines = good;
    const std::size_t at = lines.find(line);
    lines.erase(at, lines.find("\r\n", at) + 2 - at);
    return lines;
  };
  EXPECT_EQ(status_of(web.exchange(get("/"))), 426);
  EXPECT_EQ(status_of(web.exchange(get("/", without("Connection")))), 426);
  EXPECT_EQ(status_of(web.exchange(get("/", without("Upgrade: ")))), 426);
  EXPECT_EQ(status_of(web.exchange(get("/", without("Sec-WebSocket-Key")))), 400);
  EXPECT_TRUE(has(web.exchange(get("/", without("Sec-WebSocket-Version"))),
                  "Sec-WebSocket-Version: 13\r\n"));
  EXPECT_EQ(status_of(web.exchange(get("/", good + "Origin: http://evil\r\n"))), 403);
  EXPECT_EQ(status_of(web.exchange("POST / HTTP/1.1\r\nHost: test\r\n" + good + "\r\n")), 405);
  const tcp_stream same = web.connect();
  send(same, get("/", good + "Origin: http://TEST\r\n"));
  EXPECT_EQ(status_of(read_head(same)), 101);
}

GO_TEST(websocket, echoes_messages_of_all_sizes) {
  const running_server web(echo);
  const tcp_stream s = open(web);
  for (const std::size_t size : std::vector<std::size_t>{0, 1, 125, 126, 65'535, 65'536, 100'000}) {
    const std::string text(size, 't');
    send(s, frame(text_frame, text));
    const received r = receive(s);
    EXPECT_EQ(r.first_byte, text_frame);
    EXPECT_TRUE(r.payload == text) << size;
  }
  send(s, frame(binary_frame, "\xff\xfe"));
  EXPECT_EQ(receive(s).first_byte, binary_frame);
  send(s, frame(close_frame, std::string("\x03\xe8") + "bye"));
  EXPECT_EQ(code_of(receive(s)), 1000);
  EXPECT_EQ(sley_test::read_to_end(s), "");
}

// Fragments with control frames between them, byte by byte.
GO_TEST(websocket, joins_fragments_and_answers_pings_between_them) {
  const running_server web(echo);
  const tcp_stream s = open(web);
  const std::string all = frame(0x01, "a\xc3") + frame(ping_frame, "are you there") +
                          frame(0x00, "\xa4") + frame(pong_frame, "unasked") + frame(0x80, "b");
  for (const char c : all) send(s, std::string_view(&c, 1));
  const received pong = receive(s);
  EXPECT_EQ(pong.first_byte, pong_frame);
  EXPECT_EQ(pong.payload, "are you there");
  EXPECT_EQ(receive(s).payload,
            "a\xc3\xa4"
            "b");
}

GO_TEST(websocket, closes_on_peers_that_break_the_protocol) {
  const running_server web(echo, {.on_error = [](const request*, std::exception_ptr) {}});
  struct bad {
    int code;
    std::string bytes;
  };
  std::string unmasked = "\x81\x01x";
  for (const bad& b : {
           bad{1002, unmasked},
           bad{1002, frame(0xc1, "reserved bit")},
           bad{1002, frame(0x83, "unknown kind")},
           bad{1002, frame(0x09, "ping in fragments")},
           bad{1002, frame(ping_frame, std::string(126, 'x'))},
           bad{1002, frame(0x80, "continues nothing")},
           bad{1002, frame(0x01, "begun") + frame(text_frame, "begun again")},
           bad{1002, std::string("\x81\xfe\x00\x01\x01\x02\x03\x04x", 9)},
           bad{1002, std::string("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04", 14)},
           bad{1002, frame(close_frame, "x")},
           bad{1002, frame(close_frame, std::string("\x03\xed", 2))},
           bad{1002, frame(close_frame, std::string("\x03\xe8\xff", 3))},
           bad{1007, frame(text_frame, "\xc0\xaf")},
           bad{1007, frame(text_frame, "\xed\xa0\x80")},
           bad{1007, frame(text_frame, "\xf4\x90\x80\x80")},
           bad{1007, frame(text_frame, "cut \xc3")},
           bad{1009, frame(text_frame, std::string(100'001, 'x')).substr(0, 100)},
           bad{1009, frame(0x01, std::string(60'000, 'x')) + frame(0x80, std::string(60'000, 'x'))},
       }) {
    const tcp_stream s = open(web);
    std::error_code error;
    s.write_all(bytes_of(b.bytes), error);
    EXPECT_EQ(code_of(receive(s)), b.code) << b.bytes.substr(0, 40);
  }
}

// Bytes that the peer still sends are thrown away for a while: a connection that is closed with
// unread bytes in it is reset, and the peer may lose the code.
GO_TEST(websocket, the_code_arrives_at_a_peer_that_still_sends) {
  const running_server web(echo, {.on_error = [](const request*, std::exception_ptr) {}});
  const std::string rest = frame(binary_frame, std::string(8 << 20, 'x'));
  for (const auto& [code, begin] :
       {std::pair(1009, std::string()), std::pair(1002, std::string("\x81\x01x")),
        std::pair(1007, frame(text_frame, "\xc0\xaf"))}) {
    tcp_stream s = open(web);
    sley::wait_group sending;
    sending.go([&s, &rest, before = begin] {
      std::error_code error;
      s.write_all(bytes_of(before + rest), error);
    });
    EXPECT_EQ(code_of(receive(s)), code);
    std::byte byte[1];
    std::error_code error;
    EXPECT_EQ(s.read_some(byte, error), 0U);
    EXPECT_FALSE(error) << code;  // the end, and no reset
    s.close();
    sending.wait();
  }
}

GO_TEST(websocket, knows_how_the_peer_closed) {
  struct end {
    std::error_code error;
    int code;
    std::string reason;
  };
  sley::chan<end> ends(1);
  const running_server web([ends](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    std::error_code error;
    EXPECT_FALSE(ws.read(error));
    EXPECT_FALSE(ws.read(error));  // it stays like that
    ends.send({error, ws.close_code(), std::string(ws.close_reason())});
  });
  const tcp_stream with_reason = open(web);
  send(with_reason, frame(close_frame, "\x0f\xa0why"));
  auto e = *ends.receive();
  EXPECT_FALSE(e.error);
  EXPECT_EQ(e.code, 4000);
  EXPECT_EQ(e.reason, "why");
  const tcp_stream silent = open(web);
  send(silent, frame(close_frame, ""));
  EXPECT_EQ(ends.receive()->code, 1005);
  tcp_stream gone = open(web);
  gone.close();
  e = *ends.receive();
  EXPECT_TRUE(e.error);
  EXPECT_EQ(e.code, 1006);
}

// One reads, several write: each message comes whole, pongs among them.
GO_TEST(websocket, any_number_may_write) {
  constexpr int writers = 4, messages = 25;
  const running_server web([](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    sley::wait_group group;
    for (int w = 0; w < writers; ++w) {
      group.go([&ws, w] {
        const std::string text(70'000, static_cast<char>('a' + w));
        for (int i = 0; i < messages; ++i) ws.write_text(text);
      });
    }
    while (ws.read()) {
    }
    group.wait();
  });
  const tcp_stream s = open(web);
  int pongs = 0, texts = 0;
  for (int i = 0; i < 10; ++i) send(s, frame(ping_frame, std::to_string(i)));
  while (pongs < 10 || texts < writers * messages) {
    const received r = receive(s);
    if (r.first_byte == pong_frame) {
      EXPECT_EQ(r.payload, std::to_string(pongs++));
    } else {
      ASSERT_EQ(r.first_byte, text_frame);
      EXPECT_EQ(r.payload.find_first_not_of(r.payload[0]), std::string::npos);
      ++texts;
    }
  }
  send(s, frame(close_frame, ""));
  EXPECT_EQ(code_of(receive(s)), 1000);
}

GO_TEST(websocket, a_read_that_timed_out_goes_on_later) {
  sley::chan<void> timed_out;
  const running_server web([timed_out](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    ws.set_read_deadline(std::chrono::steady_clock::now() + 30ms);
    std::error_code error;
    EXPECT_FALSE(ws.read(error));
    EXPECT_EQ(error, std::errc::timed_out);
    timed_out.send();
    ws.set_read_deadline(sley::time_point::max());
    ws.write_text(ws.read()->data);
  });
  const tcp_stream s = open(web);
  const std::string whole = frame(text_frame, "in two parts");
  send(s, whole.substr(0, 10));
  timed_out.receive();
  send(s, whole.substr(10));
  EXPECT_EQ(receive(s).payload, "in two parts");
}

GO_TEST(websocket, misuse_throws) {
  const running_server web([](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    EXPECT_THROW(ws.close(1005), std::invalid_argument);
    EXPECT_THROW(ws.close(1000, std::string(124, 'x')), std::invalid_argument);
    EXPECT_THROW(ws.ping(std::string(126, 'x')), std::invalid_argument);
    ws.ping("p");
    ws.close(1000, "enough");
    std::error_code error;
    ws.write_text("too late", error);
    EXPECT_EQ(error, std::errc::broken_pipe);
  });
  const tcp_stream s = open(web);
  EXPECT_EQ(receive(s).payload, "p");
  const received r = receive(s);
  EXPECT_EQ(code_of(r), 1000);
  EXPECT_EQ(r.payload.substr(2), "enough");
}
