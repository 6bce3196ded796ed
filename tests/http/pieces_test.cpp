// However the bytes of a message are cut into reads, it is the same message.
#include "support/harness.hpp"
#include "support/memory_connection.hpp"

#include <sley/http.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using sley_test::memory_connection;

namespace {

using namespace std::string_literals;

const std::vector<std::string>& chunked_bodies() {
  static const std::vector<std::string> all{
      "0\r\n\r\n"s,
      "00\r\n\r\n"s,
      "0;a=b\r\n\r\n"s,
      "0\r\nX: y\r\n\r\n"s,
      "3\r\nabc\r\n0\r\n\r\n"s,
      "3\r\n0\r\n\r\n0\r\nX: y\r\n\r\n"s,
      "1\r\na\r\n5\r\n0\r\n\r\n\r\n0\r\n\r\n"s,
      "0\r\nx\r\n\r\n"s,
      "0\r\n"s,
      "0\r\n\r"s,
      "x\r\n\r\n"s,
  };
  return all;
}

void add_trailers(std::string& to, const sley::http::fields& trailers) {
  for (const auto& f : trailers) to.append(f.name).append("=").append(f.value);
}

std::string answer_to(std::string_view request, std::size_t piece) {
  sley::http::server server([](sley::http::request& in, sley::http::response& out) {
    std::string text = in.body().read_all();
    add_trailers(text, in.body().trailers());
    out.send(200, "text/plain", text);
  });
  return sley_test::answers_of(server, request, piece);
}

// All that the client makes of it.
std::string seen_of(std::string_view answer, std::size_t piece) {
  sley::http::client client({.connect = [=](const sley::context&, const sley::http::url&) {
    return std::make_unique<memory_connection>(answer, piece);
  }});
  std::error_code error;
  sley::http::client_response r = client.send({.method = "GET", .url = "http://host/"}, error);
  std::string seen = error ? error.message() : r.read_all(SIZE_MAX, error);
  seen += error.message();
  if (!error) add_trailers(seen, r.trailers());
  return seen;
}

}  // namespace

GO_TEST(pieces, a_chunked_request_is_the_same_however_it_comes) {
  for (const std::string& body : chunked_bodies()) {
    const std::string request =
        "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
    const std::string whole = answer_to(request, SIZE_MAX);
    for (std::size_t piece = 1; piece < request.size(); ++piece) {
      EXPECT_EQ(answer_to(request, piece), whole) << body << " in pieces of " << piece;
    }
  }
}

GO_TEST(pieces, a_chunked_answer_is_the_same_however_it_comes) {
  for (const std::string& body : chunked_bodies()) {
    const std::string answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
    const std::string whole = seen_of(answer, SIZE_MAX);
    for (std::size_t piece = 1; piece < answer.size(); ++piece) {
      EXPECT_EQ(seen_of(answer, piece), whole) << body << " in pieces of " << piece;
    }
  }
}

GO_TEST(pieces, an_empty_chunked_body_is_empty_byte_by_byte) {
  EXPECT_EQ(seen_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n", 1),
            "SuccessX=y");
}
