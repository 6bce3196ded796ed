#include "commands.hpp"

#include <cctype>
#include <charconv>
#include <functional>
#include <limits>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

namespace {

// Whether all of the text is a number.
template <class Number>
bool parse(std::string_view text, Number& n) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  return stop == end && error == std::errc();
}

// The number in "*3" or "$5".
std::size_t size_in(std::string_view line, char kind, std::size_t most) {
  std::size_t n = 0;
  if (line.starts_with(kind) && parse(line.substr(1), n) && n <= most) return n;
  throw protocol_error(std::string("Protocol error: expected '") + kind + "' and a size");
}

std::string integer(long long n) { return ":" + std::to_string(n) + "\r\n"; }

std::string error(std::string_view text) { return "-ERR " + std::string(text) + "\r\n"; }

std::string bulk(std::string_view text) {
  std::string answer = "$" + std::to_string(text.size()) + "\r\n";
  return answer.append(text).append("\r\n");
}

}  // namespace

bool read_command(sley::buffered_reader& in, words& command) {
  std::string line;
  if (!in.read_line(line)) return false;
  command.resize(line.empty() ? 0 : size_in(line, '*', 1024));
  for (std::string& word : command) {
    in.read_line(line);
    in.read_exactly(size_in(line, '$', 64 << 20) + 2, word);
    word.resize(word.size() - 2);  // without its "\r\n"
  }
  return true;
}

std::string store::answer(words& w) {
  std::string& name = w[0];
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name == "GET" && w.size() == 2) return get(w[1]);
  if (name == "SET" && w.size() == 3) return set(w[1], std::move(w[2]));
  if (name == "DEL" && w.size() >= 2) return erase(w);
  if (name == "INCR" && w.size() == 2) return increment(w[1]);
  if (name == "PING") return w.size() == 1 ? "+PONG\r\n" : bulk(w[1]);
  if (name == "COMMAND") return "*0\r\n";  // clients ask which commands there are
  return error("unknown command or wrong number of arguments");
}

store::locked store::open(const std::string& key) {
  part& p = parts_[std::hash<std::string>{}(key) % parts_.size()];
  return {std::unique_lock(p.lock), p.values};
}

std::string store::get(const std::string& key) {
  const auto [lock, values] = open(key);
  const auto found = values.find(key);
  return found == values.end() ? "$-1\r\n" : bulk(found->second);
}

std::string store::set(const std::string& key, std::string value) {
  const auto [lock, values] = open(key);
  values[key] = std::move(value);
  return "+OK\r\n";
}

std::string store::erase(const words& w) {
  long long count = 0;
  for (std::size_t i = 1; i < w.size(); ++i) count += open(w[i]).values.erase(w[i]) != 0;
  return integer(count);
}

std::string store::increment(const std::string& key) {
  const auto [lock, values] = open(key);
  std::string& value = values.try_emplace(key, "0").first->second;
  long long n = 0;
  if (!parse(value, n) || n == std::numeric_limits<long long>::max()) {
    return error("value is not an integer or out of range");
  }
  value = std::to_string(n + 1);
  return integer(n + 1);
}
