// URLs and their parts. RFC 3986.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/needs_http.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley::http {

// "%41" becomes "A"; nullopt for a '%' without two hexadecimal digits. With `plus_is_space` also
// "+" becomes " ", as in forms and queries.
SLEY_API std::optional<std::string> percent_decode(std::string_view text,
                                                   bool plus_is_space = false);
// Leaves letters, digits and "-._~" alone; '/' becomes "%2F".
SLEY_API std::string percent_encode(std::string_view text);

// The parameters of a query or of a form: "a=1&b=x+y". Names are compared exactly.
class SLEY_API parameters {
 public:
  using value_type = std::pair<std::string, std::string>;  // name and value

  // Parts that can't be decoded are left out.
  static parameters parse(std::string_view text);

  std::string_view get(std::string_view name) const noexcept;  // the first; empty if there is none
  bool contains(std::string_view name) const noexcept;         // whether there is one
  std::vector<std::string_view> all(std::string_view name) const;  // the values of all
  void add(std::string_view name, std::string_view value);         // one more
  std::string to_string() const;                                   // encoded

  // All of them, in their order.
  std::size_t size() const noexcept { return pairs_.size(); }
  bool empty() const noexcept { return pairs_.empty(); }
  auto begin() const noexcept { return pairs_.begin(); }
  auto end() const noexcept { return pairs_.end(); }

 private:
  std::vector<value_type> pairs_;
};

// "http://host:80/path?query", "http://[fe80::1%25eth0]/" (RFC 6874). A value; user information is
// refused, a fragment dropped.
struct SLEY_API url {
  std::string scheme;      // in small letters
  std::string host;        // in small letters, without the brackets of IPv6: "fe80::1%eth0"
  std::uint16_t port = 0;  // that of the scheme if the text names none
  // What a request names: path and query, "/" if empty. Characters that a URL can't have, as those
  // outside of ASCII, are encoded; spaces and controls are refused.
  std::string target;

  // Throws std::invalid_argument that names the text.
  static url parse(std::string_view text);
  static std::optional<url> try_parse(std::string_view text);  // nullopt instead
  // What a reference means on a page of this URL: "/path", "../other", "?query", "//host/",
  // "http://host/" (RFC 3986, 5.2). nullopt if it is none.
  std::optional<url> resolve(std::string_view reference) const;
  std::string host_port() const;    // to connect to: "host:80", "[::1]:80"
  std::string host_header() const;  // without the scheme's own port, and without a zone
  std::string to_string() const;    // all of it
};

}  // namespace sley::http
