// Crawler: follows the links of a web site, each page in a goroutine of its own, a few at a time.
//
//   crawler URL [DEPTH]          DEPTH links from the first page at most, 3 unless given
//
// A page's goroutine starts the goroutines of the pages that it links to; the wait group knows when
// the last one has ended. The client bounds how many connections the server sees. Ctrl-C ends the
// context, and with it all requests.
#include <sley/http.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
namespace http = sley::http;

// What stands in href="..." on the page.
std::vector<std::string> links_of(std::string_view page) {
  constexpr std::string_view mark = "href=\"";
  std::vector<std::string> links;
  for (auto at = page.find(mark); at != std::string_view::npos; at = page.find(mark, at)) {
    at += mark.size();
    links.emplace_back(page.substr(at, page.find('"', at) - at));
  }
  return links;
}

class crawler {
 public:
  crawler(http::url start, const sley::context& ctx) : start_(std::move(start)), ctx_(ctx) {}

  // Returns how many pages there were.
  std::size_t crawl(int depth) {
    visit(start_, depth);
    pages_.wait();
    return seen_.size();
  }

 private:
  // Every page once, and no other site's.
  void visit(const http::url& page, int depth) {
    if (page.host_port() != start_.host_port() || page.scheme != start_.scheme) return;
    {
      const std::lock_guard guard(lock_);
      if (!seen_.insert(page.to_string()).second) return;
    }
    pages_.go([this, page, depth] { fetch(page, depth); });
  }

  void fetch(const http::url& page, int depth) {
    try {
      http::client_response answer = client_.get(page.to_string(), ctx_);
      const std::string text = answer.read_all();
      std::printf("%d %s %zu bytes\n", answer.status(), page.target.c_str(), text.size());
      if (depth == 0 || !answer.header("Content-Type").starts_with("text/html")) return;
      for (const std::string& link : links_of(text)) {
        if (const auto next = answer.url().resolve(link)) visit(*next, depth - 1);
      }
    } catch (const std::exception& e) {  // this page is lost, and the others go on
      if (!ctx_.error()) std::printf("%s\n", e.what());
    }
  }

  const http::url start_;
  const sley::context ctx_;
  http::client client_{{.body_bytes = 4 << 20,
                        .connections_per_host = 8,
                        .header_timeout = 10s,
                        .read_timeout = 10s}};
  sley::wait_group pages_;
  sley::mutex lock_;
  std::set<std::string> seen_;
};

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: crawler URL [DEPTH]\n", stderr);
    return 2;
  }
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    crawler site(http::url::parse(argv[1]), ctx);
    const std::size_t pages = site.crawl(argc > 2 ? std::atoi(argv[2]) : 3);
    std::printf("%zu pages%s\n", pages, ctx.error() ? ", and then it was told to end" : "");
    cancel();
  });
}
