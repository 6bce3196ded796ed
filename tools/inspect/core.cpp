// A core: memory that it lacks, because it was as in the file, is read from the file.
#include "inspect/note.hpp"
#include "inspect/target.hpp"
#include "platform/unwind/own_process.hpp"

#include <sys/procfs.h>
#include <sys/user.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

namespace sley::inspect {

namespace {

class core final : public target {
 public:
  core(const std::string& path, std::shared_ptr<const elf_file> file) : file_(std::move(file)) {
    std::vector<file_mapping> mappings;
    for (const ElfW(Phdr) & s : file_->segments()) {
      if (s.p_type != PT_NOTE) continue;
      for_each_note(file_->contents(s), s.p_align, [&](auto type, std::string_view, auto note) {
        if (type == NT_PRSTATUS) add_thread(note);
        if (type == NT_FILE) add_files(note, mappings);
      });
    }
    set_modules(mappings);
    if (mappings.empty()) throw failure(path + " does not say which files were loaded");
    for (const module& m : modules()) look_whether_same(m);
  }

  bool read(std::span<const memory_part> parts) const override {
    return std::ranges::all_of(parts, [this](const memory_part& p) { return read_part(p); });
  }

  std::optional<platform::frame_registers> registers_of(int thread_id) const override {
    const auto found = threads_.find(thread_id);
    if (found == threads_.end()) return std::nullopt;
    return found->second;
  }

  bool is_asleep(int) const override { return false; }
  std::optional<thread_sleep> sleep_of(int) const override { return std::nullopt; }
  bool is_running() const noexcept override { return false; }

 private:
  bool read_part(const memory_part& p) const {
    if (file_->read(p.address, p.to, p.size)) return true;
    const module* m = module_of(p.address);
    return m != nullptr && m->elf->read(p.address - m->bias, p.to, p.size);
  }

  void add_thread(std::span<const std::byte> note) {
    prstatus_t status;
    if (note.size() < sizeof status) return;
    std::memcpy(&status, note.data(), sizeof status);
    threads_[status.pr_pid] = platform::registers_in_core(status.pr_reg);
  }

  // The number of mappings, the page size, the mappings as three words each (begin, end, offset in
  // pages), and then their paths.
  static void add_files(std::span<const std::byte> note, std::vector<file_mapping>& to) {
    const auto word = [&note](std::size_t i) {
      std::uint64_t value = 0;
      if (note.size() / sizeof value > i) {
        std::memcpy(&value, note.data() + i * sizeof value, sizeof value);
      }
      return value;
    };
    const std::uint64_t count = word(0);
    if (count > note.size() / 24 || note.size() < (2 + 3 * count) * 8) return;
    std::string_view paths(reinterpret_cast<const char*>(note.data()), note.size());
    paths.remove_prefix((2 + 3 * count) * 8);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string path(paths.substr(0, paths.find('\0')));
      paths.remove_prefix(std::min(path.size() + 1, paths.size()));
      const std::size_t at = 2 + 3 * i;
      to.push_back({word(at), word(at + 1), word(at + 2) * word(1), path, path});
    }
  }

  // Kernels put the first page of a file into the core, in which its build id is.
  void look_whether_same(const module& m) const {
    for (const ElfW(Phdr) & s : m.elf->segments()) {
      const auto now = m.elf->contents(s);
      std::vector<std::byte> then(now.size());
      if (s.p_type != PT_NOTE || !file_->read(m.bias + s.p_vaddr, then.data(), then.size()))
        continue;
      if (!std::ranges::equal(now, then)) {
        throw failure(m.file + " is not the file that the core is of");
      }
    }
  }

  std::shared_ptr<const elf_file> file_;
  std::map<int, platform::frame_registers> threads_;
};

}  // namespace

std::unique_ptr<target> open_core(const std::string& path) {
  std::shared_ptr<const elf_file> file = elf_file::open(path);
  if (file == nullptr || !file->is_core()) throw failure(path + " is neither a process nor a core");
  return std::make_unique<core>(path, std::move(file));
}

}  // namespace sley::inspect
