// From Go's net/http/pprof.
#include "http/pprof_pages.hpp"

#include "http/gzip.hpp"

#include <sley/context.hpp>
#include <sley/debug.hpp>
#include <sley/http/body.hpp>
#include <sley/http/error.hpp>
#include <sley/http/url.hpp>
#include <sley/os.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace sley::debug {

namespace {

constexpr std::string_view plain = "text/plain; charset=utf-8";

constexpr std::string_view index_page = R"(<!doctype html>
<title>sley: profiles</title>
<h1>Profiles</h1>
<p>For <code>go tool pprof</code>, by the address of the link; or to read.
<ul>
<li><a href="goroutine">goroutine</a>: the stacks of all goroutines;
<a href="goroutine?debug=1">taken together</a>, <a href="goroutine?debug=2">one by one</a>
<li><a href="profile">profile</a>: where the CPU time goes, for 30 seconds from now on;
<a href="profile?seconds=5">for 5</a>
<li><a href="block">block</a>: where goroutines have waited for others, if the program has
switched it on by <code>debug::set_block_profile_rate</code>; <a href="block?debug=1">as text</a>,
<a href="block?seconds=5">for 5 seconds</a> from now on
<li><a href="mutex">mutex</a>: where holders of locks have kept others waiting, if the program has
switched it on by <code>debug::set_mutex_profile_fraction</code>;
<a href="mutex?debug=1">as text</a>, <a href="mutex?seconds=5">for 5 seconds</a> from now on
<li><a href="threadcreate">threadcreate</a>: the runtime's threads;
<a href="threadcreate?debug=1">as text</a>
<li><a href="cmdline">cmdline</a>: the arguments of the program
</ul>
)";

// A whole number of a parameter; `otherwise` if it is not there.
unsigned number_in(const http::request& in, std::string_view name, unsigned otherwise) {
  const http::parameters& query = in.query_parameters();
  if (!query.contains(name)) return otherwise;
  const std::string_view text = query.get(name);
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end) throw http::status_error(400);
  return value;
}

// Readers take a profile that is not packed as well.
std::string packed(std::string message) {
  if (!http::detail::has_gzip()) return message;
  constexpr int fastest = 1;
  std::string result;
  http::detail::gzip_packer packer(fastest);
  packer.pack(message, http::detail::gzip_packer::then::end, result);
  return result;
}

void send_file(http::response& out, std::string_view name, std::string message) {
  out.headers().set("X-Content-Type-Options", "nosniff");
  out.headers().set("Content-Disposition", "attachment; filename=\"" + std::string(name) + '"');
  out.send(200, "application/octet-stream", packed(std::move(message)));
}

void show_kind(http::request& in, http::response& out, std::string_view name, profile_kind kind) {
  if (number_in(in, "debug", 0) != 0) {
    out.send(200, plain, profile_text(kind));
  } else {
    send_file(out, name, profile(kind));
  }
}

unsigned seconds_in(const http::request& in, unsigned otherwise) {
  constexpr unsigned most = 24 * 3600;
  const unsigned seconds = number_in(in, "seconds", otherwise);
  if (seconds == 0 || seconds > most) throw http::status_error(400);
  return seconds;
}

// With `seconds`, what comes in that time. That has no text, as in Go.
void show_waits(http::request& in, http::response& out, std::string_view name, profile_kind kind) {
  if (!in.query_parameters().contains("seconds")) return show_kind(in, out, name, kind);
  if (number_in(in, "debug", 0) != 0) throw http::status_error(400);
  const std::chrono::seconds duration(seconds_in(in, 0));
  std::error_code has_gone;
  std::string message = delta_profile(kind, duration, in.context(), has_gone);
  if (!has_gone) send_file(out, name, std::move(message));
}

// A profile that is on until the handler's end.
class running_profile {
 public:
  running_profile() { cpu_profile::start(); }
  ~running_profile() {
    if (is_on_) cpu_profile::stop();
  }
  running_profile(const running_profile&) = delete;
  running_profile& operator=(const running_profile&) = delete;

  std::string stop() {
    is_on_ = false;
    return cpu_profile::stop();
  }

 private:
  bool is_on_ = true;
};

// pprof prints the text of such an answer.
void refuse(http::response& out, int status, std::string_view why) {
  out.headers().set("X-Go-Pprof", "1");
  out.send(status, plain, why);
}

void show_cpu(http::request& in, http::response& out) {
  constexpr unsigned usual = 30;
  const unsigned seconds = seconds_in(in, usual);
  const context& client = in.context();
  std::optional<running_profile> p;
  try {
    p.emplace();
  } catch (const std::logic_error& another_is_on) {
    return refuse(out, 409, another_is_on.what());
  } catch (const std::system_error& impossible) {
    return refuse(out, 500, impossible.what());
  }
  std::error_code has_gone;
  this_goroutine::sleep_for(std::chrono::seconds(seconds), client, has_gone);
  if (!has_gone) send_file(out, "profile", p->stop());
}

// With zero bytes between the arguments, as Go has it.
void show_arguments(http::response& out) {
  std::string text = os::read_file("/proc/self/cmdline");
  if (text.ends_with('\0')) text.pop_back();
  out.send(200, plain, text);
}

// Addresses with '+' between them, in the query or in the body, get a line each: "0x401136 main".
// A reader asks for some only if it is told first that there are names.
void show_symbols(http::request& in, http::response& out) {
  constexpr std::size_t most_bytes = 1 << 20;
  const std::string body = in.method() == "POST" ? in.body().read_all(most_bytes)  //
                                                 : std::string(in.query());
  std::string text = "num_symbols: 1\n";
  for (std::string_view left = body; !left.empty();) {  // ends: each round takes some of it
    const std::size_t size = left.find('+');
    std::string_view digits = left.substr(0, size);
    left.remove_prefix(size == std::string_view::npos ? left.size() : size + 1);
    const std::string shown(digits);
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    std::uintptr_t address = 0;
    const char* end = digits.data() + digits.size();
    constexpr int hexadecimal = 16;
    const auto [last, error] = std::from_chars(digits.data(), end, address, hexadecimal);
    if (error != std::errc() || last != end) continue;
    const std::string name = function_name(address);
    if (!name.empty()) text += shown + ' ' + name + '\n';
  }
  out.send(200, plain, text);
}

}  // namespace

bool takes_body(std::string_view page) noexcept { return page == "symbol"; }

void show_pprof(http::request& in, http::response& out, std::string_view page) {
  if (page.empty()) {
    out.send(200, "text/html; charset=utf-8", index_page);
  } else if (page == "goroutine") {
    show_kind(in, out, page, profile_kind::goroutine);
  } else if (page == "threadcreate") {
    show_kind(in, out, page, profile_kind::thread_create);
  } else if (page == "block") {
    show_waits(in, out, page, profile_kind::block);
  } else if (page == "mutex") {
    show_waits(in, out, page, profile_kind::mutex);
  } else if (page == "profile") {
    show_cpu(in, out);
  } else if (page == "cmdline") {
    show_arguments(out);
  } else if (page == "symbol") {
    show_symbols(in, out);
  } else {
    throw http::status_error(404);
  }
}

}  // namespace sley::debug
