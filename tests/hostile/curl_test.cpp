// Hostile arguments of <sley/curl.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"

#include <sley/curl.hpp>

#include <string>

#define SLEY_HOSTILE_HEADER hostile_curl

namespace curl = sley::curl;

CALLS(error, "curl::error::error(error_code code, string_view said)") {
  throw curl::error(curl::make_error_code(CURLE_COULDNT_CONNECT), x.text("Connection refused"));
}
CALLS(collect, "curl::collect(easy e, string body)") {
  std::string body = x.string("before");
  const std::size_t before = body.size();
  curl::client client;
  curl::easy e;
  curl::collect(e, body);
  curl_easy_setopt(e.get(), CURLOPT_URL, "file:///proc/self/stat");
  client.perform(e);
  EXPECT_GT(body.size(), before);
}
