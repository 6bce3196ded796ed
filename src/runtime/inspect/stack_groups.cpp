
#include "runtime/inspect/stack_groups.hpp"

#include "platform/os.hpp"
#include "runtime/state/label_set.hpp"

#include <algorithm>
#include <tuple>

namespace sley::rt {

namespace {

std::size_t whole_pages(std::size_t bytes) noexcept {
  const std::size_t page = platform::page_bytes();
  return (bytes + page - 1) / page * page;
}

std::uint64_t hash_of(std::span<const std::uintptr_t> frames) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  std::uint64_t hash = frames.size();
  for (const std::uintptr_t frame : frames) hash = (hash ^ frame) * odd;
  return hash >> 32;
}

auto key_of(const goroutine_view& g) noexcept {
  return std::make_tuple(g.state, g.minutes, g.is_locked, g.has_thread, g.created_by, g.created_at,
                         g.name());
}

}  // namespace

stack_groups::stack_groups(std::size_t goroutines) noexcept
    : bytes_(whole_pages(most_groups * sizeof(group) + goroutines * sizeof(kept_goroutine))),
      memory_(static_cast<std::byte*>(platform::map_memory(bytes_, true))),
      most_kept_(goroutines) {
  if (memory_ == nullptr) return;
  // Zeroed memory is a table of free places.
  groups_ = reinterpret_cast<group*>(memory_);
  kept_ = reinterpret_cast<kept_goroutine*>(memory_ + most_groups * sizeof(group));
}

stack_groups::~stack_groups() {
  if (memory_ != nullptr) platform::unmap_memory(memory_, bytes_);
}

bool stack_groups::group::is_of(const goroutine_view& g,
                                std::span<const std::uintptr_t> of) const noexcept {
  return std::ranges::equal(stack(), of) && key_of(first) == key_of(g) &&
         are_equal(first.labels, g.labels);
}

stack_groups::group* stack_groups::find(const goroutine_view& g,
                                        std::span<const std::uintptr_t> frames) noexcept {
  const std::size_t start = hash_of(frames);
  for (std::size_t i = 0; i < most_groups; ++i) {
    group* at = groups_ + (start + i) % most_groups;
    if (at->shown == 0) {
      at->first = g;
      at->frame_count = frames.size();
      std::ranges::copy(frames, at->frames);
      return at;
    }
    if (at->is_of(g, frames)) return at;
  }
  return nullptr;
}

bool stack_groups::shows(const goroutine_view& g, std::span<const std::uintptr_t> frames) noexcept {
  group* of = memory_ == nullptr || kept_count_ == most_kept_ ? nullptr : find(g, frames);
  if (of == nullptr) return true;
  if (of->shown < shown_of_each) {
    ++of->shown;
    return true;
  }
  if (of->kept++ == 0) of->first.waits_for = g.waits_for;
  if (of->first.waits_for != g.waits_for) of->first.waits_for = {};
  kept_[kept_count_++] = {static_cast<std::size_t>(of - groups_), g.id};
  return false;
}

namespace {

// "\tgoroutines 7-9, 12" with as many lines as it takes.
class id_list {
 public:
  explicit id_list(int fd) noexcept : fd_(fd) { line_.text("\tgoroutines "); }

  void add(std::uint64_t first, std::uint64_t last) noexcept {
    constexpr std::size_t long_enough = 80;
    if (!is_first_) line_.text(line_.view().size() < long_enough ? ", " : ",\n\t");
    if (line_.view().size() >= long_enough) line_.flush(fd_);
    is_first_ = false;
    line_.dec(first);
    if (last != first) line_.text("-").dec(last);
  }
  void end() noexcept { line_.text("\n").flush(fd_); }

 private:
  int fd_;
  bool is_first_ = true;
  base::line_writer line_;
};

}  // namespace

void stack_groups::print(goroutine_printer& out) noexcept {
  std::sort(kept_, kept_ + kept_count_, [](const kept_goroutine& a, const kept_goroutine& b) {
    return std::tie(a.group, a.id) < std::tie(b.group, b.id);
  });
  for (std::size_t at = 0; at < kept_count_;) {
    group& g = groups_[kept_[at].group];
    g.first.id = kept_[at].id;
    out.print_header(g.first, g.kept - 1);
    id_list ids(out.fd());
    for (const std::size_t end = at + g.kept; at < end;) {
      const std::size_t first = at++;
      while (at < end && kept_[at].id == kept_[at - 1].id + 1) ++at;
      ids.add(kept_[first].id, kept_[at - 1].id);
    }
    ids.end();
    out.print_stack(g.first, g.stack());
  }
}

}  // namespace sley::rt
