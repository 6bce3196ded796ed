#include "http/error_line.hpp"

#include "http/text.hpp"

#include <sley/detail/escape.hpp>
#include <sley/http/server.hpp>
#include <sley/log.hpp>

#include <string>

namespace sley::http {

namespace detail {

namespace {

void append_escaped(std::string& to, std::string_view text) {
  sley::detail::escape(text, [&to](std::string_view piece) { to.append(piece); });
}

}  // namespace

void print_error(std::string_view text) {
  std::string line = "sley: http: ";
  append_escaped(line, text);
  line += '\n';
  sley::detail::log_line(line);
}

}  // namespace detail

std::string to_line(const access_record& r) {
  std::string line = r.remote.to_string() + " \"";
  if (r.version == 0) line += '-';
  if (r.version != 0) {
    detail::append_escaped(line, r.method);
    line += ' ';
    detail::append_escaped(line, r.target);
  }
  line += "\" " + std::to_string(r.status) + ' ' + std::to_string(r.body_bytes);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(r.duration).count();
  std::string fraction = std::to_string(us % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  line += ' ' + std::to_string(us / 1000) + '.' + fraction + " ms";
  if (r.cut_by) {
    line += " cut: ";
    detail::append_escaped(line, r.cut_by.message());
  }
  return line;
}

}  // namespace sley::http
