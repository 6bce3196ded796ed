// Static files: what is served, what of it, and that nothing else ever is.
#include "support/temporary_folder.hpp"
#include "support/web.hpp"

#include <sley/os.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using sley::http::file_options;
using sley_test::body_of;
using sley_test::get;
using sley_test::has;
using sley_test::running_server;
using sley_test::status_of;

namespace {

namespace fs = std::filesystem;

// A folder with a few files, and one beside it that no client must see.
class folders {
 public:
  folders() {
    fs::create_directories(root() / "sub" / "empty");
    fs::create_directory(root() / ".hidden");
    write("secret", "secret");
    write("root/index.html", "<p>index</p>");
    write("root/a.txt", "0123456789");
    write("root/with space.txt", "space");
    write("root/sub/index.html", "sub index");
    write("root/.hidden/file", "hidden");
    write("root/packed.js", "plain");
    write("root/packed.js.gz", "packed");
    fs::create_symlink("a.txt", root() / "link_inside");
    fs::create_symlink("../secret", root() / "link_outside");
    fs::create_symlink("/etc/passwd", root() / "link_absolute");
    fs::create_symlink("..", root() / "link_up");
    ::mkfifo((root() / "pipe").c_str(), 0600);
  }

  fs::path root() const { return top_ / "root"; }
  void write(const char* name, std::string_view text) const {
    std::ofstream(top_ / name, std::ios::binary) << text;
  }

 private:
  sley_test::temporary_folder top_;
};

std::string header_of(std::string_view answer, std::string_view name) {
  const std::size_t at = answer.find("\r\n" + std::string(name) + ": ");
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + 4 + name.size();
  return std::string(answer.substr(begin, answer.find("\r\n", begin) - begin));
}

}  // namespace

GO_TEST(files, are_served) {
  const folders f;
  sley::http::router r;
  r.get("/{path...}", sley::http::file_server(f.root().string()));
  r.get("/static/{path...}", sley::http::file_server((f.root() / "sub").string()));
  const running_server web(r);
  const std::string a = web.exchange(get("/a.txt"));
  EXPECT_EQ(status_of(a), 200);
  EXPECT_EQ(body_of(a), "0123456789");
  EXPECT_EQ(header_of(a, "Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(header_of(a, "Content-Length"), "10");
  EXPECT_NE(header_of(a, "ETag"), "");
  EXPECT_NE(header_of(a, "Last-Modified"), "");
  EXPECT_EQ(body_of(web.exchange(get("/"))), "<p>index</p>");
  EXPECT_EQ(body_of(web.exchange(get("/with%20space.txt"))), "space");
  EXPECT_EQ(body_of(web.exchange(get("/link_inside"))), "0123456789");
  EXPECT_EQ(body_of(web.exchange(get("/sub/"))), "sub index");
  EXPECT_EQ(body_of(web.exchange(get("/static/index.html"))), "sub index");
  const std::string folder = web.exchange(get("/sub?x"));
  EXPECT_EQ(status_of(folder), 301);
  EXPECT_EQ(header_of(folder, "Location"), "/sub/?x");
  const std::string head = web.exchange("HEAD /a.txt HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(header_of(head, "Content-Length"), "10");
  EXPECT_EQ(body_of(head), "");
}

// An answer that caches keep would be wrong when there is room again.
GO_TEST(files, without_descriptors_a_file_is_not_missing) {
  if (sley_test::under_asan) GTEST_SKIP() << "the sanitizer needs descriptors for its checks";
  const folders f;
  std::atomic<int> reported{0};
  const running_server web(sley::http::file_server(f.root().string(), {.precompressed = true}),
                           {.on_error = [&](const sley::http::request* in, std::exception_ptr) {
                             EXPECT_NE(in, nullptr);
                             ++reported;
                           }});
  const auto s = web.connect();
  const auto ask = [&](std::string_view target) {
    s.write_all(sley_test::bytes_of(get(target)));
    const std::string head = sley_test::read_head(s);
    sley_test::read_exactly(s, std::stoul(header_of(head, "Content-Length")));
    return status_of(head);
  };
  EXPECT_EQ(ask("/a.txt"), 200);
  rlimit before = {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none = {0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const int full = ask("/a.txt");
  const int full_for_a_folder = ask("/sub");
  const int full_for_nothing = ask("/none");
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(full, 503);
  EXPECT_EQ(full_for_a_folder, 503);
  EXPECT_TRUE(full_for_nothing == 404 || full_for_nothing == 503) << full_for_nothing;
  EXPECT_GE(reported, 2);
  EXPECT_EQ(ask("/a.txt"), 200);
}

GO_TEST(files, an_unreadable_file_is_forbidden) {
  const folders f;
  f.write("root/private.txt", "private");
  f.write("root/sub/private.js", "plain");
  f.write("root/sub/private.js.gz", "packed");
  fs::create_directory(f.root() / "locked");
  f.write("root/locked/a.txt", "locked");
  for (const char* name : {"private.txt", "sub/private.js.gz", "locked"}) {
    fs::permissions(f.root() / name, fs::perms::none);
  }
  const running_server web(sley::http::file_server(f.root().string(), {.precompressed = true}));
  const bool is_root = ::geteuid() == 0;
  constexpr uid_t stranger = 65'534;
  if (is_root) {
    ASSERT_EQ(::seteuid(stranger), 0);
  }
  const std::string file = web.exchange(get("/private.txt"));
  const std::string folder = web.exchange(get("/locked/a.txt"));
  const std::string packed = web.exchange(get("/sub/private.js", "Accept-Encoding: gzip\r\n"));
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(f.root() / "locked", fs::perms::owner_all);
  EXPECT_EQ(status_of(file), 403);
  EXPECT_EQ(status_of(folder), 403);
  EXPECT_EQ(status_of(packed), 200);  // the plain one may be read
  EXPECT_EQ(body_of(packed), "plain");
}

GO_TEST(files, nothing_outside_the_folder_is_served) {
  const folders f;
  const running_server web(sley::http::file_server(f.root().string()));
  for (const char* target : {
           "/../secret",
           "/sub/../../secret",
           "/%2e%2e/secret",
           "/..%2fsecret",
           "/sub%2f..%2f..%2fsecret",
           "/%2e%2e%2fsecret",
           "//secret",
           "/./a.txt",
           "/sub//index.html",
           "/%2fetc/passwd",
           "//etc/passwd",
           "/a.txt%00.html",
           "/%00",
           "/link_outside",
           "/link_absolute",
           "/link_up/secret",
           "/.hidden/file",
           "/pipe",
           "/sub/empty/",
           "/a.txt/",
           "/none",
       }) {
    const std::string answer = web.exchange(get(target));
    EXPECT_EQ(status_of(answer), 404) << target << "\n" << answer;
    EXPECT_FALSE(has(answer, "secret")) << target;
  }
  EXPECT_EQ(status_of(web.exchange("POST /a.txt HTTP/1.1\r\nHost: x\r\n\r\n")), 405);
  EXPECT_THROW(sley::http::file_server("/there/is/no/such/folder"), std::system_error);
}

GO_TEST(files, conditions) {
  const folders f;
  const running_server web(sley::http::file_server(f.root().string()));
  const auto ask = [&](std::string_view lines) { return web.exchange(get("/a.txt", lines)); };
  const std::string first = ask("");
  const std::string tag = header_of(first, "ETag");
  const std::string date = header_of(first, "Last-Modified");
  const std::string old = "Sun, 06 Nov 1994 08:49:37 GMT";

  const std::string not_modified = ask("If-None-Match: \"x\", W/" + tag + "\r\n");
  EXPECT_EQ(status_of(not_modified), 304);
  EXPECT_EQ(body_of(not_modified), "");
  EXPECT_EQ(header_of(not_modified, "ETag"), tag);
  EXPECT_EQ(status_of(ask("If-None-Match: *\r\n")), 304);
  EXPECT_EQ(status_of(ask("If-None-Match: \"x\"\r\n")), 200);
  EXPECT_EQ(status_of(ask("If-Modified-Since: " + date + "\r\n")), 304);
  EXPECT_EQ(status_of(ask("If-Modified-Since: " + old + "\r\n")), 200);
  EXPECT_EQ(status_of(ask("If-Modified-Since: nonsense\r\n")), 200);
  EXPECT_EQ(status_of(ask("If-None-Match: \"x\"\r\nIf-Modified-Since: " + date + "\r\n")), 200);
  EXPECT_EQ(status_of(ask("If-Match: " + tag + "\r\n")), 200);
  EXPECT_EQ(status_of(ask("If-Match: \"x\"\r\n")), 412);
  EXPECT_EQ(status_of(ask("If-Unmodified-Since: " + old + "\r\n")), 412);
  EXPECT_EQ(status_of(ask("If-Unmodified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n")), 412);
  EXPECT_EQ(status_of(ask("If-Unmodified-Since: Sun Nov  6 08:49:37 1994\r\n")), 412);
}

GO_TEST(files, ranges) {
  const folders f;
  const running_server web(sley::http::file_server(f.root().string()));
  const auto ask = [&](std::string_view range, std::string_view more = "") {
    return web.exchange(get("/a.txt", "Range: " + std::string(range) + "\r\n" + std::string(more)));
  };
  struct expected {
    const char* range;
    int status;
    const char* body;
    const char* content_range;
  };
  for (const expected& e : {
           expected{"bytes=0-3", 206, "0123", "bytes 0-3/10"},
           expected{"bytes=4-", 206, "456789", "bytes 4-9/10"},
           expected{"bytes=-3", 206, "789", "bytes 7-9/10"},
           expected{"bytes=-30", 206, "0123456789", "bytes 0-9/10"},
           expected{"bytes=8-100", 206, "89", "bytes 8-9/10"},
           expected{"bytes=10-", 416, "Range Not Satisfiable", "bytes */10"},
           expected{"bytes=-0", 416, "Range Not Satisfiable", "bytes */10"},
           expected{"bytes=3-2", 200, "0123456789", ""},
           expected{"bytes=a-b", 200, "0123456789", ""},
           expected{"bytes=-", 200, "0123456789", ""},
           expected{"bytes=0-1,3-4", 200, "0123456789", ""},
           expected{"pages=0-1", 200, "0123456789", ""},
       }) {
    const std::string answer = ask(e.range);
    EXPECT_EQ(status_of(answer), e.status) << e.range;
    EXPECT_EQ(body_of(answer), e.body) << e.range;
    EXPECT_EQ(header_of(answer, "Content-Range"), e.content_range) << e.range;
  }
  const std::string tag = header_of(web.exchange(get("/a.txt")), "ETag");
  EXPECT_EQ(status_of(ask("bytes=0-1", "If-Range: " + tag + "\r\n")), 206);
  EXPECT_EQ(status_of(ask("bytes=0-1", "If-Range: \"other\"\r\n")), 200);
  EXPECT_EQ(status_of(ask("bytes=0-1", "If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n")), 200);
}

GO_TEST(files, a_packed_file_goes_to_clients_that_accept_it) {
  const folders f;
  file_options options;
  options.precompressed = true;
  options.cache_control = "max-age=60";
  const running_server web(sley::http::file_server(f.root().string(), options));
  const std::string packed = web.exchange(get("/packed.js", "Accept-Encoding: br, GZip\r\n"));
  EXPECT_EQ(body_of(packed), "packed");
  EXPECT_EQ(header_of(packed, "Content-Encoding"), "gzip");
  EXPECT_EQ(header_of(packed, "Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(header_of(packed, "Vary"), "Accept-Encoding");
  EXPECT_EQ(header_of(packed, "Cache-Control"), "max-age=60");
  EXPECT_EQ(body_of(web.exchange(get("/packed.js"))), "plain");
  EXPECT_EQ(body_of(web.exchange(get("/packed.js", "Accept-Encoding: gzip;q=0\r\n"))), "plain");
  EXPECT_EQ(body_of(web.exchange(get("/a.txt", "Accept-Encoding: gzip\r\n"))), "0123456789");
}

GO_TEST(files, large_ones) {
  const folders f;
  std::string large(300'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 11) large[i] = static_cast<char>('a' + i % 26);
  f.write("root/large", large);
  const running_server web(sley::http::file_server(f.root().string()));
  EXPECT_TRUE(body_of(web.exchange(get("/large"))) == large);
  EXPECT_TRUE(body_of(web.exchange(get("/large", "Range: bytes=1000-200000\r\n"))) ==
              large.substr(1000, 199'001));
}

// A route that makes a path of what it was asked for.
GO_TEST(files, a_path_made_of_a_parameter_ends_at_no_zero_byte) {
  const folders f;
  f.write("root/.secret", "secret");
  sley::http::router r;
  r.get("/doc/{name}", [&](sley::http::request& in, sley::http::response& out) {
    const std::string path = f.root().string() + '/' + std::string(in.param("name")) + ".txt";
    std::error_code error;
    const auto file = sley::os::file::open(path, O_RDONLY, error);
    out.send(error == std::errc::invalid_argument ? 400 : error ? 404 : 200);
  });
  const running_server web(r);
  EXPECT_EQ(status_of(web.exchange(get("/doc/a"))), 200);
  EXPECT_EQ(status_of(web.exchange(get("/doc/.secret%00"))), 400);
  EXPECT_EQ(status_of(web.exchange(get("/doc/a.txt%00.png"))), 400);
}

GO_TEST(files, settings_with_a_zero_byte_are_refused) {
  const folders f;
  const auto expect_refused = [](const std::string& root, const file_options& options) {
    try {
      sley::http::file_server(root, options);
      ADD_FAILURE() << "not refused";
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::invalid_argument);
      EXPECT_NE(std::string(e.what()).find("with a zero byte at position"), std::string::npos)
          << e.what();
    }
  };
  expect_refused(f.root().string() + std::string("\0x", 2), {});
  expect_refused(f.root().string(), {.index = std::string("index.html\0x", 12)});
  sley::http::router r;
  r.get("/{path...}", sley::http::file_server(f.root().string()));
  const running_server web(r);
  EXPECT_EQ(status_of(web.exchange(get("/a.txt%00"))), 404);
  EXPECT_EQ(status_of(web.exchange(get("/a.txt%00.html"))), 404);
}
