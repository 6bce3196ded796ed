#include "inspect/symbolize.hpp"

#include "base/print.hpp"
#include "inspect/elf_file.hpp"
#include "platform/symbols.hpp"
#include "runtime/inspect/goroutine_text.hpp"

#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>

namespace sley::inspect {

bool parse_place(const std::string& line, nameless_place& place) {
  constexpr std::string_view begin = "\t+0x";
  constexpr std::string_view in = " in ";
  constexpr std::string_view id_begin = " (build id ";
  if (!line.starts_with(begin)) return false;
  const char* end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + begin.size(), end, place.address, 16);
  const std::string_view text(rest, end);
  if (error != std::errc() || !text.starts_with(in)) return false;
  place.file = text.substr(in.size());
  place.build_id.clear();
  const std::size_t id = place.file.rfind(id_begin);
  if (id != std::string::npos && place.file.ends_with(')')) {
    place.build_id = place.file.substr(id + id_begin.size());
    place.build_id.pop_back();
    place.file.resize(id);
  }
  return !place.file.empty();
}

namespace {

std::string build_id_of(const std::string& file) {
  const auto elf = elf_file::open(file);
  base::line_writer digits;
  if (elf != nullptr) digits.bytes(elf->build_id());
  return std::string(digits.view());
}

// The names in one file, at the addresses that the file has.
class file_names final : public platform::symbol_source {
 public:
  explicit file_names(const std::string& path) : symbols_(path.c_str(), 0) {}

  bool knows(std::uintptr_t pc) const {
    return symbols_.describe(pc, [](void*, const platform::frame_name&) {}, nullptr);
  }
  void describe(std::uintptr_t pc, platform::frame_visitor visit,
                void* arg) const noexcept override {
    symbols_.describe(pc, visit, arg);
  }
  platform::object_name name_of_object(std::uintptr_t address) const noexcept override {
    return symbols_.name_of_object(address);
  }
  void for_each_code(void (*)(void*, const platform::loaded_code&), void*) const noexcept override {
  }

 private:
  platform::file_symbols symbols_;
};

class symbolizer {
 public:
  symbolizer(int fd, const std::vector<std::string>& files) : fd_(fd) {
    for (const std::string& f : files) files_[build_id_of(f)] = f;
  }

  // Two lines of a frame or creator: the first one has "??" for a name. False: nothing is known.
  bool print(const std::string& head, const nameless_place& place) {
    constexpr std::string_view creator = "created by ??";
    constexpr std::string_view in = " in goroutine ";
    const std::uintptr_t pc = place.address + 1;
    const file_names* names = names_for(place);
    if (names == nullptr || !names->knows(pc)) return false;
    rt::goroutine_printer printer(fd_, true, *names);
    if (head == "??") {
      printer.print_frames(std::span(&pc, 1));
      return true;
    }
    if (!head.starts_with(creator)) return false;
    rt::goroutine_view view;
    view.created_at = pc;
    const std::string rest = head.substr(creator.size());
    if (rest.starts_with(in))
      view.created_by = std::strtoull(rest.c_str() + in.size(), nullptr, 10);
    printer.print_creator(view);
    return true;
  }

 private:
  const file_names* names_for(const nameless_place& place) {
    const auto same = files_.find(place.build_id);
    const bool is_given = !place.build_id.empty() && same != files_.end();
    const std::string path = is_given ? same->second : place.file;
    auto& names = names_[path + '\0' + place.build_id];
    if (names == nullptr && (is_given || build_id_of(path) == place.build_id)) {
      if (elf_file::open(path) != nullptr) names = std::make_unique<file_names>(path);
    }
    return names.get();
  }

  int fd_;
  std::map<std::string, std::string> files_;  // by build id
  std::map<std::string, std::unique_ptr<file_names>> names_;
};

}  // namespace

void symbolize(std::istream& dump, int fd, const std::vector<std::string>& files) {
  symbolizer names(fd, files);
  std::string held;  // the line before
  bool is_held = false;
  const auto put = [fd](const std::string& line) { base::write_all(fd, line + '\n'); };
  for (std::string line; std::getline(dump, line);) {
    nameless_place place;
    if (is_held && parse_place(line, place) && names.print(held, place)) {
      is_held = false;
      continue;
    }
    if (is_held) put(held);
    held = line;
    is_held = true;
  }
  if (is_held) put(held);
}

}  // namespace sley::inspect
