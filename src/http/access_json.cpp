// The access log as one object of JSON for each request.
#include <sley/detail/json_text.hpp>
#include <sley/http/server.hpp>

#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

namespace sley::http {

namespace {

// A member that is a text; the ones before it are there.
void append_member(std::string& to, std::string_view name, std::string_view text) {
  to.append(",\"").append(name).append("\":");
  sley::detail::append_json_text(to, text);
}
void append_member(std::string& to, std::string_view name, std::uint64_t number) {
  to.append(",\"").append(name).append("\":").append(std::to_string(number));
}

std::uint64_t whole_us(std::chrono::nanoseconds t) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(t);
  return static_cast<std::uint64_t>(us.count());
}

// RFC 3339, UTC: "2026-11-25T22:26:05.123456Z".
std::string time_text(std::chrono::system_clock::time_point when) {
  const auto second = std::chrono::floor<std::chrono::seconds>(when);
  const std::time_t t = std::chrono::system_clock::to_time_t(second);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(when - second).count();
  std::tm utc = {};
  ::gmtime_r(&t, &utc);
  char text[64];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + n, sizeof text - n, ".%06dZ", static_cast<int>(us));
  return text;
}

}  // namespace

std::string to_json(const access_record& r) {
  std::string line = "{\"time\":\"" + time_text(r.time) + '"';
  append_member(line, "remote", r.remote.to_string());
  append_member(line, "method", r.method);
  append_member(line, "target", r.target);
  append_member(line, "status", static_cast<std::uint64_t>(r.status));
  append_member(line, "bytes", r.body_bytes);
  append_member(line, "duration_us", whole_us(r.duration));
  append_member(line, "first_byte_us", whole_us(r.time_to_first_byte));
  if (!r.traceparent.empty()) append_member(line, "traceparent", r.traceparent);
  if (r.cut_by) append_member(line, "cut", r.cut_by.message());
  return line += '}';
}

}  // namespace sley::http
