#include "http/content_coding.hpp"

#include "http/text.hpp"

#include <optional>
#include <string_view>

namespace sley::http::detail {

namespace {

// In thousandths, as it has three digits at most (RFC 9110, 12.4.2). Without one it is 1; one that
// is none counts as 0.
int weight_of(std::string_view parameters) noexcept {
  constexpr int most = 1000;
  while (!parameters.empty()) {
    const std::size_t semicolon = parameters.find(';');
    const std::string_view p = trim(parameters.substr(0, semicolon));
    parameters.remove_prefix(semicolon == std::string_view::npos ? parameters.size()
                                                                 : semicolon + 1);
    if (p.size() < 2 || small(p[0]) != 'q' || p[1] != '=') continue;
    const std::string_view q = p.substr(2);
    if (q.empty() || q.size() > 5 || (q.size() > 1 && q[1] != '.')) return 0;
    int weight = 0;
    int unit = most;
    for (const char c : q) {
      if (c == '.') continue;
      if (c < '0' || c > '9') return 0;
      weight += (c - '0') * unit;
      unit /= 10;
    }
    return weight <= most ? weight : 0;
  }
  return most;
}

}  // namespace

bool prefers_gzip(const fields& headers) noexcept {
  std::optional<int> gzip, identity, any;
  for (const fields::field& f : headers) {
    if (!equals_ignoring_case(f.name, "Accept-Encoding")) continue;
    any_in_list(f.value, [&](std::string_view element) {
      const std::size_t end = element.find(';');
      const std::string_view coding = trim(element.substr(0, end));
      const int weight =
          weight_of(end == std::string_view::npos ? std::string_view() : element.substr(end + 1));
      if (equals_ignoring_case(coding, "gzip") || equals_ignoring_case(coding, "x-gzip")) {
        gzip = weight;
      } else if (equals_ignoring_case(coding, "identity")) {
        identity = weight;
      } else if (coding == "*") {
        any = weight;
      }
      return false;
    });
  }
  // A client that does not name identity takes it, but prefers the codings that it names.
  const int for_gzip = gzip.value_or(any.value_or(0));
  return for_gzip > 0 && for_gzip >= identity.value_or(0);
}

}  // namespace sley::http::detail
