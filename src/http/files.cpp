// The file server: which file, whether the client has it already, which part of it.
#include <sley/http/files.hpp>

#include "http/content_coding.hpp"
#include "http/file_opener.hpp"
#include "http/text.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/http/error.hpp>
#include <sley/os.hpp>

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <sys/stat.h>

namespace sley::http {

namespace detail {

namespace {

// What is sent of a file.
struct part {
  std::uint64_t first = 0;
  std::uint64_t size = 0;
};

struct facts {
  std::uint64_t size;
  std::time_t modified;
  std::string etag;
};

facts facts_of(const struct stat& s) {
  facts f{static_cast<std::uint64_t>(s.st_size), s.st_mtim.tv_sec, "\""};
  append_hex(f.etag, static_cast<std::uint64_t>(s.st_mtim.tv_sec) * 1'000'000'000 +
                         static_cast<std::uint64_t>(s.st_mtim.tv_nsec));
  f.etag += '-';
  append_hex(f.etag, f.size);
  f.etag += '"';
  return f;
}

// Is the tag in the list of such a field, which may come in several lines? nullopt: there is no
// such field. `weakly`: W/ does not matter (RFC 9110, 8.8.3.2).
std::optional<bool> lists_tag(const request& in, std::string_view name, std::string_view tag,
                              bool weakly) {
  std::optional<bool> found;
  for (const fields::field& f : in.headers()) {
    if (!equals_ignoring_case(f.name, name)) continue;
    found = found.value_or(false) || any_in_list(f.value, [&](std::string_view element) {
              if (weakly && element.starts_with("W/")) element.remove_prefix(2);
              return element == "*" || element == tag;
            });
  }
  return found;
}

// 0: go on; else the status that the conditions ask for, in the order of RFC 9110, 13.2.2.
int check_conditions(const request& in, const facts& f) {
  if (const auto is_listed = lists_tag(in, "If-Match", f.etag, false)) {
    if (!*is_listed) return 412;
  } else if (const auto date = parse_date(in.header("If-Unmodified-Since"))) {
    if (f.modified > *date) return 412;
  }
  if (const auto is_listed = lists_tag(in, "If-None-Match", f.etag, true)) {
    return *is_listed ? 304 : 0;
  }
  const auto date = parse_date(in.header("If-Modified-Since"));
  return date && f.modified <= *date ? 304 : 0;
}

bool range_still_holds(const request& in, const facts& f) {
  const auto condition = in.headers().find("If-Range");
  if (!condition) return true;
  if (condition->starts_with('"')) return *condition == f.etag;
  return parse_date(*condition) == f.modified;
}

// Only digits. What is too large for any file is as good as the largest number.
std::optional<std::uint64_t> parse_position(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  return parse_decimal(text).value_or(UINT64_MAX);
}

// What a Range asks for that has a meaning here: GET alone has parts (RFC 9110, 14.2), and of an
// empty file there are none, as in Go. Empty: there is no such Range.
std::string_view range_text(const request& in, const facts& f) {
  constexpr std::string_view unit = "bytes=";
  if (in.method() != "GET" || f.size == 0) return {};
  const std::string_view text = in.header("Range");
  if (text.empty() || !equals_ignoring_case(text.substr(0, unit.size()), unit)) return {};
  if (text.find(',') != std::string_view::npos || in.headers().all("Range").size() > 1) return {};
  return range_still_holds(in, f) ? trim(text.substr(unit.size())) : std::string_view();
}

// "0-99", "100-", "-100". nullopt: there is no range that counts. A part of no bytes: none of it is
// in the file.
std::optional<part> wanted_part(const request& in, const facts& f) {
  const std::string_view text = range_text(in, f);
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_position(text.substr(0, dash));
  const auto last = parse_position(text.substr(dash + 1));
  const bool has_last = dash + 1 < text.size();
  if ((dash > 0 && !first) || (has_last && !last) || (dash == 0 && !last)) return std::nullopt;
  if (dash == 0) {
    const std::uint64_t size = std::min(*last, f.size);
    return part{f.size - size, size};
  }
  if (has_last && *last < *first) return std::nullopt;
  if (*first >= f.size) return part{};
  return part{*first, (has_last ? std::min(*last, f.size - 1) : f.size - 1) - *first + 1};
}

}  // namespace

class file_tree {
 public:
  file_tree(std::string_view root, file_options options)
      : root_(open_folder(root)), options_(std::move(options)) {
    if (std::error_code error; sley::detail::has_zero_byte(options_.index, error)) {
      throw sley::detail::failed(error, "sley: file_options::index", options_.index);
    }
  }

  void serve(const request& in, response& out) const {
    const bool is_get = in.method() == "GET" || in.method() == "HEAD";
    if (!is_get) {
      out.headers().set("Allow", "GET, HEAD, OPTIONS");
      return out.send(in.method() == "OPTIONS" ? 204 : 405);
    }
    std::string name(in.rest());
    const bool names_folder = name.empty() || name.ends_with('/');
    if (names_folder) name += options_.index;
    if (!is_admissible(name)) return out.send(404);
    struct stat status = {};
    const opened_file plain = open_below(root_, name, status);
    if (plain.error()) return refuse(plain.error(), name, out);
    if (S_ISDIR(status.st_mode) && !names_folder) return redirect_to_folder(in, out);
    if (!S_ISREG(status.st_mode)) return out.send(404);
    if (options_.precompressed) {
      out.headers().add("Vary", "Accept-Encoding");
      struct stat packed_status = {};
      const opened_file packed = prefers_gzip(in.headers())
                                     ? open_below(root_, name + ".gz", packed_status)
                                     : opened_file();
      if (S_ISREG(packed_status.st_mode)) {
        out.headers().set("Content-Encoding", "gzip");
        return serve_file(in, out, packed.get(), packed_status, name);
      }
    }
    serve_file(in, out, plain.get(), status, name);
  }

 private:
  // No way up, nothing hidden, nothing that the system would read in another way than we do.
  static bool is_admissible(std::string_view name) {
    if (name.empty() || name.find('\0') != std::string_view::npos) return false;
    for (;;) {  // ends with the name
      const std::size_t slash = name.find('/');
      const std::string_view component = name.substr(0, slash);
      if (component.empty() || component.front() == '.') return false;
      if (slash == std::string_view::npos) return true;
      name.remove_prefix(slash + 1);
    }
  }

  // 404 would be kept by caches, and tell a client that the file is gone.
  static void refuse(const std::error_code& why, const std::string& name, response& out) {
    if (why == std::errc::permission_denied) return out.send(403);
    throw std::system_error(why, "sley: open the file \"" + name + '"');
  }

  static void redirect_to_folder(const request& in, response& out) {
    std::string location(in.raw_path());
    // "//host/" would lead elsewhere.
    location.erase(0, std::min(location.find_first_not_of('/'), location.size()));
    location = '/' + location + '/';
    if (!in.query().empty()) location.append("?").append(in.query());
    out.redirect(301, location);
  }

  void serve_file(const request& in, response& out, const os::file& file, const struct stat& status,
                  std::string_view name) const {
    const facts f = facts_of(status);
    fields& headers = out.headers();
    headers.set("ETag", f.etag);
    // A clock that was wrong must not make it later than Date (RFC 9110, 8.8.2.1).
    headers.set("Last-Modified", format_date(std::min(f.modified, current_second())));
    if (!options_.cache_control.empty()) headers.set("Cache-Control", options_.cache_control);
    if (const int refused = check_conditions(in, f); refused != 0) return out.send(refused);
    headers.set("Accept-Ranges", "bytes");
    part sent{0, f.size};
    if (const auto wanted = wanted_part(in, f)) {
      if (wanted->size == 0) {
        headers.set("Content-Range", "bytes */" + std::to_string(f.size));
        return out.send(416);
      }
      sent = *wanted;
      out.set_status(206);
      headers.set("Content-Range", "bytes " + std::to_string(sent.first) + '-' +
                                       std::to_string(sent.first + sent.size - 1) + '/' +
                                       std::to_string(f.size));
    }
    headers.set("Content-Type", content_type_of(name));
    headers.set("Content-Length", sent.size);
    if (in.method() != "HEAD") send_part(out, file, sent);
  }

  static void send_part(response& out, const os::file& file, part left) {
    constexpr std::uint64_t most = 64 << 10;
    std::vector<std::byte> buffer(std::min(left.size, most));
    while (left.size > 0) {  // ends: each round sends something
      const auto room = std::span(buffer).first(std::min(left.size, most));
      const std::size_t n = file.read_at(room, left.first);
      if (n == 0) throw std::runtime_error("a file became shorter while it was sent");
      out.write(room.first(n));
      left.first += n;
      left.size -= n;
    }
  }

  const opened_folder root_;
  const file_options options_;
};

}  // namespace detail

handler file_server(std::string_view root, const file_options& options) {
  return [tree = std::make_shared<const detail::file_tree>(root, options)](
             request& in, response& out) { tree->serve(in, out); };
}

}  // namespace sley::http
