// libcurl: transfers of a page that is late, each task with a handle and a connection of its own.
#include "ways.hpp"

#include <sley/curl.hpp>

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <string>

namespace bench {

namespace {

constexpr const char* late = "late";

struct free_by_libcurl {
  void operator()(CURL* c) const noexcept { curl_easy_cleanup(c); }
};

std::size_t append(char* bytes, std::size_t, std::size_t size, void* body) {
  static_cast<std::string*>(body)->append(bytes, size);
  return size;
}

}  // namespace

outcome curl_waits_in_goroutines(const char* server, const load& what) {
  sley::curl::client client;
  return timed(what.total(), [&] {
    in_goroutines(what.tasks, [&] {
      std::string body;
      sley::curl::easy e;
      sley::curl::collect(e, body);
      curl_easy_setopt(e.get(), CURLOPT_URL, server);
      for (int i = 0; i < what.rounds; ++i) {
        body.clear();
        client.perform(e);
        check(body == late, "the page");
      }
    });
  });
}

outcome curl_waits_in_threads(const char* server, const load& what) {
  check(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "libcurl");
  return timed(what.total(), [&] {
    in_threads(what.tasks, [&] {
      std::string body;
      const std::unique_ptr<CURL, free_by_libcurl> e(curl_easy_init());
      curl_easy_setopt(e.get(), CURLOPT_URL, server);
      curl_easy_setopt(e.get(), CURLOPT_NOSIGNAL, 1L);
      curl_easy_setopt(e.get(), CURLOPT_WRITEFUNCTION, &append);
      curl_easy_setopt(e.get(), CURLOPT_WRITEDATA, &body);
      for (int i = 0; i < what.rounds; ++i) {
        body.clear();
        check(curl_easy_perform(e.get()) == CURLE_OK && body == late, "the page");
      }
    });
  });
}

}  // namespace bench
