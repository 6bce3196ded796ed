#include "debug/trace_writer.hpp"

#include "base/print.hpp"
#include "platform/symbols.hpp"
#include "runtime/inspect/goroutine_text.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/detail/escape.hpp>
#include <sley/detail/refused.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <unordered_map>

namespace sley::debug::trace {

namespace {

[[noreturn]] void throw_error(const char* what, const std::string& path) {
  throw sley::detail::failed({errno, std::system_category()}, what, path);
}

}  // namespace

std::string shown(std::string_view text) {
  std::string result;
  sley::detail::escape(text, [&result](std::string_view piece) { result += piece; });
  return result;
}

std::string title(const traced_goroutine& g) {
  const std::string_view between = g.name.empty() ? "" : ", ";
  return shown(g.name).append(between) + "goroutine " + std::to_string(g.id);
}

trace_file::trace_file(const std::string& path) : path_(path) {
  std::error_code error;
  if (sley::detail::has_zero_byte(path, error)) errno = error.value();
  if (!error) out_.reset(std::fopen(path.c_str(), "we"));
  if (out_ == nullptr) throw_error("sley::debug::trace: can't make", path);
}

trace_file& trace_file::text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out_.get());
  return *this;
}

trace_file& trace_file::number(std::uint64_t n) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
  return text({digits.data(), end});
}

trace_file& trace_file::us(std::int64_t ns) {
  constexpr unsigned per_us = 1'000;
  const auto positive = static_cast<std::uint64_t>(ns < 0 ? 0 : ns);
  const auto rest = static_cast<unsigned>(positive % per_us);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  return number(positive / per_us).text({decimals, sizeof decimals});
}

trace_file& trace_file::in_quotes(std::string_view shown) {
  text("\"");
  for (std::size_t size; !shown.empty(); shown.remove_prefix(size)) {
    size = std::min(shown.find_first_of("\"\\"), shown.size());
    if (size == 0) text("\\");
    size = std::max(size, std::size_t{1});
    text(shown.substr(0, size));
  }
  return text("\"");
}

void trace_file::complete() {
  const bool is_written = std::fflush(out_.get()) == 0 && std::ferror(out_.get()) == 0;
  if (std::fclose(out_.release()) != 0 || !is_written) {
    throw_error("sley::debug::trace: can't write all of", path_);
  }
}

struct start_places::names {
  static void keep(void* arg, const platform::frame_name& frame) {
    auto& name = *static_cast<std::string*>(arg);
    if (!name.empty() || !rt::is_creator(frame)) return;
    if (frame.function.empty() && frame.line == 0) {
      base::line_writer address;
      rt::append_address(address, frame);
      name = address.view();
      return;
    }
    std::array<char, 1024> buffer;
    name = platform::demangle(frame.function, buffer, true);
    if (frame.line == 0) return;
    name += " at ";
    name += frame.file;
    name += ':';
    name += std::to_string(frame.line);
  }

  std::unordered_map<const void*, std::string> of;
};

start_places::start_places() : names_(std::make_unique<names>()) {}
start_places::~start_places() = default;

const std::string& start_places::operator[](const void* pc) {
  const auto [at, is_new] = names_->of.try_emplace(pc);
  if (is_new && pc != nullptr) {
    platform::describe(reinterpret_cast<std::uintptr_t>(pc), &names::keep, &at->second);
  }
  return at->second;
}

}  // namespace sley::debug::trace
