// compress(): which clients get gzip, what the header says then, and which answers are left as they
// are. The client unpacks compressed answers, which http.decompression tests with bytes of gzip(1).
#include "support/temporary_folder.hpp"
#include "support/web.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

using sley::http::client;
using sley::http::client_response;
using sley::http::compress;
using sley::http::handler;
using sley::http::request;
using sley::http::response;
using sley_test::body_of;
using sley_test::bytes_of;
using sley_test::get;
using sley_test::has;
using sley_test::read_head;
using sley_test::read_to_end;
using sley_test::running_server;
using sley_test::status_of;

namespace {

constexpr std::string_view accepts = "Accept-Encoding: gzip\r\n";

// Text that gets smaller.
std::string text_of(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += "line " + std::to_string(i) + '\n';
  text.resize(size);
  return text;
}

void send_text(request&, response& out) { out.send(200, "text/plain", text_of(4000)); }

handler compressed(handler h) { return compress()(std::move(h)); }

bool is_packed(std::string_view answer) { return has(answer, "Content-Encoding: gzip\r\n"); }

// What the server answers to a client that would like gzip.
std::string answer_of(handler h, std::string_view more = {}) {
  return running_server(compressed(std::move(h)))
      .exchange(get("/", std::string(accepts).append(more)));
}

std::string url_of(const running_server& web) { return "http://" + web.address + '/'; }

}  // namespace

// ---- which requests get it ----

GO_TEST(compression, is_used_for_clients_that_prefer_it) {
  const running_server web(compressed(send_text));
  for (const char* wish : {"gzip", "GZip", "x-gzip", "deflate, gzip;q=0.5, br", "*", "gzip;q=0.001",
                           "identity;q=0.5, gzip;q=0.5", "gzip; Q=1.000", "identity;q=0, *"}) {
    const std::string answer =
        web.exchange(get("/", "Accept-Encoding: " + std::string(wish) + "\r\n"));
    EXPECT_TRUE(is_packed(answer)) << wish;
    EXPECT_TRUE(has(answer, "Vary: Accept-Encoding\r\n")) << wish;
  }
  for (const char* wish :
       {"", "identity", "gzip;q=0", "gzip;q=0.000, *", "gzip;q=0.4, identity;q=0.5", "br", "*;q=0",
        "gzip;q=2", "gzip;q=x", "gzip;q=", "gzipped"}) {
    const std::string answer =
        web.exchange(get("/", "Accept-Encoding: " + std::string(wish) + "\r\n"));
    EXPECT_FALSE(is_packed(answer)) << wish;
    EXPECT_EQ(body_of(answer), text_of(4000)) << wish;
    EXPECT_TRUE(has(answer, "Vary: Accept-Encoding\r\n")) << wish;
  }
  EXPECT_FALSE(is_packed(web.exchange(get("/"))));
  EXPECT_TRUE(
      is_packed(web.exchange(get("/", "Accept-Encoding: br\r\nAccept-Encoding: gzip\r\n"))));
  EXPECT_FALSE(is_packed(web.exchange("GET / HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")));
}

GO_TEST(compression, leaves_small_and_packed_bodies_alone) {
  EXPECT_TRUE(is_packed(answer_of(send_text)));
  const auto of_type = [](std::string_view type, std::size_t size = 4000) {
    return [=](request&, response& out) { out.send(200, type, text_of(size)); };
  };
  EXPECT_FALSE(is_packed(answer_of(of_type("text/plain", 1023))));
  EXPECT_TRUE(is_packed(answer_of(of_type("text/plain", 1024))));
  EXPECT_TRUE(is_packed(answer_of(of_type("Application/JSON ; charset=utf-8"))));
  EXPECT_TRUE(is_packed(answer_of(of_type("application/problem+json"))));
  EXPECT_TRUE(is_packed(answer_of(of_type("image/svg+xml"))));
  for (const char* type : {"", "image/png", "video/mp4", "application/zip", "font/woff2"}) {
    const std::string answer = answer_of(of_type(type));
    EXPECT_FALSE(is_packed(answer)) << type;
    EXPECT_FALSE(has(answer, "Vary")) << type;
  }
}

GO_TEST(compression, leaves_bodies_that_must_not_change_alone) {
  const auto with = [](std::string_view name, std::string_view value, int status = 200) {
    return [=](request&, response& out) {
      out.headers().set(name, value);
      out.send(status, "text/plain", text_of(4000));
    };
  };
  EXPECT_TRUE(is_packed(answer_of(with("Cache-Control", "max-age=1"))));
  EXPECT_FALSE(is_packed(answer_of(with("Cache-Control", "max-age=1, no-transform"))));
  EXPECT_FALSE(is_packed(answer_of(with("Content-Encoding", "br"))));
  EXPECT_FALSE(is_packed(answer_of(with("Content-Range", "bytes 0-3999/5000", 206))));
  EXPECT_FALSE(is_packed(answer_of([](request&, response& out) { out.send(204); })));
}

GO_TEST(compression, asks_for_the_types_that_are_wanted) {
  const auto only_zip = compress(
      {.least_bytes = 0, .types = [](std::string_view type) { return type == "application/zip"; }});
  const auto of_type = [](std::string_view type) {
    return [=](request&, response& out) { out.send(200, type, "x"); };
  };
  EXPECT_TRUE(is_packed(
      running_server(only_zip(of_type("application/zip; a=b"))).exchange(get("/", accepts))));
  EXPECT_FALSE(
      is_packed(running_server(only_zip(of_type("text/plain"))).exchange(get("/", accepts))));
  EXPECT_THROW(compress({.level = 0}), std::invalid_argument);
  EXPECT_THROW(compress({.level = 10}), std::invalid_argument);
}

// ---- what the header says ----

GO_TEST(compression, tells_all_of_it_in_the_header) {
  const handler h = [](request& in, response& out) {
    out.headers().set("ETag", "\"v1\"");
    out.headers().set("Accept-Ranges", "bytes");
    out.headers().set("Vary", "Origin");
    send_text(in, out);
  };
  const std::string answer = answer_of(h);
  EXPECT_TRUE(has(answer, "ETag: W/\"v1\"\r\n")) << answer;
  EXPECT_TRUE(has(answer, "Vary: Origin\r\n")) << answer;
  EXPECT_TRUE(has(answer, "Vary: Accept-Encoding\r\n")) << answer;
  EXPECT_FALSE(has(answer, "Accept-Ranges")) << answer;
  // It was complete before the head went out.
  EXPECT_TRUE(has(answer, "Content-Length: " + std::to_string(body_of(answer).size()) + "\r\n"));
  EXPECT_LT(body_of(answer).size(), 2000U);
  const std::string plain = running_server(compressed(h)).exchange(get("/"));
  EXPECT_TRUE(has(plain, "ETag: \"v1\"\r\n")) << plain;
  EXPECT_TRUE(has(plain, "Accept-Ranges: bytes\r\n")) << plain;
}

GO_TEST(compression, answers_head_as_get) {
  const auto head_of = [](std::size_t size) {
    const running_server web(compressed([size](request&, response& out) {
      out.headers().set("Date", "now");
      out.headers().set("ETag", "\"v1\"");
      out.send(200, "text/plain", text_of(size));
    }));
    const std::string wish = "Host: x\r\nAccept-Encoding: gzip\r\n\r\n";
    const std::string head = web.exchange("HEAD / HTTP/1.1\r\n" + wish);
    const std::string whole = web.exchange("GET / HTTP/1.1\r\n" + wish);
    EXPECT_TRUE(is_packed(head)) << head;
    EXPECT_EQ(head, whole.substr(0, whole.find("\r\n\r\n") + 4));
  };
  head_of(4000);
  head_of(100'000);
}

GO_TEST(compression, says_not_modified_of_the_tag_that_the_client_has) {
  const running_server web(compressed([](request&, response& out) {
    out.headers().set("ETag", "\"v1\"");
    out.send(304);
  }));
  const auto answer_to = [&](const char* known) {
    return web.exchange(get("/", "If-None-Match: " + std::string(known) + "\r\n"));
  };
  EXPECT_TRUE(has(answer_to("\"v0\", W/\"v1\""), "ETag: W/\"v1\"\r\n"));
  EXPECT_TRUE(has(answer_to("\"v1\""), "ETag: \"v1\"\r\n"));
  EXPECT_TRUE(has(answer_to("\"v1\""), "Vary: Accept-Encoding\r\n"));
}

// ---- the body ----

GO_TEST(compression, bodies_of_every_size_arrive) {
  const running_server web(compressed([](request& in, response& out) {
    const std::string text = text_of(std::stoul(std::string(in.query())));
    if (in.path() == "/sent") return out.send(200, "text/plain", text);
    out.headers().set("Content-Type", "text/plain");
    std::size_t step = 1;
    for (std::size_t at = 0; at < text.size(); at += step, step = step * 2 % 40'009) {
      out.write(std::string_view(text).substr(at, step));
    }
  }));
  client c;
  for (const std::size_t size : {1024U, 8192U, 8193U, 100'000U, 400'000U}) {
    for (const char* path : {"sent?", "written?"}) {
      client_response r = c.get(url_of(web) + path + std::to_string(size));
      EXPECT_TRUE(r.is_uncompressed());
      EXPECT_EQ(r.read_all(), text_of(size));
    }
  }
  EXPECT_EQ(c.idle_connections(), 1U);
}

// Each line is read before the next one is written.
GO_TEST(compression, flushes) {
  const sley::chan<void> go_on;
  const running_server web(compressed([=](request&, response& out) {
    out.headers().set("Content-Type", "text/event-stream");
    for (const char* line : {"data: 1\n\n", "data: 2\n\n", "data: 3\n\n"}) {
      out.write(line);
      out.flush();
      go_on.receive();
    }
  }));
  client c;
  client_response r = c.get(url_of(web));
  EXPECT_TRUE(r.is_uncompressed());
  for (const char* line : {"data: 1\n\n", "data: 2\n\n", "data: 3\n\n"}) {
    std::string got;
    while (got.size() < 9) {
      std::byte buffer[9];
      const std::size_t n = r.body().read_some(std::span(buffer).first(9 - got.size()));
      if (n == 0) break;
      got.append(reinterpret_cast<const char*>(buffer), n);
    }
    EXPECT_EQ(got, line);
    go_on.send();
  }
  EXPECT_EQ(r.read_all(), "");
}

GO_TEST(compression, mistakes_of_a_handler_are_found_all_the_same) {
  const auto answer_to = [](handler h) {
    sley::http::server_options options;
    options.on_error = [](const request*, std::exception_ptr) {};
    return running_server(compressed(std::move(h)), options).exchange(get("/", accepts));
  };
  const std::string wrong = answer_to([](request&, response& out) {
    out.headers().set("Content-Type", "text/plain");
    out.headers().set("Content-Length", 5000);
    out.write(text_of(4000));
  });
  EXPECT_EQ(status_of(wrong), 500);
  EXPECT_FALSE(is_packed(wrong)) << wrong;
  const std::string cut = answer_to([](request&, response& out) {
    out.headers().set("Content-Type", "text/plain");
    out.write(text_of(20'000));
    out.flush();
    throw std::runtime_error("late");
  });
  EXPECT_TRUE(is_packed(cut));
  EXPECT_FALSE(cut.ends_with("0\r\n\r\n"));
  const std::string missing = answer_to([](request&, response& out) {
    out.headers().set("Content-Type", "text/plain");
    out.write(text_of(4000));
    throw sley::http::status_error(404);
  });
  EXPECT_EQ(status_of(missing), 404);
  EXPECT_EQ(body_of(missing), "Not Found");
}

GO_TEST(compression, goes_with_files_and_their_parts) {
  const sley_test::temporary_folder folder;
  std::ofstream(folder / "a.txt") << text_of(50'000);
  std::ofstream(folder / "a.png") << text_of(50'000);
  std::ofstream(folder / "b.txt") << text_of(50'000);
  std::ofstream(folder / "b.txt.gz") << "packed before";
  const running_server web(
      compressed(sley::http::file_server(folder.path().string(), {.precompressed = true})));
  client c;
  client_response r = c.get(url_of(web) + "a.txt");
  EXPECT_TRUE(r.is_uncompressed());
  const std::string tag(r.header("ETag"));
  EXPECT_TRUE(tag.starts_with("W/\"")) << tag;
  EXPECT_EQ(r.headers().all("Vary").size(), 1U);
  EXPECT_EQ(r.read_all(), text_of(50'000));

  const std::string known = web.exchange(get("/a.txt", "If-None-Match: " + tag + "\r\n"));
  EXPECT_EQ(status_of(known), 304);
  EXPECT_TRUE(has(known, "ETag: " + tag + "\r\n")) << known;
  const std::string part =
      web.exchange(get("/a.txt", std::string(accepts) + "Range: bytes=0-1999\r\n"));
  EXPECT_EQ(status_of(part), 206);
  EXPECT_EQ(body_of(part), text_of(2000));
  EXPECT_FALSE(is_packed(web.exchange(get("/a.png", accepts))));
  const std::string before = web.exchange(get("/b.txt", accepts));
  EXPECT_TRUE(is_packed(before));
  EXPECT_EQ(body_of(before), "packed before");
  EXPECT_TRUE(is_packed(
      web.exchange("HEAD /a.txt HTTP/1.1\r\nHost: x\r\n" + std::string(accepts) + "\r\n")));
}
