// From Go's net/http/pprof.
#include "http/pprof_pages.hpp"

#include "http/gzip.hpp"
#include "http/scratch_file.hpp"

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
<li><a href="goroutineleak">goroutineleak</a>: goroutines that can never go on; looking for them
stops the program for a moment; <a href="goroutineleak?debug=1">taken together</a>,
<a href="goroutineleak?debug=2">one by one</a>
<li><a href="profile">profile</a>: where the CPU time goes, for 30 seconds from now on;
<a href="profile?seconds=5">for 5</a>
<li><a href="wall">wall</a>: where goroutines spend their time, whether they compute or wait, for 30
seconds from now on; <a href="wall?seconds=5">for 5</a>
<li><a href="block">block</a>: where goroutines have waited for others, if the program has
switched it on by <code>debug::set_block_profile_rate</code>; <a href="block?debug=1">as text</a>,
<a href="block?seconds=5">for 5 seconds</a> from now on
<li><a href="mutex">mutex</a>: where holders of locks have kept others waiting, if the program has
switched it on by <code>debug::set_mutex_profile_fraction</code>;
<a href="mutex?debug=1">as text</a>, <a href="mutex?seconds=5">for 5 seconds</a> from now on
<li><a href="threadblock">threadblock</a>: where goroutines have put their threads to sleep without
an announcement, and where they were preempted, if the program has switched it on by
<code>debug::set_thread_block_profile</code>;
<a href="threadblock?debug=1">as text</a>, <a href="threadblock?seconds=5">for 5 seconds</a> from
now on
<li><a href="trace">trace</a>: which goroutine runs where and when, for a second from now on;
<a href="trace?seconds=5">for 5</a>; for <a href="https://ui.perfetto.dev">Perfetto</a>
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

unsigned seconds_in(const http::request& in, unsigned otherwise, unsigned most = 24 * 3600) {
  const unsigned seconds = number_in(in, "seconds", otherwise);
  if (seconds == 0 || seconds > most) throw http::status_error(400);
  return seconds;
}

// What comes in some seconds. That has no text, as in Go.
void show_delta(http::request& in, http::response& out, std::string_view name, profile_kind kind) {
  if (number_in(in, "debug", 0) != 0) throw http::status_error(400);
  constexpr unsigned usual_seconds = 30;
  const std::chrono::seconds duration(seconds_in(in, usual_seconds));
  std::error_code has_gone;
  std::string message = delta_profile(kind, duration, in.context(), has_gone);
  if (!has_gone) send_file(out, name, std::move(message));
}

void show_kind(http::request& in, http::response& out, std::string_view name, profile_kind kind) {
  if (kind == profile_kind::wall || in.query_parameters().contains("seconds")) {
    show_delta(in, out, name, kind);
  } else if (number_in(in, "debug", 0) != 0) {
    out.send(200, plain, profile_text(kind));
  } else {
    send_file(out, name, profile(kind));
  }
}

// pprof prints the text of such an answer.
void refuse(http::response& out, int status, std::string_view why) {
  out.headers().set("X-Go-Pprof", "1");
  out.send(status, plain, why);
}

// A search that the system refuses says why.
void show_leaks(http::request& in, http::response& out, std::string_view name) {
  try {
    if (number_in(in, "debug", 0) < 2)
      return show_kind(in, out, name, profile_kind::goroutine_leak);
    out.send(200, plain, goroutines_text(leaks()));
  } catch (const std::system_error& impossible) {
    refuse(out, 500, impossible.what());
  }
}

struct cpu_recorder {
  explicit cpu_recorder(const http::request&) {}

  static constexpr unsigned usual_seconds = 30;
  static constexpr unsigned most_seconds = 24 * 3600;

  static std::string_view file_name() { return "profile"; }
  static void start() { cpu_profile::start(); }
  static std::string stop() { return cpu_profile::stop(); }
};

class trace_recorder {
 public:
  explicit trace_recorder(const http::request& in) : format_(format_in(in)) {}

  static constexpr unsigned usual_seconds = 1;
  static constexpr unsigned most_seconds = 60;  // the file is in memory

  std::string_view file_name() const {
    return format_ == trace::format::json ? "trace.json" : "trace.pftrace";
  }
  void start() { trace::start(file_.path(), format_); }
  std::string stop() {
    trace::stop();
    return file_.text();
  }

 private:
  static trace::format format_in(const http::request& in) {
    const auto& all = in.query_parameters();
    const std::string_view name = all.contains("format") ? all.get("format") : "json";
    if (name != "json" && name != "perfetto") throw http::status_error(400);
    return name == "json" ? trace::format::json : trace::format::perfetto;
  }

  trace::format format_;
  scratch_file file_;
};

// A recorder that is on until the handler's end.
template <class Recorder>
class recording {
 public:
  explicit recording(const http::request& in) : recorder_(in) { recorder_.start(); }
  ~recording() {
    if (!is_on_) return;
    try {
      recorder_.stop();
    } catch (const std::exception&) {  // the client that wanted it has gone
    }
  }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  std::string_view file_name() const { return recorder_.file_name(); }
  std::string stop() {
    is_on_ = false;
    return recorder_.stop();
  }

 private:
  Recorder recorder_;
  bool is_on_ = true;
};

// What the recorder sees in the next seconds.
template <class Recorder>
void show_recorded(http::request& in, http::response& out) {
  const unsigned seconds = seconds_in(in, Recorder::usual_seconds, Recorder::most_seconds);
  std::optional<recording<Recorder>> r;
  try {
    r.emplace(in);
  } catch (const std::logic_error& another_is_on) {
    return refuse(out, 409, another_is_on.what());
  } catch (const std::system_error& impossible) {
    return refuse(out, 500, impossible.what());
  }
  std::error_code has_gone;
  this_goroutine::sleep_for(std::chrono::seconds(seconds), in.context(), has_gone);
  if (!has_gone) send_file(out, r->file_name(), r->stop());
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
  } else if (page == "goroutineleak") {
    show_leaks(in, out, page);
  } else if (page == "threadcreate") {
    show_kind(in, out, page, profile_kind::thread_create);
  } else if (page == "block") {
    show_kind(in, out, page, profile_kind::block);
  } else if (page == "mutex") {
    show_kind(in, out, page, profile_kind::mutex);
  } else if (page == "threadblock") {
    show_kind(in, out, page, profile_kind::thread_block);
  } else if (page == "wall") {
    show_kind(in, out, page, profile_kind::wall);
  } else if (page == "profile") {
    show_recorded<cpu_recorder>(in, out);
  } else if (page == "trace") {
    show_recorded<trace_recorder>(in, out);
  } else if (page == "cmdline") {
    show_arguments(out);
  } else if (page == "symbol") {
    show_symbols(in, out);
  } else {
    throw http::status_error(404);
  }
}

}  // namespace sley::debug
