#include "inspect/records.hpp"

#include <set>
#include <string>
#include <utility>

namespace sley::inspect {

namespace {

// Never freed.
std::string_view kept_text(std::string text) {
  static std::set<std::string> texts;
  return *texts.insert(std::move(text)).first;
}

}  // namespace

layout_of::layout_of(const target& from, std::uint64_t address) {
  constexpr std::size_t fixed = offsetof(rt::layout, status_texts);
  const rt::layout own{};
  if (!from.read(address, static_cast<void*>(&head_), fixed) ||
      std::memcmp(head_.magic, own.magic, sizeof head_.magic) != 0) {
    throw failure("sley's layout can't be read");
  }
  if (head_.version != own.version) {
    throw failure("the program has version " + std::to_string(head_.version) +
                  " of sley's layout, and this sley-inspect knows version " +
                  std::to_string(own.version));
  }
  std::uint64_t at = address + fixed;
  read_texts(from, at, head_.status_count, statuses_);
  read_texts(from, at, head_.wait_count, waits_);
}

void layout_of::read_texts(const target& from, std::uint64_t& at, std::uint64_t count,
                           std::vector<std::string_view>& to) const {
  constexpr std::uint64_t most = 1000;
  if (count > most || head_.text_bytes > most) throw failure("sley's layout is damaged");
  std::string text(head_.text_bytes, '\0');
  for (; count != 0; --count, at += text.size()) {
    if (!from.read(at, text.data(), text.size())) throw failure("sley's layout can't be read");
    to.push_back(kept_text(text.substr(0, text.find('\0'))));
  }
}

}  // namespace sley::inspect
