// Whatever a client asks the file server for, with whatever conditions and ranges: it gets bytes of
// the files below the folder, exactly those that the head of the answer tells of, or an error. Run
// by `./dev fuzz http_files SECONDS`. The input: a target and lines of a head, with a zero byte
// between them.
#include "expect.hpp"
#include "http/text.hpp"
#include "support/memory_connection.hpp"

#include <sley/http.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace {

namespace fs = std::filesystem;
using sley_fuzz::expect;

constexpr std::string_view secret = "NOT FOR CLIENTS";
constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

// A folder with three files, and beside it what is not to be served.
std::string make_folder() {
  char name[] = "/tmp/sley_fuzz_XXXXXX";
  expect(::mkdtemp(name) != nullptr, "there is a folder for files");
  const fs::path top = name;
  fs::create_directories(top / "root/sub");
  const auto write = [&](const char* path, std::string_view text) {
    std::ofstream(top / path) << text;
  };
  write("secret", secret);
  write("root/.hidden", secret);
  write("root/a.txt", alphabet);
  write("root/empty", "");
  write("root/sub/index.html", alphabet);
  fs::create_symlink("../secret", top / "root/link");
  static const struct remover {
    fs::path folder;
    ~remover() { fs::remove_all(folder); }
  } at_end{top};
  return (top / "root").string();
}

std::string_view value_of(std::string_view head, std::string_view name) {
  const std::string line = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(line);
  if (at == std::string_view::npos) return {};
  head.remove_prefix(at + line.size());
  return head.substr(0, head.find("\r\n"));
}

// "bytes 3-5/36" of the alphabet.
std::optional<std::string_view> part_of(std::string_view range) {
  if (!range.starts_with("bytes ") || !range.ends_with("/36")) return std::nullopt;
  range = range.substr(6, range.size() - 9);
  const std::size_t dash = std::min(range.find('-'), range.size() - 1);
  const auto first = sley::http::detail::parse_decimal(range.substr(0, dash));
  const auto last = sley::http::detail::parse_decimal(range.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= alphabet.size()) return std::nullopt;
  return alphabet.substr(*first, *last - *first + 1);
}

void check_answer(std::string_view answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  expect(end != std::string_view::npos && answer.starts_with("HTTP/1.1 "), "it is one", answer);
  const std::string_view head = answer.substr(0, end);
  const std::string_view body = answer.substr(end + 4);
  const std::string_view status = answer.substr(9, 3);
  if (status == "200" && !head.starts_with("HTTP/1.1 200 OK")) std::abort();
  if (status == "200") expect(body == alphabet || body.empty(), "it is the whole file", answer);
  if (status == "206") {
    expect(part_of(value_of(head, "Content-Range")) == body, "it is the part that it says", answer);
  }
  if (status == "304" || status == "412")
    expect(body.empty() || status == "412", "no body", answer);
  if (status == "416")
    expect(value_of(head, "Content-Range").starts_with("bytes */"), "416", answer);
  const std::string_view length = value_of(head, "Content-Length");
  expect(
      status == "304" || length.empty() || sley::http::detail::parse_decimal(length) == body.size(),
      "the length is that of the body", answer);
  if (status == "301") expect(value_of(head, "Location").starts_with('/'), "301 stays", answer);
}

std::string serve(std::string_view target, std::string_view lines, std::size_t piece) {
  static sley::http::server server(
      sley::http::file_server(make_folder()),
      {.on_error = [](const sley::http::request*, std::exception_ptr) {}});
  std::string request = "GET ";
  request.append(target).append(" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
  request.append(lines).append("\r\n\r\n");
  return sley_test::answers_of(server, request, piece);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sley_fuzz::parts input(data, size);
  const std::string_view target = input.next();
  const std::string_view lines = input.rest();
  // One request with no body: what comes behind a head is the other fuzzers' matter.
  if (target.find_first_of(" \r\n") != std::string_view::npos) return 0;
  if (lines.find("\n\r") != std::string_view::npos ||
      lines.find("\n\n") != std::string_view::npos) {
    return 0;
  }
  const std::string answer = serve(target, lines, SIZE_MAX);
  expect(answer.find(secret) == std::string::npos, "nothing outside of the folder", answer);
  check_answer(answer);
  sley_fuzz::expect_same(answer, serve(target, lines, 7), 7);
  return 0;
}
