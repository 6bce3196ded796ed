// What the library prints of a peer's text stays in one line, and tells a terminal nothing.
#include "support/web.hpp"

#include <sley/debug.hpp>
#include <sley/log.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

using sley::http::access_record;
using sley::http::request;
using sley::http::response;
using sley_test::get;
using sley_test::has;
using sley_test::running_server;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view bad = "\n\x1b[2J\r\x9b";

// What is printed on stderr while f runs.
template <class F>
std::string printed_by(const F& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

}  // namespace

GO_TEST(log, an_error_of_a_handler_is_one_line) {
  const std::string printed = printed_by([] {
    const running_server web([](request& in, response& out) {
      out.headers().set("X-Name", in.query_parameters().get("name"));  // throws
      out.send(200);
    });
    const running_server other(
        [](request&, response&) { throw std::runtime_error("sees " + std::string(bad)); });
    EXPECT_EQ(sley_test::status_of(web.exchange(get("/a?name=x%0A%1B%5B2Jy"))), 500);
    EXPECT_EQ(sley_test::status_of(other.exchange(get("/b"))), 500);
  });
  EXPECT_EQ(sley_test::count_of(printed, "\n"), 2) << printed;
  EXPECT_EQ(printed.find_first_of("\x1b\r\x9b"), std::string::npos) << printed;
  EXPECT_TRUE(has(printed, R"(the handler of GET /b threw: sees \n\x1b[2J\r\x9b)")) << printed;
}

namespace {
std::string* last_line = nullptr;  // of the test that runs
}

GO_TEST(log, the_programs_function_gets_the_lines) {
  std::string line;
  last_line = &line;
  const auto before = sley::set_log_function([](std::string_view l) { *last_line = l; });
  const std::string printed = printed_by([] {
    const running_server web(
        [](request&, response&) { throw std::runtime_error("sees " + std::string(bad)); });
    EXPECT_EQ(sley_test::status_of(web.exchange(get("/b"))), 500);
  });
  sley::set_log_function(before);
  EXPECT_EQ(printed, "");
  EXPECT_EQ(line, R"(sley: http: the handler of GET /b threw: sees \n\x1b[2J\r\x9b)");
}

GO_TEST(log, an_error_of_a_connection_is_one_line) {
  const std::string printed = printed_by([] {
    const running_server web(sley_test::hello,
                             {.connect = [](sley::net::tcp_stream) -> sley::http::connection_ptr {
                               throw std::runtime_error(std::string(bad));
                             }});
    const auto s = web.connect();
    EXPECT_EQ(sley_test::read_to_end(s), "");
  });
  EXPECT_TRUE(printed.ends_with("given up: \\n\\x1b[2J\\r\\x9b\n")) << printed;
}

TEST(log, a_line_of_the_access_log_is_one_line) {
  access_record r = sley_test::example_record();
  EXPECT_EQ(to_line(r), "192.0.2.1:5000 \"GET /a?b\" 200 5 1.023 ms");
  r.cut_by = sley::http::errc::incomplete;
  EXPECT_EQ(to_line(r),
            "192.0.2.1:5000 \"GET /a?b\" 200 5 1.023 ms cut: the message ended too soon");
  r.cut_by.clear();
  r.target = bad;
  EXPECT_EQ(to_line(r), "192.0.2.1:5000 \"GET \\n\\x1b[2J\\r\\x9b\" 200 5 1.023 ms");
  r = {.remote = {},
       .method = {},
       .target = {},
       .version = 0,
       .status = 400,
       .body_bytes = 0,
       .duration = {},
       .cut_by = {}};
  EXPECT_EQ(to_line(r), " \"-\" 400 0 0.000 ms");
}

GO_TEST(log, the_name_of_a_goroutine_is_a_part_of_its_line) {
  const sley::chan<void> never, ended;
  sley::go(sley::go_options{.name = bad}, [=] {
    never.receive();
    ended.close();
  });
  sley::http::router routes;
  routes.handle("", "/debug/{page...}", sley::debug::pages());
  const running_server web(routes);
  const std::string page = web.exchange(get("/debug/goroutines"));
  EXPECT_TRUE(has(page, R"("\n\x1b[2J\r\x9b" [)")) << page;
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  never.close();
  ended.receive();
}
