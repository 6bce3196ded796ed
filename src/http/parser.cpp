// Boost.Beast's basic_parser knows the grammar. What it lets through and others read in another
// way, so that a request could be smuggled past one of them, is refused here on top of it: a
// repeated Content-Length, codings besides "chunked", Content-Length with chunks, either of them in
// HTTP/1.0. What it refuses though a client must take it is put right before: status lines without
// a phrase or with one in any language, and fields that go on in the next line.
#include "http/parser.hpp"

#include "http/text.hpp"

#include <sley/http/error.hpp>

// The library has Beast under another name than a program: their versions may differ, and the
// linker keeps one of two functions of the same name. src/http/CMakeLists.txt makes the folder of
// this name, for headers that Boost includes by a macro.
#define boost sley_boost
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace sley::http::detail {

namespace beast = boost::beast;
using beast_error = beast::error_code;

namespace {

std::string_view std_view(beast::string_view text) noexcept { return {text.data(), text.size()}; }

// The answers to all callbacks of which a sink wants only some.
template <bool IsRequest>
class basic_sink : public beast::http::basic_parser<IsRequest> {
 protected:
  void on_request_impl(beast::http::verb, beast::string_view, beast::string_view, int,
                       beast_error&) override {}
  void on_response_impl(int, beast::string_view, int, beast_error&) override {}
  void on_header_impl(beast_error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, beast_error&) override {}
  std::size_t on_body_impl(beast::string_view, beast_error&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, beast_error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, beast_error&) override {
    return 0;
  }
  void on_finish_impl(beast_error&) override {}
};

// The reader limits the sizes before this sees anything.
template <class Parser>
void lift_limits(Parser& parser) {
  parser.header_limit(UINT32_MAX);
  parser.body_limit(UINT64_MAX);  // with none, some versions of Beast take no body at all
}

boost::asio::const_buffer buffer_of(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

}  // namespace

// ---- heads ----

// What requests and responses have in common: how the end of the body is told.
template <bool IsRequest>
class head_sink : public basic_sink<IsRequest> {
 protected:
  explicit head_sink(framing& found) : found_(found) { lift_limits(*this); }

  void refuse(int status, beast_error& error) {
    refused_with_ = status;
    error = beast::http::error::bad_value;
  }

  void on_framing(beast::http::field name, std::string_view value, beast_error& error) {
    if (name == beast::http::field::content_length) on_length(value, error);
    if (name == beast::http::field::transfer_encoding) on_coding(value, error);
    if (name == beast::http::field::connection) on_connection(value);
  }

  // Beast overlooks "close" beside "keep-alive" in HTTP/1.0; it has the last word (RFC 9112, 9.3).
  bool keeps_alive() const { return this->keep_alive() && !says_close_; }

  // 0, or what the framing is refused with once all fields are known. The end of the body is
  // uncertain where Beast has another opinion of it, and without "chunked" as the last coding
  // (RFC 9112, 6.3). In front of that there may be codings that sley has not.
  int check_framing() const {
    if (has_coding_ && !found_.is_chunked) return 400;
    const bool agrees = found_.is_chunked == this->chunked() &&
                        found_.length.has_value() == bool(this->content_length());
    if (!agrees) return 400;
    return has_strange_coding_ ? 501 : 0;
  }

  framing& found_;
  int version_ = 0;
  int refused_with_ = 0;

 private:
  void on_length(std::string_view value, beast_error& error) {
    const auto length = parse_decimal(value);
    if (!length || found_.length || has_coding_) return refuse(400, error);
    found_.length = length;
  }

  void on_coding(std::string_view value, beast_error& error) {
    has_coding_ = true;
    bool is_good = !found_.length && version_ >= 11;
    any_in_list(value, [&](std::string_view coding) {
      if (found_.is_chunked) is_good = false;  // it must be the last one
      found_.is_chunked = equals_ignoring_case(coding, "chunked");
      if (!found_.is_chunked) has_strange_coding_ = true;
      return false;
    });
    if (!is_good) refuse(400, error);
  }

  void on_connection(std::string_view value) {
    says_close_ = says_close_ || any_in_list(value, [](std::string_view option) {
                    return equals_ignoring_case(option, "close");
                  });
  }

  bool has_coding_ = false;
  bool has_strange_coding_ = false;
  bool says_close_ = false;
};

class request_sink final : public head_sink<true> {
 public:
  request_sink(request_builder& into, framing& found, std::size_t max_target_bytes)
      : head_sink(found), into_(into), max_target_bytes_(max_target_bytes) {}

  int parse(std::string_view head) {
    beast_error error;
    put(buffer_of(head), error);
    if (error == beast::http::error::bad_version) return status_of_bad_version(head);
    if (refused_with_ == 0 && (error || !is_header_done())) refused_with_ = 400;
    if (refused_with_ == 0) refused_with_ = finish();
    return refused_with_;
  }

 private:
  // "HTTP/2.0" is a version, if not one of ours; "HTTX/1.1" and "HTTP/1.10" are nothing.
  static int status_of_bad_version(std::string_view head) {
    const std::string_view line = head.substr(0, head.find('\r'));
    const std::string_view version = line.substr(line.rfind(' ') + 1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool is_version = std::count(line.begin(), line.end(), ' ') == 2 && version.size() == 8 &&
                            version.starts_with("HTTP/") && is_digit(version[5]) &&
                            version[6] == '.' && is_digit(version[7]);
    return is_version ? 505 : 400;
  }

  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                       int version, beast_error& error) override {
    version_ = version;
    int status = target.size() > max_target_bytes_ ? 414 : 0;
    if (status == 0) status = into_.set_start_line(std_view(method), std_view(target), version);
    if (status != 0) refuse(status, error);
  }

  void on_field_impl(beast::http::field name, beast::string_view name_text,
                     beast::string_view value_text, beast_error& error) override {
    const std::string_view value = std_view(value_text);
    into_.add_field(std_view(name_text), value);
    if (name == beast::http::field::expect) return on_expect(value, error);
    on_framing(name, value, error);
  }

  void on_expect(std::string_view value, beast_error& error) {
    if (!equals_ignoring_case(value, "100-continue")) return refuse(417, error);
    found_.expects_continue = version_ >= 11;
  }

  int finish() {
    found_.keeps_alive = keeps_alive();
    const int refused = check_framing();
    return refused != 0 ? refused : into_.finish();
  }

  request_builder& into_;
  const std::size_t max_target_bytes_;
};

int parse_request_head(std::string_view head, std::size_t max_target_bytes, request_builder& into,
                       framing& found) {
  into.clear();
  found = {};
  return request_sink(into, found, max_target_bytes).parse(head);
}

class response_sink final : public head_sink<false> {
 public:
  response_sink(bool answers_head, response_head& into) : head_sink(into.body), into_(into) {
    skip(answers_head);  // without this a HEAD's answer of no length would seem to need the end
  }

  bool parse(std::string_view head) {
    beast_error error;
    put(buffer_of(head), error);
    if (error || !is_header_done() || into_.status < 100) return false;
    found_.keeps_alive = keeps_alive();
    return check_framing() == 0;
  }

 private:
  void on_response_impl(int status, beast::string_view, int version, beast_error&) override {
    into_.status = status;
    into_.version = version_ = version;
  }

  void on_field_impl(beast::http::field name, beast::string_view name_text,
                     beast::string_view value_text, beast_error& error) override {
    into_.headers.add_valid(std_view(name_text), std_view(value_text));
    on_framing(name, std_view(value_text), error);
  }

  response_head& into_;
};

namespace {

// What stands behind the status code of a status line, with its space; nullopt: it is no such line,
// or that can't stand there (RFC 9112, 4: tabs, and bytes of any character set, can).
std::optional<std::string_view> phrase_of(std::string_view status_line) {
  constexpr std::size_t end_of_code = 12;  // "HTTP/1.1 200"
  if (status_line.size() < end_of_code) return std::nullopt;
  const std::string_view phrase = status_line.substr(end_of_code);
  const bool is_good = phrase.empty() || (phrase.front() == ' ' && is_field_value(phrase));
  return is_good ? std::optional(phrase) : std::nullopt;
}

// Does Beast take it as it is? Usually it does.
bool is_plain(std::string_view head, std::string_view phrase) noexcept {
  const auto is_printable = [](char c) { return c >= ' ' && c < 0x7f; };
  return !phrase.empty() && std::ranges::all_of(phrase, is_printable) &&
         head.find("\r\n ") == std::string_view::npos &&
         head.find("\r\n\t") == std::string_view::npos;
}

// Without the phrase, of which nothing depends, and with spaces where a field went on in the next
// line (RFC 9112, 5.2).
std::string plain_head(std::string_view head, std::size_t phrase_at, std::size_t phrase_size) {
  std::string text(head.substr(0, phrase_at));
  text += ' ';
  text += head.substr(phrase_at + phrase_size);
  for (std::size_t at = text.find("\r\n"); at + 2 < text.size(); at = text.find("\r\n", at + 1)) {
    if (text[at + 2] == ' ' || text[at + 2] == '\t') text[at] = text[at + 1] = ' ';
  }
  return text;
}

}  // namespace

bool parse_response_head(std::string_view head, bool answers_head, response_head& into) {
  into = {};
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const auto phrase = phrase_of(line);
  if (!phrase) return false;
  if (is_plain(head, *phrase)) return response_sink(answers_head, into).parse(head);
  const std::string plain = plain_head(head, line.size() - phrase->size(), phrase->size());
  return response_sink(answers_head, into).parse(plain);
}

// ---- chunks ----

class chunk_decoder::sink final : public basic_sink<true> {
 public:
  sink() {
    lift_limits(*this);
    eager(true);
    beast_error error;
    put(buffer_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), error);
    is_in_trailers_ = true;
  }

  progress decode(std::string_view input, std::span<std::byte> output, std::error_code& error) {
    output_ = output;
    progress p;
    // The last chunk, and no other before it: Beast remembers having seen it, and asserts when it
    // looks again that there are two bytes more at least.
    if (!has_chunks_ && input == "0\r\n") return p;
    beast_error problem;
    while (!is_broken_ && !is_done() && p.consumed < input.size()) {  // ends: consumes or breaks
      const std::size_t n = put(buffer_of(input.substr(p.consumed)), problem);
      p.consumed += n;
      if (problem || n == 0) break;
    }
    if (problem && problem != beast::http::error::need_more &&
        problem != beast::http::error::need_buffer) {
      is_broken_ = true;
    }
    p.produced = output.size() - output_.size();
    if (is_broken_ && p.produced == 0) error = errc::malformed;
    p.is_done = is_done();
    return p;
  }

  const fields& trailers() const noexcept { return trailers_; }

 private:
  // Some take a line feed within an extension for the end of its line.
  void on_chunk_header_impl(std::uint64_t, beast::string_view extensions,
                            beast_error& error) override {
    has_chunks_ = true;
    if (!is_field_value(std_view(extensions))) error = beast::http::error::bad_chunk_extension;
  }

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body,
                                 beast_error& error) override {
    const std::size_t n = std::min(body.size(), output_.size());
    if (n > 0) std::memcpy(output_.data(), body.data(), n);
    output_ = output_.subspan(n);
    if (n < body.size()) error = beast::http::error::need_buffer;
    return n;
  }

  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                     beast_error&) override {
    if (is_in_trailers_) trailers_.add_valid(std_view(name), std_view(value));
  }

  std::span<std::byte> output_;
  fields trailers_;
  bool is_broken_ = false;
  bool has_chunks_ = false;
  bool is_in_trailers_ = false;  // not in the head that puts the parser into its state
};

chunk_decoder::chunk_decoder() : sink_(std::make_unique<sink>()) {}
chunk_decoder::~chunk_decoder() = default;
chunk_decoder::chunk_decoder(chunk_decoder&&) noexcept = default;
chunk_decoder& chunk_decoder::operator=(chunk_decoder&&) noexcept = default;

chunk_decoder::progress chunk_decoder::decode(std::string_view input, std::span<std::byte> output,
                                              std::error_code& error) {
  return sink_->decode(input, output, error);
}

const fields& chunk_decoder::trailers() const noexcept { return sink_->trailers(); }

}  // namespace sley::http::detail
