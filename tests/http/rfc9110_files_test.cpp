// RFC 9110 where a file is served: dates, conditions, ranges. README.md beside this file has the
// table of all requirements with the test of each.
#include "support/temporary_folder.hpp"
#include "support/web.hpp"

#include <ctime>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

using sley_test::body_of;
using sley_test::get;
using sley_test::has;
using sley_test::running_server;
using sley_test::status_of;

namespace {

using namespace std::string_literals;

// A folder with a file of ten bytes, changed at a moment that is long over, and an empty one.
class ten_bytes {
 public:
  ten_bytes() {
    std::ofstream(folder_ / "ten.txt") << "0123456789";
    std::ofstream(folder_ / "empty.txt") << "";
    const timespec times[] = {{784'111'777, 0}, {784'111'777, 0}};  // as in RFC 9110's examples
    ::utimensat(AT_FDCWD, (folder_ / "ten.txt").c_str(), times, 0);
  }
  std::string path() const { return folder_.path().string(); }

 private:
  sley_test::temporary_folder folder_;
};

constexpr const char* changed = "Sun, 06 Nov 1994 08:49:37 GMT";

}  // namespace

// ---- 5: dates ----

// A form that is none, or a day that is none, is no date: then the file counts as changed.
GO_TEST(rfc9110, all_three_forms_of_dates_are_read) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  const auto ask = [&](const std::string& date) {
    return status_of(web.exchange(get("/ten.txt", "If-Modified-Since: " + date + "\r\n")));
  };
  EXPECT_EQ(ask(changed), 304);
  EXPECT_EQ(ask("Sunday, 06-Nov-94 08:49:37 GMT"), 304);
  EXPECT_EQ(ask("Sun Nov  6 08:49:37 1994"), 304);
  EXPECT_EQ(ask("Sun, 06 Nov 1994 08:49:36 GMT"), 200);
  for (const char* none :
       {"Sun, 06 Nov 2094 08:49:37 UTC", "Sun, 6 Nov 2094 08:49:37 GMT", "Sun, 06 Nov 2094",
        "Sun, 31 Feb 2094 08:49:37 GMT", "Sun, 00 Nov 2094 08:49:37 GMT",
        "Sun, 06 Nov 2094 24:00:00 GMT", "Sun, 06 Nov 2094 08:60:37 GMT",
        "06 Nov 2094 08:49:37 GMT", "Sun,  06 Nov 2094 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "4000000000", "Sun Nov 06 08:49:37 2094 GMT", "Son, 06 Nov 2094 08:49:37 GMT"}) {
    EXPECT_EQ(ask(none), 200) << none;
  }
}

// 5.6.7: two digits are of the last century if they would be more than 50 years ahead otherwise.
GO_TEST(rfc9110, years_of_two_digits_are_at_most_50_years_ahead) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  const std::time_t now = std::time(nullptr);
  const int year = std::gmtime(&now)->tm_year + 1900;
  const auto ask = [&](int y) {
    const int two = y % 100;
    const std::string date = "Sunday, 06-Nov-"s + static_cast<char>('0' + two / 10) +
                             static_cast<char>('0' + two % 10) + " 08:49:37 GMT";
    return status_of(web.exchange(get("/ten.txt", "If-Modified-Since: " + date + "\r\n")));
  };
  EXPECT_EQ(ask(year + 50), 304);  // a day to come: the file is older
  EXPECT_EQ(ask(year - 49), year - 49 > 1994 ? 304 : 200);
  EXPECT_EQ(ask(1994), 304);
  EXPECT_EQ(ask(1993), 200);
}

// ---- 8: validators ----

GO_TEST(rfc9110, a_file_was_never_changed_later_than_now) {
  const ten_bytes files;
  const timespec times[] = {{4'102'444'800, 0}, {4'102'444'800, 0}};  // in 2100
  ::utimensat(AT_FDCWD, (files.path() + "/ten.txt").c_str(), times, 0);
  const running_server web(sley::http::file_server(files.path()));
  const std::string answer = web.exchange(get("/ten.txt"));
  EXPECT_TRUE(has(answer, "\r\nLast-Modified: ")) << answer;
  EXPECT_FALSE(has(answer, " 2100 ")) << answer;
}

// ---- 9: methods ----

GO_TEST(rfc9110, head_has_the_header_of_get_and_no_body) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  const std::string head = web.exchange("HEAD /ten.txt HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(head), 200);
  EXPECT_TRUE(has(head, "\r\nContent-Length: 10\r\n")) << head;
  EXPECT_EQ(body_of(head), "");
}

GO_TEST(rfc9110, a_put_to_a_file_is_told_the_allowed_methods) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  const std::string answer = web.exchange("PUT /ten.txt HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(answer), 405);
  EXPECT_TRUE(has(answer, "\r\nAllow: GET, HEAD, OPTIONS\r\n")) << answer;
}

// ---- 13: conditions ----

GO_TEST(rfc9110, conditions_may_come_in_several_lines) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  const std::string answer = web.exchange(get("/ten.txt"));
  const std::size_t at = answer.find("\r\nETag: ") + 8;
  const std::string tag = answer.substr(at, answer.find("\r\n", at) - at);
  const auto ask = [&](const std::string& name) {
    return status_of(
        web.exchange(get("/ten.txt", name + ": \"x\"\r\n" + name + ": \"y\", " + tag + "\r\n")));
  };
  EXPECT_EQ(ask("If-None-Match"), 304);
  EXPECT_EQ(ask("If-Match"), 200);
  // W/ matters for If-Match alone.
  EXPECT_EQ(status_of(web.exchange(get("/ten.txt", "If-Match: W/" + tag + "\r\n"))), 412);
  EXPECT_EQ(status_of(web.exchange(get("/ten.txt", "If-None-Match: W/" + tag + "\r\n"))), 304);
  // The tag counts, if there is one, and not the date.
  EXPECT_EQ(status_of(web.exchange(
                get("/ten.txt", "If-Match: " + tag +
                                    "\r\nIf-Unmodified-Since: Sun, 06 Nov 1993 08:49:37 GMT\r\n"))),
            200);
  EXPECT_EQ(status_of(web.exchange(get(
                "/ten.txt", "If-None-Match: \"x\"\r\nIf-Modified-Since: "s + changed + "\r\n"))),
            200);
}

GO_TEST(rfc9110, conditions_are_ignored_where_the_answer_is_another_one) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  EXPECT_EQ(status_of(web.exchange(get("/none.txt", "If-None-Match: *\r\n"))), 404);
  EXPECT_EQ(status_of(web.exchange(get("/none.txt", "If-Match: \"x\"\r\n"))), 404);
}

GO_TEST(rfc9110, not_modified_has_the_fields_of_the_full_answer) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path(), {.cache_control = "max-age=60"}));
  const std::string answer =
      web.exchange(get("/ten.txt", "If-Modified-Since: "s + changed + "\r\n"));
  EXPECT_EQ(status_of(answer), 304);
  for (const char* name : {"ETag: \"", "Date: ", "Cache-Control: max-age=60\r\n"}) {
    EXPECT_TRUE(has(answer, "\r\n"s + name)) << answer;
  }
  EXPECT_EQ(body_of(answer), "");
}

// ---- 14: ranges ----

GO_TEST(rfc9110, ranges_are_of_get_alone) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  for (const char* range : {"bytes=0-3", "bytes=100-", "bytes=-0"}) {
    const std::string head =
        web.exchange("HEAD /ten.txt HTTP/1.1\r\nHost: a\r\nRange: "s + range + "\r\n\r\n");
    EXPECT_EQ(status_of(head), 200) << range;
    EXPECT_TRUE(has(head, "\r\nContent-Length: 10\r\n")) << head;
    EXPECT_FALSE(has(head, "Content-Range")) << head;
    EXPECT_TRUE(has(head, "\r\nAccept-Ranges: bytes\r\n")) << head;
  }
}

GO_TEST(rfc9110, ranges_of_every_size_are_understood_or_ignored) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  const auto ask = [&](const std::string& range, const std::string& more = "") {
    return web.exchange(get("/ten.txt", "Range: " + range + "\r\n" + more));
  };
  EXPECT_TRUE(has(ask("bytes=2-99999999999999999999999"), "\r\nContent-Range: bytes 2-9/10\r\n"));
  EXPECT_TRUE(has(ask("bytes=-99999999999999999999999"), "\r\nContent-Range: bytes 0-9/10\r\n"));
  EXPECT_EQ(status_of(ask("bytes=99999999999999999999999-")), 416);
  EXPECT_TRUE(has(ask("BYTES=2-3"), "\r\nContent-Range: bytes 2-3/10\r\n"));
  for (const char* none : {"bytes=+1-2", "bytes=1-+2", "bytes=1--2", "bytes=1-2x", "bytes= 1 - 2",
                           "bytes 1-2", "bytes:1-2", "bytes=", "bytes", "=1-2", "bytes=0x1-2"}) {
    const std::string answer = ask(none);
    EXPECT_EQ(status_of(answer), 200) << none;
    EXPECT_EQ(body_of(answer), "0123456789") << none;
  }
  EXPECT_EQ(status_of(ask("bytes=0-1", "Range: bytes=2-3\r\n")), 200);
}

GO_TEST(rfc9110, an_empty_file_has_no_parts) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  for (const char* range : {"bytes=0-", "bytes=0-0", "bytes=-1"}) {
    EXPECT_EQ(status_of(web.exchange(get("/empty.txt", "Range: "s + range + "\r\n"))), 200)
        << range;
  }
}

GO_TEST(rfc9110, a_part_has_the_fields_of_the_whole) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path(), {.cache_control = "max-age=60"}));
  const std::string answer = web.exchange(get("/ten.txt", "Range: bytes=1-2\r\n"));
  EXPECT_EQ(status_of(answer), 206);
  for (const char* name : {"ETag: \"", "Date: ", "Cache-Control: max-age=60\r\n",
                           "Content-Range: bytes 1-2/10\r\n", "Content-Length: 2\r\n"}) {
    EXPECT_TRUE(has(answer, "\r\n"s + name)) << answer;
  }
  EXPECT_EQ(body_of(answer), "12");
}

GO_TEST(rfc9110, if_range_holds_for_an_exact_match) {
  const ten_bytes files;
  const running_server web(sley::http::file_server(files.path()));
  const auto ask = [&](const std::string& condition) {
    return status_of(
        web.exchange(get("/ten.txt", "Range: bytes=1-2\r\nIf-Range: " + condition + "\r\n")));
  };
  const std::string answer = web.exchange(get("/ten.txt"));
  const std::size_t at = answer.find("\r\nETag: ") + 8;
  const std::string tag = answer.substr(at, answer.find("\r\n", at) - at);
  EXPECT_EQ(ask(tag), 206);
  EXPECT_EQ(ask(changed), 206);
  EXPECT_EQ(ask("W/" + tag), 200);
  EXPECT_EQ(ask("Sun, 06 Nov 1994 08:49:38 GMT"), 200);
  EXPECT_EQ(ask("nonsense"), 200);
}
